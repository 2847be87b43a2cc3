// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_KERNELNAME_HPP
#define TRELLIS_KERNELNAME_HPP

#include <Trellis_Label.hpp>

#include <string>

namespace trellis::Impl {

/// The name under which Kokkos Tools sees what the calling thread does next. In memory that is
/// kept.
std::string const& kernel_name(Label const& label);

}  // namespace trellis::Impl

#endif
