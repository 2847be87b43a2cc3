// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_FIGURES_PRINT_HPP
#define TRELLIS_EXAMPLE_FIGURES_PRINT_HPP

#include <Trellis_Recorded.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

/// This header writes the recorded graphs of a program as text that is the same every time: no
/// times, no numbers of tasks or threads.
namespace figures {

inline std::string text_of(std::vector<trellis::AccessRecord> const& accesses) {
  std::string text;
  for (trellis::AccessRecord const& access : accesses)
    text += (text.empty() ? "" : ", ") + access.mode + ' ' + access.resource;
  return text;
}

/// "functor 2.1, child of functor 2: read_write green, demoted to read green"
inline std::string text_of(trellis::Graph const& graph, trellis::TaskRecord const& node) {
  std::string text = node.label;
  if (node.parent != 0) text += ", child of " + graph.node(node.parent).label;
  text += ": " + text_of(node.accesses);
  for (trellis::DemotionRecord const& demotion : node.demotions)
    text += ", demoted to " + text_of(demotion.accesses);
  if (node.main_thread) text += ", on the main thread";
  if (node.synchronizing) text += ", synchronizing";
  return text;
}

/// "functor 1 -> functor 2 (access)"
inline std::string text_of(trellis::Graph const& graph, trellis::EdgeRecord const& edge) {
  return graph.node(edge.from).label + " -> " + graph.node(edge.to).label + " (" +
         std::string(to_string(edge.reason)) + (edge.released ? ", released)" : ")");
}

/// Returns the edges as text, in the order of the text.
inline std::vector<std::string> edges_of(trellis::Graph const& graph) {
  std::vector<std::string> lines;
  for (trellis::EdgeRecord const& edge : graph.edges()) lines.push_back(text_of(graph, edge));
  std::sort(lines.begin(), lines.end());
  return lines;
}

inline void print_lines(std::string_view heading, std::vector<std::string> const& lines) {
  std::printf("  %.*s\n", static_cast<int>(heading.size()), heading.data());
  for (std::string const& line : lines) std::printf("    %s\n", line.c_str());
  if (lines.empty()) std::printf("    nothing\n");
}

/// Prints the functors, the edges of the dependency graph, and those that only the scheduling graph
/// has.
inline void print(trellis::DependencyGraph const& dependency,
                  trellis::SchedulingGraph const& scheduling) {
  std::vector<trellis::TaskRecord> nodes = scheduling.nodes();
  std::sort(nodes.begin(), nodes.end(),
            [](auto const& a, auto const& b) { return a.label < b.label; });
  std::vector<std::string> functors;
  for (trellis::TaskRecord const& node : nodes) functors.push_back(text_of(scheduling, node));
  std::vector<std::string> const edges = edges_of(dependency);
  std::vector<std::string> const all = edges_of(scheduling);
  std::vector<std::string> added;
  std::set_difference(all.begin(), all.end(), edges.begin(), edges.end(),
                      std::back_inserter(added));

  print_lines("functors", functors);
  print_lines("dependencies", edges);
  print_lines("added by the scheduler", added);
}

}  // namespace figures

#endif
