// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TOUCHEDPAGES_HPP
#define TRELLIS_IMPL_TOUCHEDPAGES_HPP

#include <cstdint>

namespace trellis::Impl {

/// True if there is a whole page within these bytes, and this process has not touched any such page
/// since the system handed it out. Then nothing has written there. False where the system does not
/// report it.
[[nodiscard]] bool never_touched(std::uintptr_t begin, std::uintptr_t end);

/// True if something may be at this address, or the system does not report it.
[[nodiscard]] bool may_be_mapped(std::uintptr_t address);

}  // namespace trellis::Impl

#endif
