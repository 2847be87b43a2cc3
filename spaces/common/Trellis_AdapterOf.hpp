// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ADAPTEROF_HPP
#define TRELLIS_ADAPTEROF_HPP

namespace trellis::Impl {

/// The adapter of an execution space. Each backend specialises this with `exists = true` and
/// `static SpaceAdapter& get()`. A host space has `has_one_thread(instance)` and `run(HostLoop,
/// instance, label)`; a device has `get(int number)`, `get(instance)` for the device of a user's
/// instance, and `result_space` (see Trellis_ResultSlot.hpp).
template <class ExecutionSpace>
struct AdapterOf {
  static constexpr bool exists = false;
};

}  // namespace trellis::Impl

#endif
