// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Simulated/Trellis_SimulatedLog.hpp>

namespace trellis {

std::string_view to_string(SimulatedRecord::Kind kind) {
  using Kind = SimulatedRecord::Kind;
  switch (kind) {
    case Kind::make_stream:
      return "make_stream";
    case Kind::copy_stream:
      return "copy_stream";
    case Kind::destroy_stream:
      return "destroy_stream";
    case Kind::launch:
      return "launch";
    case Kind::copy:
      return "copy";
    case Kind::record_event:
      return "record_event";
    case Kind::wait_event:
      return "wait_event";
    case Kind::query:
      return "query";
    case Kind::release_event:
      return "release_event";
    case Kind::begin_capture:
      return "begin_capture";
    case Kind::end_capture:
      return "end_capture";
    case Kind::update_graph:
      return "update_graph";
    case Kind::launch_graph:
      return "launch_graph";
    case Kind::graph_node:
      return "graph_node";
    case Kind::release_graph:
      return "release_graph";
    case Kind::synchronize:
      return "synchronize";
    case Kind::allocate:
      return "allocate";
    case Kind::deallocate:
      return "deallocate";
    case Kind::error:
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
