// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_Fold.hpp>
#include <tools/Trellis_Text.hpp>

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <string_view>
#include <utility>

namespace trellis {
namespace {

using namespace Impl::TimelineStyle;
using Impl::Slice;

constexpr double page_width = 1200;
constexpr double margin = 24;
constexpr double char_width = 6.3;      // for the 11 px font of rows and legend
constexpr double box_char_width = 5.9;  // for the 10 px font in boxes
constexpr double busy_width = 92;       // the column with the utilisation, right of the boxes
constexpr double top = 84;              // above the first row
constexpr std::size_t most_boxes =
    10000;  // more tasks than this are merged where they are too narrow to see
constexpr std::string_view text_colour = "#1A1A1A";
constexpr std::string_view critical_outline =
    "class=\"critical\" fill=\"none\" stroke=\"#1A1A1A\" stroke-width=\"1.8\"";

// This is a function, as a graph may end when variables are gone.
std::string soft() {
  return "fill=\"#5F6368\"";
}

class Timeline {
 public:
  Timeline(Impl::TraceLook const& look, std::ostream& out)
      : m_look(look),
        m_rows(look.rows),
        m_lanes(m_rows.lanes),
        m_out(out),
        m_span(std::max<std::uint64_t>(m_rows.end - m_rows.begin, 1)),
        m_unit(unit_for(m_span)) {
    std::size_t longest = 0;
    for (std::string const& name : m_rows.names) longest = std::max(longest, text_width(name));
    longest = std::clamp<std::size_t>(longest, 8, longest_name);
    m_left = margin + static_cast<double>(longest) * char_width + 12;
    m_width = page_width - margin - busy_width - m_left;
    std::size_t lanes = 0;
    for (std::size_t& count : m_lanes) {
      // Tasks that call each other may nest deeply; the last lane takes those that find no place.
      count = std::min(count, most_lanes);
      lanes += count;
    }
    m_lane_height = lanes <= 12 ? 28 : lanes <= 32 ? 20 : lanes <= 96 ? 13 : 8;
    m_box_height = m_lane_height - (m_lane_height > 10 ? 2 : 1);
    m_padding = lanes <= 32 ? 3 : 1;
    double y = top;
    for (std::size_t const count : m_lanes) {
      m_row_top.push_back(y);
      y += static_cast<double>(count) * m_lane_height + 2 * m_padding;
    }
    m_bottom = std::max(y, top + 40);
    m_merge = m_rows.slices.size() > most_boxes;
    m_grain = std::max(1.0, m_width * static_cast<double>(lanes) / most_boxes);
  }

  void write() {
    write_legend();
    std::string const legend = std::exchange(m_text, {});
    double const height = m_bottom + 34 + m_legend_height + margin;
    std::string const size = number(page_width) + "\" height=\"" + number(height);
    m_text =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 " +
        number(page_width) + ' ' + number(height) +
        "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"" +
        std::string(text_colour) + "\">\n";
    m_text +=
        "<defs><pattern id=\"trellis-failed\" width=\"6\" height=\"6\" "
        "patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"2.5\" height=\"6\" "
        "fill=\"#B00020\"/></pattern>"
        "</defs>\n";
    m_text += "<rect width=\"" + size + "\" fill=\"#FFFFFF\"/>\n";
    write_heading();
    write_rows();
    write_boxes();
    write_axis();
    Impl::put(m_out, m_text + legend + "</svg>\n");
  }

 private:
  static constexpr std::size_t longest_name = 32;
  static constexpr std::size_t most_lanes = 6;

  // Consecutive slices of one lane that are too narrow to be seen, drawn as one box.
  struct Group {
    std::vector<std::size_t> slices;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] double x(std::uint64_t ns) const {
    return m_left + m_width * static_cast<double>(ns - m_rows.begin) / static_cast<double>(m_span);
  }
  [[nodiscard]] double y(Slice const& slice) const {
    std::size_t const lane = std::min(slice.lane, most_lanes - 1);
    return m_row_top[slice.row] + m_padding + static_cast<double>(lane) * m_lane_height;
  }
  // Returns the exact time since the beginning of the first task.
  [[nodiscard]] std::string since_begin(std::uint64_t ns) const {
    return with_unit(ns - m_rows.begin, m_unit);
  }

  void text(double at_x, double at_y, std::string_view content, std::string_view attributes = "") {
    m_text += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + '"';
    if (!attributes.empty()) (m_text += ' ') += attributes;
    m_text += '>' + Impl::xml(content) + "</text>";
  }

  void rect(double at_x, double at_y, double width, double height, std::string_view attributes) {
    m_text += "<rect x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" width=\"" +
              number(width) + "\" height=\"" + number(height) + "\" ";
    m_text += attributes;
    m_text += "/>";
  }

  [[nodiscard]] double percent(std::uint64_t ns) const {
    return 100.0 * static_cast<double>(ns) / static_cast<double>(m_span);
  }

  void write_heading() {
    text(margin, 36, "Trellis timeline", "font-size=\"18\" font-weight=\"bold\"");
    text(margin, 56, Impl::summary_of(m_look), "font-size=\"12\" " + soft());
    m_text += '\n';
  }

  void write_rows() {
    std::vector<std::uint64_t> const sum = m_rows.busy();
    double const bar_x = m_left + m_width + 14;
    double const size = std::clamp(m_lane_height + 2 * m_padding - 2, 6.0, 11.0);
    std::string const font = "font-size=\"" + number(size) + '"';
    if (!m_rows.names.empty()) {
      text(page_width - margin, top - 8, "busy", soft() + " font-size=\"10\" text-anchor=\"end\"");
    }
    for (std::size_t row = 0; row != m_rows.names.size(); ++row) {
      double const height = static_cast<double>(m_lanes[row]) * m_lane_height + 2 * m_padding;
      double const y_top = m_row_top[row];
      double const baseline = y_top + height / 2 + size * 0.36;
      if (row % 2 == 0) rect(margin, y_top, page_width - 2 * margin, height, "fill=\"#F5F6F8\"");
      m_text += "<g><title>" + Impl::xml(m_rows.names[row]) + "</title>";
      text(m_left - 12, baseline, shortened(m_rows.names[row], longest_name),
           font + " text-anchor=\"end\"");
      m_text += "</g>";
      double const share = percent(sum[row]);
      double const bar_height = std::min(6.0, height - 2);
      double const bar_y = y_top + (height - bar_height) / 2;
      rect(bar_x, bar_y, 32, bar_height, "fill=\"#DADCE0\"");
      rect(bar_x, bar_y, 0.32 * share, bar_height, soft());
      text(page_width - margin - 4, baseline, percent_text(share), font + " text-anchor=\"end\"");
      if (std::string const why = why_idle(row, sum); !why.empty())
        text(m_left + 6, baseline, why, soft() + ' ' + font);
      m_text += '\n';
    }
    if (m_rows.slices.empty()) {
      std::string_view const why =
          m_look.trace.graph.nodes().empty() ? "no tasks recorded" : "no task has run";
      text(m_left + m_width / 2, (top + m_bottom) / 2 + 4, why,
           soft() + " font-size=\"13\" text-anchor=\"middle\"");
      m_text += '\n';
    }
  }

  /// Explains an idle row. A graph has one thread more than it has workers, and only as many run at
  /// a time as there are workers.
  [[nodiscard]] std::string why_idle(std::size_t row, std::vector<std::uint64_t> const& sum) const {
    if (row == 0 || row >= m_rows.threads || sum[row] != 0 || sum[0] == 0) return {};
    std::size_t had_tasks = 0;
    for (std::size_t other = 0; other != m_rows.threads; ++other) had_tasks += sum[other] != 0;
    auto const is_wide = [](Slice const& slice) { return slice.task->workers > 1; };
    if (std::any_of(m_rows.slices.begin(), m_rows.slices.end(), is_wide))
      return "no task needed it, or one of several threads had its place";
    if (had_tasks < static_cast<std::size_t>(m_look.trace.workers)) return "no task needed it";
    return m_rows.names[0] + " had its place";
  }

  void write_axis() {
    if (m_rows.slices.empty()) return;
    m_text += "<g stroke=\"#1A1A1A\" stroke-width=\"1\">";
    line(m_left, m_bottom, m_left + m_width, m_bottom);
    std::uint64_t const step = tick_step(m_span, 9);
    for (std::uint64_t t = 0; t <= m_span; t += step) {
      line(x(m_rows.begin + t), m_bottom, x(m_rows.begin + t), m_bottom + 5);
    }
    m_text += "</g>\n<g text-anchor=\"middle\">";
    for (std::uint64_t t = 0; t <= m_span; t += step) {
      text(x(m_rows.begin + t), m_bottom + 18, t == 0 ? std::string("0") : with_unit(t, m_unit));
    }
    m_text += "</g>";
    text(margin, m_bottom + 18, "time", soft());
    m_text += '\n';
  }

  void line(double x1, double y1, double x2, double y2) {
    m_text += "<path d=\"M" + number(x1) + ' ' + number(y1) + 'L' + number(x2) + ' ' + number(y2) +
              "\"/>";
  }

  void write_boxes() {
    if (m_rows.slices.empty()) return;
    m_text += "<g stroke=\"#D5D8DC\" stroke-width=\"0.7\">";
    std::uint64_t const step = tick_step(m_span, 9);
    for (std::uint64_t t = 0; t <= m_span; t += step) {
      double const at = x(m_rows.begin + t);
      line(at, top, at, m_bottom);
    }
    m_text += "</g>\n<g id=\"tasks\" font-size=\"10\">\n";
    if (m_merge) {
      write_merged();
    } else {
      for (std::size_t i = 0; i != m_rows.slices.size(); ++i) write_box(i);
    }
    m_text += "</g>\n";
    if (!m_merge) write_critical_path();
  }

  // Appends the hover text of one task. It is short where there are many tasks, as these texts make
  // up most of the file.
  void append_hover_text(Slice const& slice) {
    TaskRecord const& task = *slice.task;
    std::size_t const count = m_rows.slices.size();
    std::size_t const most_accesses = count > 1000 ? 4 : 16;
    m_text += Impl::xml(task.label);
    if (task.state != TaskState::done) (m_text += " \u2014 ") += to_string(task.state);
    m_text += "\n" + duration(slice.end - slice.begin) + ", from " + since_begin(slice.begin) +
              " to " + since_begin(slice.end);
    if (task.ready_ns != 0 && task.started_ns >= task.ready_ns) {
      m_text += "\nwas ready for " + duration(task.started_ns - task.ready_ns);
    }
    if (slice.begin > task.started_ns) {
      m_text += "\nwas queued for " + duration(slice.begin - task.started_ns);
    }
    if (count <= 1000) {
      m_text += "\ntask " + std::to_string(task.id);
      if (task.threads != 0)
        m_text += ", " + with_count(static_cast<std::size_t>(task.threads), "thread");
      for (std::string const& part : {task.pattern, task.space, Impl::call_site(task)}) {
        if (!part.empty()) m_text += ", " + Impl::xml(part);
      }
    }
    for (std::size_t a = 0; a != task.accesses.size(); ++a) {
      m_text += '\n';
      if (a == most_accesses) {
        m_text += "and " + std::to_string(task.accesses.size() - a) + " more";
        break;
      }
      m_text += Impl::xml(Impl::to_text(task.accesses[a]));
    }
  }

  void write_box(std::size_t index) {
    Slice const& slice = m_rows.slices[index];
    Look const& look = look_of(slice);
    Colour const fill = m_look.palette.colour(look.family, look.shade);
    double const full = x(slice.end) - x(slice.begin);
    // Neighbours have a hairline between them where there is room for it. A box is never invisible.
    double const width = full > 3 ? full - 0.6 : std::max(full, 0.5);
    m_text += "<g><title>";
    append_hover_text(slice);
    m_text += "</title>";
    std::string attributes = "class=\"task\" fill=\"" + hex(fill) + '"';
    if (slice.task->state == TaskState::running) attributes += " fill-opacity=\"0.6\"";
    rect(x(slice.begin), y(slice) + 1, width, m_box_height, attributes);
    if (has_failed(slice)) write_failure(x(slice.begin), y(slice) + 1, width, m_box_height);
    if (!m_merge && !slice.is_late && m_look.is_critical[m_look.of(slice)])
      rect(x(slice.begin), y(slice) + 1, width, m_box_height, critical_outline);
    write_box_text(slice, look, fill, width);
    m_text += "</g>\n";
    Impl::put_if_long(m_out, m_text);
  }

  void write_failure(double at_x, double at_y, double width, double height) {
    // The mark is visible however short the task was.
    rect(at_x, at_y, std::max(width, 2.0), height,
         width < 4 ? "fill=\"#B00020\""
                   : "fill=\"url(#trellis-failed)\" stroke=\"#B00020\" stroke-width=\"1.5\"");
  }

  // Draws lines from the end of each task on the critical path to the begin of the next one.
  void write_critical_path() {
    std::vector<std::size_t> const& path = m_look.critical;
    if (path.size() < 2) return;
    m_text +=
        "<path id=\"critical-path\" fill=\"none\" stroke=\"#1A1A1A\" stroke-width=\"1.2\" d=\"";
    for (std::size_t k = 1; k != path.size(); ++k) {
      Slice const& from = m_rows.slices[path[k - 1]];
      Slice const& to = m_rows.slices[path[k]];
      // A child begins within its parent.
      m_text += 'M' + point(std::min(from.end, to.begin), from) + 'L' + point(to.begin, to);
    }
    m_text += "\"/>\n";
  }
  [[nodiscard]] std::string point(std::uint64_t ns, Slice const& slice) const {
    return number(x(ns)) + ' ' + number(y(slice) + m_lane_height / 2);
  }

  // Writes the whole label where it fits, else the step that the shade stands for, else as much as
  // is legible.
  void write_box_text(Slice const& slice, Look const& look, Colour fill, double width) {
    if (m_lane_height < 18 || has_failed(slice)) return;
    double const room = (width - 6) / box_char_width;
    if (room < 1) return;
    auto const characters = static_cast<std::size_t>(room);
    std::string content;
    if (text_width(slice.task->label) <= characters) {
      content = shortened(slice.task->label, characters);
    } else if (look.step) {
      content = std::to_string(*look.step);
      if (content.size() > characters) return;
    } else if (characters >= 4) {
      content = shortened(slice.task->label, characters);
    }
    if (content.empty()) return;
    text(
        x(slice.begin) + width / 2, y(slice) + m_lane_height / 2 + 3.6, content,
        "text-anchor=\"middle\" pointer-events=\"none\" fill=\"" + std::string(ink_on(fill)) + '"');
  }

  void write_merged() {
    // There is one growing group per lane; it is written when a box does not belong to it.
    std::vector<std::vector<Group>> groups(m_rows.names.size());
    for (std::size_t row = 0; row != groups.size(); ++row) groups[row].resize(m_lanes[row]);
    for (std::size_t i = 0; i != m_rows.slices.size(); ++i) {
      Slice const& slice = m_rows.slices[i];
      Group& group = groups[slice.row][std::min(slice.lane, most_lanes - 1)];
      bool const narrow = x(slice.end) - x(slice.begin) < m_grain;
      std::uint64_t const end = std::max(group.end, slice.end);
      if (!group.slices.empty() && (!narrow || x(end) - x(group.begin) > m_grain))
        write_group(group);
      if (!narrow) {
        write_box(i);
        continue;
      }
      if (group.slices.empty()) group.begin = slice.begin;
      group.end = std::max(group.end, slice.end);
      group.slices.push_back(i);
    }
    for (std::vector<Group>& row : groups) {
      for (Group& group : row) {
        if (!group.slices.empty()) write_group(group);
      }
    }
  }

  // Writes and empties the group. Its box gets the look that takes most of its time, and is pale
  // where tasks left much of it idle.
  void write_group(Group& group) {
    Group const done = std::exchange(group, Group{});
    if (done.slices.size() == 1) return write_box(done.slices.front());
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> time;
    std::map<std::size_t, std::size_t> tasks;
    std::uint64_t sum = 0;
    std::size_t failed = 0;
    for (std::size_t const i : done.slices) {
      Slice const& slice = m_rows.slices[i];
      Look const& look = look_of(slice);
      time[{look.family, look.shade}] += slice.end - slice.begin;
      ++tasks[look.family];
      sum += slice.end - slice.begin;
      failed += has_failed(slice);
    }
    auto const most = std::max_element(
        time.begin(), time.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
    double const full = x(done.end) - x(done.begin);
    std::uint64_t const time_covered = std::max<std::uint64_t>(done.end - done.begin, 1);
    double const share =
        std::min(1.0, static_cast<double>(sum) / static_cast<double>(time_covered));
    double const width = std::max(full, 0.5);
    Slice const& first = m_rows.slices[done.slices.front()];
    m_text += "<g><title>" + with_count(done.slices.size(), "task");
    if (failed != 0) m_text += " (" + std::to_string(failed) + " failed)";
    m_text += "\nfrom " + since_begin(done.begin) + " to " + since_begin(done.end) + ", busy " +
              percent_text(100 * share);
    std::size_t lines = 0;
    for (auto const& [family, count] : tasks) {
      if (lines++ == 4) break;
      m_text += "\n" + std::to_string(count) + " \u00D7 " +
                Impl::xml(m_look.palette.families()[family].name);
    }
    m_text += "</title>";
    std::string attributes = "class=\"tasks\" fill=\"" +
                             hex(m_look.palette.colour(most->first.first, most->first.second)) +
                             '"';
    if (share < 0.95) attributes += " fill-opacity=\"" + number(std::max(share, 0.25)) + '"';
    rect(x(done.begin), y(first) + 1, width, m_box_height, attributes);
    if (failed != 0) write_failure(x(done.begin), y(first) + 1, width, m_box_height);
    m_text += "</g>\n";
    Impl::put_if_long(m_out, m_text);
  }

  // ---- Legend ----

  static constexpr double swatch_width = 20;
  static constexpr double legend_line = 22;

  void write_legend() {
    double at_x = m_left, at_y = m_bottom + 52;
    using Swatches = std::vector<std::pair<Colour, std::string>>;  // each with its step
    auto const add = [&](Swatches const& swatches, std::string const& name,
                         std::string const& count, auto const& mark) {
      if (m_text.empty()) {
        text(margin, at_y, "labels", soft());
        m_text += '\n';
      }
      std::size_t const characters = text_width(name) + text_width(count) + 2;
      double const width = static_cast<double>(swatches.size()) * swatch_width + 8 +
                           static_cast<double>(characters) * char_width + 18;
      if (at_x > m_left && at_x + width > page_width - margin) {
        at_x = m_left;
        at_y += legend_line;
      }
      double at = at_x;
      for (auto const& [colour, step] : swatches) {
        rect(at, at_y - 10.5, swatch_width - 1, 13, "fill=\"" + hex(colour) + '"');
        mark(at, at_y - 10.5);
        if (!step.empty())
          text(
              at + (swatch_width - 1) / 2, at_y - 0.8, step,
              "font-size=\"9\" text-anchor=\"middle\" fill=\"" + std::string(ink_on(colour)) + '"');
        at += swatch_width;
      }
      m_text += "<text x=\"" + number(at + 6) + "\" y=\"" + number(at_y) + "\">" + Impl::xml(name);
      if (!count.empty()) m_text += "<tspan dx=\"8\" " + soft() + ">" + count + "</tspan>";
      m_text += "</text>\n";
      at_x += width;
      m_legend_height = at_y + 6 - (m_bottom + 34);
    };
    auto const no_mark = [](double, double) {};
    std::size_t others = 0, other_tasks = 0;
    for (Family const& family : m_look.palette.families()) {
      if (family.hue == other_hue) {
        ++others;
        other_tasks += family.tasks;
        continue;
      }
      Swatches swatches;
      for (std::size_t s = 0; s != family.shades(); ++s) {
        std::string step = family.step ? std::to_string(family.values[s]) : "";
        if (step.size() > 3) step.clear();
        swatches.emplace_back(shaded(family.hue, s), std::move(step));
      }
      // The shades start again behind the last one.
      bool const is_cut = family.step && family.values.size() > Family::most_shades;
      add(swatches, (is_cut ? "\u2026  " : "") + shortened(family.name, 60),
          with_count(family.tasks, "task"), no_mark);
    }
    if (others != 0)
      add({{grey, ""}}, with_count(others, "other label"), with_count(other_tasks, "task"),
          no_mark);
    if (std::any_of(m_rows.slices.begin(), m_rows.slices.end(), has_failed))
      add({{white, ""}}, "failed", "",
          [&](double at, double y_top) { write_failure(at, y_top, swatch_width - 1, 13); });
    if (std::size_t const tasks = m_look.critical.size(); !m_merge && tasks >= 2)
      add({{white, ""}}, "critical path",
          with_count(tasks, "task") + ", " + duration(m_look.critical_ns),
          [&](double at, double y_top) {
            rect(at + 1, y_top + 1, swatch_width - 3, 11, critical_outline);
          });
  }

  static bool has_failed(Slice const& slice) { return slice.task->state == TaskState::failed; }
  [[nodiscard]] Look const& look_of(Slice const& slice) const {
    return *m_look.looks[m_look.of(slice)];
  }

  Impl::TraceLook const& m_look;
  Impl::TraceRows const& m_rows;
  std::vector<std::size_t> m_lanes;  // of each row, as far as they are drawn
  std::ostream& m_out;
  std::uint64_t m_span;
  Unit m_unit;
  std::string m_text;
  std::vector<double> m_row_top;
  double m_left = 0;
  double m_width = 0;
  double m_bottom = 0;
  double m_lane_height = 0;
  double m_box_height = 0;
  double m_padding = 0;
  double m_legend_height = 0;
  double m_grain = 1;
  bool m_merge = false;
};

}  // namespace

void Trace::write_svg(std::ostream& out) const {
  Timeline(Impl::TraceLook(*this), out).write();
}

}  // namespace trellis
