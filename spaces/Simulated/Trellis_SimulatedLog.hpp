// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SIMULATEDLOG_HPP
#define TRELLIS_SIMULATEDLOG_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace trellis {

/// Records one request to a simulated device. Tests look at the records of a program as an event
/// stream.
struct SimulatedRecord {
  enum class Kind : unsigned char {
    make_stream,
    copy_stream,  ///< a user's stream
    destroy_stream,
    launch,
    copy,
    record_event,
    wait_event,
    query,  ///< asks whether the event has passed
    release_event,
    begin_capture,
    end_capture,   ///< `graph`: the new one
    update_graph,  ///< an end of capture that updated `graph` in place
    launch_graph,
    graph_node,  ///< work of a launched graph
    release_graph,
    synchronize,  ///< the host waits for the device
    allocate,
    deallocate,
    error,  ///< `name` says which
  };

  Kind kind = Kind::launch;
  std::uint64_t order = 0;  ///< among the records of all devices with one clock
  int stream = -1;
  int event = -1;
  int event_device = -1;  ///< whose event it is
  int graph = -1;
  bool captured = false;  ///< has gone into a graph and was not run
  std::string name = {};
  std::uint64_t bytes = 0;      ///< size of a copy or an allocation
  std::thread::id thread = {};  ///< the host thread that made the request
  std::int64_t called = 0;      ///< host time of the request
  std::int64_t begin = -1;      ///< device time; -1: not done yet
  std::int64_t end = -1;

  /// True if the host waited for the device.
  [[nodiscard]] bool blocks_the_host() const { return kind == Kind::synchronize; }
  /// Returns one line without times and thread. The line is the same in two runs of one program.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] std::string_view to_string(SimulatedRecord::Kind kind);

}  // namespace trellis

#endif
