// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Version.hpp>

namespace trellis {

int version() noexcept {
  return TRELLIS_VERSION;
}

}  // namespace trellis
