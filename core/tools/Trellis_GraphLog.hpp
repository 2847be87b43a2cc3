// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHLOG_HPP
#define TRELLIS_IMPL_GRAPHLOG_HPP

#include <Trellis_Observer.hpp>

#include <string>

namespace trellis::Impl {

/// Works like `make_state_log`, for `TaskGraphOptions::log`: only the first graph of the process
/// that writes to a file overwrites it.
[[nodiscard]] TaskObserver make_graph_log(std::string const& destination,
                                          std::string const& graph_name);

}  // namespace trellis::Impl

#endif
