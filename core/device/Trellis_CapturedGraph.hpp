// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CAPTUREDGRAPH_HPP
#define TRELLIS_IMPL_CAPTUREDGRAPH_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <base/Trellis_FunctionRef.hpp>

#include <cstddef>
#include <vector>

namespace trellis::Impl {

/// The order of captured launches, round by round. Each is identified by its place in a list. It
/// comes after launches of its own round that are before it there, and after any of the previous
/// round.
struct CaptureOrder {
  struct Node {
    std::vector<std::size_t> after;           ///< places in its own round
    std::vector<std::size_t> after_previous;  ///< places in the round before
  };
  std::vector<Node> nodes;  ///< by place
};

/// A graph of a device, captured from what some launches put on its instances. Guarded by the mutex
/// of AsyncStreams, as these launches are user code like any other.
struct CapturedGraph {
  void* handle = nullptr;
  /// The instances it was captured with, used for nothing else. Kernels use memory that belongs to
  /// an instance, which another capture might replace.
  std::vector<void*> instances;

  /// Captures `rounds` rounds, one after the other, or updates the existing graph. At most
  /// `most_at_once` launches run side by side in it. `run(place, instance)` makes one of them.
  /// False when the device has no graphs. Throws what `run` or the device throws; then the old
  /// graph, if any, still exists.
  bool capture(DeviceAdapter& device, CaptureOrder const& order, std::size_t rounds,
               std::size_t most_at_once, int threads_per_worker,
               FunctionRef<void(std::size_t place, void* instance)> run);
  void release(DeviceAdapter& device) noexcept;
};

}  // namespace trellis::Impl

#endif
