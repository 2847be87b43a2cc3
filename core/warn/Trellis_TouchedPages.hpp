// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TOUCHEDPAGES_HPP
#define TRELLIS_IMPL_TOUCHEDPAGES_HPP

#include <cstdint>

namespace trellis::Impl {

/// Is there a whole page within these bytes, and has nobody in this process touched any such page
/// since the system handed it out? So if true, nobody has written there. False where the system
/// does not tell.
[[nodiscard]] bool never_touched(std::uintptr_t begin, std::uintptr_t end);

/// May there be something at this address? True where the system does not tell.
[[nodiscard]] bool may_be_mapped(std::uintptr_t address);

}  // namespace trellis::Impl

#endif
