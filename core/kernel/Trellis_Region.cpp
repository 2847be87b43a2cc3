// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kernel/Trellis_Region.hpp>

namespace trellis::Impl {

void RegionDeleter::operator()(Region* region) const noexcept {
  delete region;
}

}  // namespace trellis::Impl
