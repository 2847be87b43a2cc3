// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_Fold.hpp>
#include <tools/Trellis_Implied.hpp>
#include <tools/Trellis_Layers.hpp>

#include <algorithm>
#include <limits>
#include <ostream>
#include <string_view>
#include <utility>

namespace trellis::Impl {
namespace {

using namespace TimelineStyle;

class Picture {
 public:
  Picture(TraceLook const& look, Fold const& fold)
      : m_look(look), m_fold(fold), m_rank(ranks()), m_layers(fold.nodes.size(), drawn_edges()) {
    std::size_t longest = 8;
    for (Fold::Node const& node : fold.nodes)
      longest = std::max({longest, text_width(node.label), text_width(second_line(node))});
    m_node_width = static_cast<double>(std::min(longest, longest_label)) * char_width + 18;
  }

  std::string svg() {
    double const layers = static_cast<double>(m_layers.count());
    double const wide = std::max(2 * margin + layers * (m_node_width + gap) - gap, 200.0);
    double const high =
        std::max(2 * margin + m_layers.width() * pitch + (m_has_back ? 30 : 0), 60.0);
    m_text = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tg\" width=\"" + number(wide) +
             "\" height=\"" + number(high) + "\" viewBox=\"0 0 " + number(wide) + ' ' +
             number(high) +
             "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" "
             "text-anchor=\"middle\">\n";
    m_text += style;
    if (m_fold.nodes.empty())
      m_text += "<text class=\"tg-t\" x=\"100\" y=\"34\">no tasks recorded</text>\n";
    std::size_t drawn = 0;
    for (Fold::Edge const& edge : m_fold.edges) {
      if (edge.is_implied) continue;
      write_edge(edge, is_forward(edge) ? &m_layers.between(drawn++) : nullptr);
    }
    for (std::size_t n = 0; n != m_fold.nodes.size(); ++n) write_node(n);
    m_text += "</svg>\n";
    return std::move(m_text);
  }

 private:
  static constexpr double height = 34;  // of a node
  static constexpr double pitch = 46;   // from one node to the next across a layer
  static constexpr double gap = 54;     // between layers
  static constexpr double margin = 16;
  static constexpr double char_width = 6.4;
  static constexpr std::size_t longest_label = 26;

  /// Colours that depend on whether the page is light or dark. Nodes have those of the timeline.
  static constexpr std::string_view style =
      "<style>.tg{color:#1A1A1A}.tg-p{fill:#FFFFFF}.tg-e{fill:none;stroke:#8A9099;stroke-width:1.1}"
      ".tg-s{stroke:#D55E00;stroke-dasharray:5 3}.tg-r{stroke-dasharray:1.5 3}"
      ".tg-k{stroke:currentColor;stroke-width:2.2}.tg-c{stroke:currentColor;stroke-width:2.4}"
      ".tg-f{stroke:#E0243F;stroke-width:2.4}.tg-u{fill:none;stroke:#8A9099;stroke-dasharray:4 3}"
      ".tg-t{fill:currentColor}"
      "@media(prefers-color-scheme:dark){.tg{color:#E8EAED}.tg-p{fill:#16181C}}</style>\n"
      "<rect class=\"tg-p\" width=\"100%\" height=\"100%\"/>\n";

  /// Orders nodes so that edges lead forward. On a circle, which folding may make, the mean time at
  /// which their tasks started counts.
  std::vector<std::size_t> ranks() const {
    std::vector<double> start;
    for (Fold::Node const& node : m_fold.nodes) {
      double sum = 0, count = 0;
      for (std::size_t const p : node.tasks) {
        TaskRecord const& task = m_look.trace.graph.nodes()[p];
        if (!has_run(task)) continue;
        sum += static_cast<double>(task.started_ns);
        ++count;
      }
      start.push_back(count > 0 ? sum / count : std::numeric_limits<double>::infinity());
    }
    std::vector<std::size_t> order(start.size()), rank(start.size());
    for (std::size_t n = 0; n != order.size(); ++n) order[n] = n;
    std::vector<Arrow> arrows;
    for (Fold::Edge const& edge : m_fold.edges) arrows.push_back({edge.from, edge.to});
    std::vector<std::size_t> const circle = circles(start.size(), arrows);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return circle[a] != circle[b] ? circle[a] > circle[b] : start[a] < start[b];
    });
    for (std::size_t k = 0; k != order.size(); ++k) rank[order[k]] = k;
    return rank;
  }
  [[nodiscard]] bool is_forward(Fold::Edge const& edge) const {
    return m_rank[edge.from] < m_rank[edge.to];
  }

  /// Returns the edges that the layers follow.
  std::vector<Layers::Edge> drawn_edges() {
    std::vector<Layers::Edge> edges;
    for (Fold::Edge const& edge : m_fold.edges) {
      if (edge.is_implied) continue;
      if (is_forward(edge))
        edges.emplace_back(m_rank[edge.from], m_rank[edge.to]);
      else
        m_has_back = true;
    }
    return edges;
  }

  // By the rank of a node, or by the place of an edge between its ends.
  [[nodiscard]] double left(std::size_t place) const {
    return margin + static_cast<double>(m_layers.layer(place)) * (m_node_width + gap);
  }
  [[nodiscard]] double top(std::size_t place) const {
    return margin + m_layers.across(place) * pitch;
  }

  void point(std::string_view command, double x, double y) {
    ((m_text += command) += number(x)) += ' ';
    m_text += number(y);
  }
  void curve(double from_x, double from_y, double to_x, double to_y) {
    double const bend = (to_x - from_x) / 2;
    point("C", from_x + bend, from_y);
    point(" ", to_x - bend, to_y);
    point(" ", to_x, to_y);
  }

  void write_edge(Fold::Edge const& edge, std::vector<std::size_t> const* between) {
    m_text += "<path class=\"tg-e";
    if (edge.released)
      m_text += " tg-r";
    else if (!is_dependency(edge.reason))
      m_text += " tg-s";
    if (edge.is_critical) m_text += " tg-k";
    m_text += "\" data-from=\"" + std::to_string(edge.from) + "\" data-to=\"" +
              std::to_string(edge.to) + "\" d=\"";
    std::size_t const from = m_rank[edge.from], to = m_rank[edge.to];
    double const end_x = left(to), end_y = top(to) + height / 2;
    double x = left(from) + m_node_width, y = top(from) + height / 2;
    if (between != nullptr) {
      point("M", x, y);
      for (std::size_t const place : *between) {
        double const next_x = left(place), next_y = top(place) + 0.175 * pitch;
        curve(x, y, next_x, next_y);
        x = next_x + m_node_width;
        y = next_y;
        point("L", x, y);
      }
      curve(x, y, end_x, end_y);
      point("M", end_x - 6, end_y - 3.5);
      point("L", end_x, end_y);
      point("L", end_x - 6, end_y + 3.5);
    } else {  // below both
      double const from_x = x - m_node_width / 3, to_x = end_x + m_node_width / 3;
      double const from_y = y + height / 2, to_y = end_y + height / 2;
      double const low = std::max(from_y, to_y) + 24;
      point("M", from_x, from_y);
      point("C", from_x, low);
      point(" ", to_x, low);
      point(" ", to_x, to_y);
      point("M", to_x - 3.5, to_y + 6);
      point("L", to_x, to_y);
      point("L", to_x + 3.5, to_y + 6);
    }
    m_text += "\"><title>";
    m_text += edge.count == 1 ? std::string() : with_count(edge.count, "edge") + ": ";
    m_text += to_string(edge.reason);
    if (edge.released) m_text += ", released";
    m_text += "</title></path>\n";
  }

  [[nodiscard]] std::string second_line(Fold::Node const& node) const {
    std::string line;
    if (node.tasks.size() != 1) line = "\u00D7 " + std::to_string(node.tasks.size()) + "  \u00B7  ";
    TaskRecord const& first = m_look.trace.graph.nodes()[node.tasks.front()];
    if (node.tasks.size() == 1 && first.state != TaskState::done)
      return line + std::string(to_string(first.state));
    return line + duration(node.time);
  }

  void write_node(std::size_t n) {
    Fold::Node const& node = m_fold.nodes[n];
    auto const in = [&](TaskState state) { return node.states[static_cast<std::size_t>(state)]; };
    bool const has_run = in(TaskState::done) + in(TaskState::failed) + in(TaskState::running) != 0;
    Colour const fill =
        node.look ? m_look.palette.colour(node.look->family, node.look->shade) : grey;
    m_text += node.is_critical ? "<g class=\"tg-n tg-path\"" : "<g class=\"tg-n\"";
    m_text += " data-node=\"" + std::to_string(n) + "\"><title>" + xml(node.label) + "\n" +
              with_count(node.tasks.size(), "task") + ", " + duration(node.time);
    for (TaskState const state : {TaskState::failed, TaskState::cancelled, TaskState::running,
                                  TaskState::ready, TaskState::pending})
      if (in(state) != 0) (m_text += "\n" + std::to_string(in(state)) + ' ') += to_string(state);
    if (node.inner != 0) m_text += "\n" + with_count(node.inner, "edge") + " within";
    if (node.is_critical) m_text += "\non the critical path";
    m_text += "</title><rect class=\"tg-b";
    if (in(TaskState::failed) != 0) m_text += " tg-f";
    if (node.is_critical) m_text += " tg-c";
    if (!has_run) m_text += " tg-u";
    m_text += "\" x=\"" + number(left(m_rank[n])) + "\" y=\"" + number(top(m_rank[n])) +
              "\" width=\"" + number(m_node_width) + "\" height=\"" + number(height) +
              "\" rx=\"6\"";
    m_text += has_run ? " fill=\"" + hex(fill) + "\"/>" : std::string("/>");
    write_line(left(m_rank[n]), top(m_rank[n]) + 14, shortened(node.label, longest_label), has_run,
               fill, "");
    write_line(left(m_rank[n]), top(m_rank[n]) + 27, second_line(node), has_run, fill,
               " font-size=\"10\"");
    m_text += "</g>\n";
  }

  void write_line(double x, double y, std::string_view content, bool has_run, Colour fill,
                  std::string_view attributes) {
    m_text += has_run ? "<text fill=\"" + std::string(ink_on(fill)) + '"'
                      : std::string("<text class=\"tg-t\"");
    m_text += attributes;
    m_text += " x=\"" + number(x + m_node_width / 2) + "\" y=\"" + number(y) + "\">" +
              xml(content) + "</text>";
  }

  TraceLook const& m_look;
  Fold const& m_fold;
  std::vector<std::size_t> m_rank;  ///< of each node
  bool m_has_back = false;
  Layers m_layers;
  double m_node_width = 0;
  std::string m_text;
};

}  // namespace

std::string graph_svg(TraceLook const& look, Fold const& fold) {
  return Picture(look, fold).svg();
}

}  // namespace trellis::Impl

namespace trellis {

void Trace::write_graph_svg(std::ostream& out) const {
  Impl::TraceLook const look(*this);
  Impl::put(out, Impl::graph_svg(look, Impl::pictured_folds(look).front()));
}

}  // namespace trellis
