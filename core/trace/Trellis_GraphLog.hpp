// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHLOG_HPP
#define TRELLIS_IMPL_GRAPHLOG_HPP

#include <Trellis_Observer.hpp>

#include <string>

namespace trellis::Impl {

/// As `make_state_log`, for `TaskGraphOptions::log`: a file is only overwritten by the first graph
/// of the process that writes to it.
[[nodiscard]] TaskObserver make_graph_log(std::string const& destination,
                                          std::string const& graph_name);

}  // namespace trellis::Impl

#endif
