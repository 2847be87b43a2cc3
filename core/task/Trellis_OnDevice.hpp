// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ONDEVICE_HPP
#define TRELLIS_IMPL_ONDEVICE_HPP

#include <Trellis_TaskId.hpp>
#include <base/Trellis_Reserve.hpp>

#include <cstdint>
#include <optional>

namespace trellis::Impl {

class DeviceAdapter;
struct Task;

/// What a task has that is or may be launched on a device; that includes fusable host tasks. A
/// task's memory gets one before the first such task is published there, and keeps it. So a thread
/// that knows one of these tasks may read it, even long after the task is complete. Members from
/// `stream` on are guarded by the mutex of AsyncStreams.
struct OnDevice : NewFromReserve {
  struct Predecessor {
    Task* task;
    TaskId id;
  };
  /// Device tasks that it comes after. They may be complete.
  Vector<Predecessor> predecessors;
  /// The device to which the batch of a fusable host task goes, see FusionPool; null for other
  /// tasks.
  DeviceAdapter* offloaded = nullptr;
  /// The number of bytes that the task accesses, if its body is destroyed later. See Destructors.
  std::optional<std::uint64_t> deferred_bytes;
  std::uint64_t launched_ns = 0;  ///< by the host's clock, if times are wanted
  // Last line: read by the launches of its successors.
  alignas(64) int wanted_stream = -1;  ///< given by the user
  int stream = -1;                     ///< while it is launched
  TaskId launched_id = 0;              ///< its `live_id` then, whose own line has many writers
  std::uint64_t position = 0;          ///< on the stream
  void* start_event = nullptr;         ///< of a recording graph
};

}  // namespace trellis::Impl

#endif
