// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KERNELNAME_HPP
#define TRELLIS_IMPL_KERNELNAME_HPP

#include <Trellis_Label.hpp>
#include <task/Trellis_OneForAll.hpp>

#include <string>

namespace trellis::Impl {

/// The name under which Kokkos Tools sees what the calling thread does next. In memory that is
/// kept.
TRELLIS_IMPL_ONE_FOR_ALL inline std::string const& kernel_name(Label const& label) {
  thread_local std::string name;
  return name = label.view();
}

}  // namespace trellis::Impl

#endif
