// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/Trellis_GraphTools.hpp>

#include <atomic>

namespace trellis::Impl {

namespace {

/// It has its value before any code runs, so before Trellis::tools sets it. Release and acquire: a
/// library may be loaded while another thread makes a graph.
constinit std::atomic<GraphTools const*> s_tools{nullptr};

}  // namespace

GraphTools const* graph_tools() {
  return s_tools.load(std::memory_order_acquire);
}
void set_graph_tools(GraphTools const& tools) {
  s_tools.store(&tools, std::memory_order_release);
}

}  // namespace trellis::Impl
