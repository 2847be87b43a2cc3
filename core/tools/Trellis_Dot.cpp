// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_Text.hpp>

#include <Trellis_Graph.hpp>

#include <ostream>
#include <unordered_map>
#include <vector>

namespace trellis {
namespace {

// Returns text as part of a quoted DOT string that is shown as it is. Graphviz reads backslash
// sequences and HTML entities in it. A line ends with `line_end`: \n centres it, \l puts it to the
// left.
std::string dot(std::string_view text, std::string_view line_end = "\\n") {
  return Impl::escaped(
      text, {{'"', "\\\""}, {'\\', "\\\\"}, {'&', "&amp;"}, {'\n', line_end}, {'\t', " "}});
}

std::string_view colours(TaskState state) {
  switch (state) {
    case TaskState::pending:
      return "color=\"#8A8A8A\", fillcolor=\"#FFFFFF\"";
    case TaskState::ready:
      return "color=\"#0072B2\", fillcolor=\"#FFFFFF\"";
    case TaskState::running:
      return "color=\"#0072B2\", fillcolor=\"#D6EAF7\"";
    case TaskState::done:
      return "color=\"#4D4D4D\", fillcolor=\"#F2F2F2\"";
    case TaskState::failed:
      return "color=\"#B00020\", fillcolor=\"#FBD9DE\", penwidth=2";
    case TaskState::cancelled:
      return "color=\"#B00020\", fillcolor=\"#FFFFFF\", fontcolor=\"#8A8A8A\"";
  }
  return "";
}

void append_node(std::string& out, TaskRecord const& task) {
  out += "  t" + std::to_string(task.id) + " [label=\"" + dot(task.label) + "\\n";
  if (!task.pattern.empty()) out += dot(task.pattern) + ", ";
  out += to_string(task.state);
  if (task.synchronizing) out += ", synchronizing";
  if (task.main_thread) out += ", main thread";
  if (task.threads != 0)
    out += ", " + std::to_string(task.threads) + (task.threads == 1 ? " thread" : " threads");
  if (task.priority != 0) out += ", priority " + std::to_string(task.priority);
  out += "\\n";
  for (AccessRecord const& access : task.accesses) out += dot(Impl::to_text(access), "\\l") + "\\l";
  out += "\", ";
  out += colours(task.state);
  if (task.synchronizing) out += ", peripheries=2";
  if (std::string const site = Impl::call_site(task); !site.empty())
    out += ", tooltip=\"" + dot(site) + '"';
  out += "];\n";
}

std::string_view style(EdgeReason reason) {
  switch (reason) {
    case EdgeReason::access:
      return " [style=solid]";
    case EdgeReason::after:
      return " [style=solid, color=\"#0072B2\", arrowhead=vee, tooltip=\"after\"]";
    case EdgeReason::synchronizing:
      return " [style=solid, color=\"#8A8A8A\", penwidth=2, tooltip=\"synchronizing\"]";
    case EdgeReason::rule:
      return " [style=dashed, color=\"#009E73\", fontcolor=\"#009E73\", label=\"rule\"]";
    // Edges of exclusion and of a policy may point either way. They must not affect ranks, as the
    // layout is that of the dependencies.
    case EdgeReason::exclusion:
      return " [style=dashed, color=\"#D55E00\", fontcolor=\"#D55E00\", label=\"exclusion\", "
             "constraint=false]";
    case EdgeReason::policy:
      return " [style=dashed, color=\"#CC79A7\", fontcolor=\"#CC79A7\", label=\"policy\", "
             "constraint=false]";
    case EdgeReason::demotion:
      return " [style=solid, color=\"#8A8A8A\", tooltip=\"demotion\"]";
  }
  return "";
}

constexpr std::string_view released_style =
    " [style=dotted, color=\"#8A8A8A\", fontcolor=\"#8A8A8A\", label=\"released\"]";

}  // namespace

void Graph::write_dot(std::ostream& out) const {
  std::string text =
      "digraph trellis {\n"
      "  charset=\"UTF-8\";\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica,Arial,sans-serif\", "
      "fontsize=11];\n"
      "  edge [color=\"#4D4D4D\", fontname=\"Helvetica,Arial,sans-serif\", fontsize=9];\n";
  if (m_nodes.empty()) text += "  label=\"no tasks recorded\";\n";
  std::unordered_map<TaskId, std::vector<TaskRecord const*>> children;
  for (TaskRecord const& task : m_nodes)
    if (task.parent != 0) children[task.parent].push_back(&task);
  // The children of a task lie in a frame below it, to any depth: each task is written when its
  // turn comes, and a null closes a frame.
  std::vector<TaskRecord const*> stack;
  auto const write_with_children = [&](TaskRecord const& first) {
    stack.assign(1, &first);
    while (!stack.empty()) {
      TaskRecord const* const task = stack.back();
      stack.pop_back();
      if (task == nullptr) {
        text += "  }\n";
        continue;
      }
      append_node(text, *task);
      Impl::put_if_long(out, text);
      auto const found = children.find(task->id);
      if (found == children.end()) continue;
      text += "  subgraph cluster_t" + std::to_string(task->id) +
              " {\n  style=\"rounded,dashed\"; label=\"" + dot("children of " + task->label) +
              "\";\n";
      stack.push_back(nullptr);
      stack.insert(stack.end(), found->second.rbegin(), found->second.rend());
    }
  };
  for (TaskRecord const& task : m_nodes)
    if (task.parent == 0 || !has(task.parent)) write_with_children(task);
  for (EdgeRecord const& edge : m_edges) {
    text += "  t" + std::to_string(edge.from) + " -> t" + std::to_string(edge.to);
    text += edge.released ? released_style : style(edge.reason);
    text += ";\n";
    Impl::put_if_long(out, text);
  }
  Impl::put(out, text + "}\n");
}

}  // namespace trellis
