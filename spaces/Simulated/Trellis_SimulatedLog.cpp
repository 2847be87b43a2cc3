// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Simulated/Trellis_SimulatedLog.hpp>

namespace trellis {

std::string_view to_string(SimulatedRecord::Kind kind) {
  using enum SimulatedRecord::Kind;
  switch (kind) {
    case make_stream:
      return "make_stream";
    case copy_stream:
      return "copy_stream";
    case destroy_stream:
      return "destroy_stream";
    case launch:
      return "launch";
    case copy:
      return "copy";
    case record_event:
      return "record_event";
    case wait_event:
      return "wait_event";
    case query:
      return "query";
    case release_event:
      return "release_event";
    case begin_capture:
      return "begin_capture";
    case end_capture:
      return "end_capture";
    case update_graph:
      return "update_graph";
    case launch_graph:
      return "launch_graph";
    case graph_node:
      return "graph_node";
    case release_graph:
      return "release_graph";
    case synchronize:
      return "synchronize";
    case allocate:
      return "allocate";
    case deallocate:
      return "deallocate";
    case error:
      break;
  }
  return "error";
}

std::string SimulatedRecord::text() const {
  std::string text(to_string(kind));
  if (captured) text += " captured";
  if (!name.empty()) text += " \"" + name + '"';
  if (stream >= 0) text += " stream " + std::to_string(stream);
  if (event >= 0) text += " event " + std::to_string(event);
  if (event >= 0 && event_device >= 0) text += " of device " + std::to_string(event_device);
  if (graph >= 0) text += " graph " + std::to_string(graph);
  if (bytes > 0) text += ' ' + std::to_string(bytes) + " bytes";
  return text;
}

}  // namespace trellis
