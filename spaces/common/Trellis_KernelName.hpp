// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_KERNELNAME_HPP
#define TRELLIS_KERNELNAME_HPP

#include <Trellis_Label.hpp>

#include <string>

namespace trellis::Impl {

/// Returns the name under which Kokkos Tools sees the next kernel of the calling thread. Its memory
/// is kept.
std::string const& kernel_name(Label const& label);

}  // namespace trellis::Impl

#endif
