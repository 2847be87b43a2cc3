// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Simulated/Trellis_SimulatedLog.hpp>

namespace trellis {

std::string_view to_string(SimulatedRecord::Kind kind) {
  switch (kind) {
    case SimulatedRecord::Kind::make_stream:
      return "make_stream";
    case SimulatedRecord::Kind::copy_stream:
      return "copy_stream";
    case SimulatedRecord::Kind::destroy_stream:
      return "destroy_stream";
    case SimulatedRecord::Kind::launch:
      return "launch";
    case SimulatedRecord::Kind::copy:
      return "copy";
    case SimulatedRecord::Kind::record_event:
      return "record_event";
    case SimulatedRecord::Kind::wait_event:
      return "wait_event";
    case SimulatedRecord::Kind::query:
      return "query";
    case SimulatedRecord::Kind::release_event:
      return "release_event";
    case SimulatedRecord::Kind::begin_capture:
      return "begin_capture";
    case SimulatedRecord::Kind::end_capture:
      return "end_capture";
    case SimulatedRecord::Kind::update_graph:
      return "update_graph";
    case SimulatedRecord::Kind::launch_graph:
      return "launch_graph";
    case SimulatedRecord::Kind::graph_node:
      return "graph_node";
    case SimulatedRecord::Kind::release_graph:
      return "release_graph";
    case SimulatedRecord::Kind::synchronize:
      return "synchronize";
    case SimulatedRecord::Kind::allocate:
      return "allocate";
    case SimulatedRecord::Kind::deallocate:
      return "deallocate";
    case SimulatedRecord::Kind::error:
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
