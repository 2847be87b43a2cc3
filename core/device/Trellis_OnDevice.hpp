// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ONDEVICE_HPP
#define TRELLIS_IMPL_ONDEVICE_HPP

#include <Trellis_TaskId.hpp>
#include <task/Trellis_Reserve.hpp>

#include <cstdint>

namespace trellis::Impl {

class DeviceAdapter;
struct Task;

/// What a task has that is launched on a device, or may be: a fusable task of the host, too. A
/// task's memory gets one before the first such task is published there, and keeps it. So a thread
/// that knows one of these tasks may look, even when the task is long complete. Members from
/// `stream` on are guarded by the mutex of AsyncStreams.
struct OnDevice : NewFromReserve {
  struct Predecessor {
    Task* task;
    TaskId id;
  };
  /// Tasks of devices that it comes after. They may be complete.
  Vector<Predecessor> predecessors;
  /// A fusable task of the host has here where its batch goes, see FusionPool; others have null.
  DeviceAdapter* deployed = nullptr;
  std::uint64_t bytes = 0;        ///< that the task accesses, about
  std::uint64_t launched_ns = 0;  ///< by the host's clock, where times are wanted
  // Last line: what the launches of its successors look at.
  alignas(64) int wanted_stream = -1;  ///< that the user gave
  int stream = -1;                     ///< while it is launched
  TaskId launched_id = 0;              ///< its `live_id` then, whose own line has many writers
  std::uint64_t position = 0;          ///< on the stream
  void* start_event = nullptr;         ///< of a recording graph
};

}  // namespace trellis::Impl

#endif
