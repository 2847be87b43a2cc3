// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Trellis_Text.hpp"
#include "Trellis_TraceRows.hpp"

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

namespace trellis {
namespace {

using Impl::Slice;

// ---- Text ----------------------------------------------------------------------------------------------

void append_xml(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at != text.size();) {
    char32_t const point = Impl::next_code_point(text, at);
    switch (point) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        Impl::append_utf8(out, Impl::is_unprintable(point) ? char32_t{0xFFFD} : point);
    }
  }
}

// Pixels or percent with two decimals; never by the locale of the stream or the program.
std::string number(double value) {
  bool const negative = value < 0;
  std::string text = Impl::decimal(static_cast<std::uint64_t>(std::llround(std::abs(value) * 100)), 2);
  return negative && text != "0" ? '-' + text : text;
}

// Width in units of an average character, generous: no font is known here.
std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at != text.size();) width += Impl::next_code_point(text, at) < 0x1100 ? 1 : 2;
  return width;
}

// One line of at most `width` characters, with an ellipsis where something was cut off.
std::string shortened(std::string_view text, std::size_t width) {
  std::string line;
  std::size_t used = 0;
  for (std::size_t at = 0; at != text.size();) {
    std::size_t const begin = at;
    char32_t point = Impl::next_code_point(text, at);
    std::size_t const wide = point < 0x1100 ? 1 : 2;
    bool const fits = used + wide <= width && (used + wide < width || text_width(text.substr(begin)) <= wide);
    if (!fits) return line + "\u2026";
    if (point == '\n' || point == '\t') point = ' ';
    Impl::append_utf8(line, point);
    used += wide;
  }
  return line;
}

std::string with_count(std::size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

// ---- Time ----------------------------------------------------------------------------------------------

struct Unit {
  std::string_view name;
  int scale;  // a unit is 10^scale ns
};

Unit unit_for(std::uint64_t ns) {
  if (ns < 1'000) return {"ns", 0};
  if (ns < 1'000'000) return {"\u00B5s", 3};
  if (ns < 1'000'000'000) return {"ms", 6};
  return {"s", 9};
}

std::string with_unit(std::uint64_t ns, Unit unit) {
  return Impl::decimal(ns, unit.scale) + ' ' + std::string(unit.name);
}

// In a unit that suits it, rounded to four digits: "12.35 ms".
std::string duration(std::uint64_t ns) {
  std::uint64_t step = 1;
  while (ns / step >= 10'000) step *= 10;
  ns = (ns + step / 2) / step * step;
  return with_unit(ns, unit_for(ns));
}

// A step of 1, 2 or 5 times a power of ten that divides the span into at most `count` parts.
std::uint64_t tick_step(std::uint64_t span, std::uint64_t count) {
  for (std::uint64_t power = 1;; power *= 10) {
    for (std::uint64_t const factor : {1u, 2u, 5u}) {
      if (span / count < factor * power) return factor * power;
    }
  }
}

// ---- Families of labels, colours -------------------------------------------------------------------------

// A label split at its numbers: "tile 3,4 step 7" is the pattern "tile #,# step #" and 3, 4, 7.
struct SplitLabel {
  std::string pattern;
  std::vector<std::uint64_t> numbers;
};

SplitLabel split(std::string_view label) {
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  SplitLabel result;
  for (std::size_t i = 0; i != label.size();) {
    if (!is_digit(label[i])) {
      // A '#' of the label itself must not look like a number.
      result.pattern += label[i] == '#' ? '\x1F' : label[i];
      ++i;
      continue;
    }
    std::uint64_t value = 0;
    for (; i != label.size() && is_digit(label[i]); ++i) {
      value = value * 10 + static_cast<std::uint64_t>(label[i] - '0');
    }
    result.pattern += '#';
    result.numbers.push_back(value);
  }
  return result;
}

// Tasks whose labels differ only in numbers. They share a hue; one of the numbers, the family's step, chooses
// the shade. That is the number that follows the program's outermost loop: in order of submission it goes
// down least often and changes least often. So the tiles of two time steps differ in shade, whatever the
// program calls them.
struct Family {
  std::string name;  // "tile *,* step n"
  std::size_t tasks = 0;
  std::optional<std::size_t> step;    // which number; none when no number varies
  std::vector<std::uint64_t> values;  // of the step, sorted
  std::size_t hue = 0;

  [[nodiscard]] std::size_t shade(std::vector<std::uint64_t> const& numbers) const;
};

// Four shades in turn: neighbouring steps always differ clearly, which a ramp over all steps would not give.
constexpr std::size_t shade_count = 4;

std::size_t Family::shade(std::vector<std::uint64_t> const& numbers) const {
  if (!step) return 0;
  auto const value = std::lower_bound(values.begin(), values.end(), numbers[*step]);
  return static_cast<std::size_t>(value - values.begin()) % shade_count;
}

struct Colour {
  int red, green, blue;
};

Colour mixed(Colour from, Colour to, double part) {
  auto const mix = [part](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * part)); };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

std::string hex(Colour colour) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text = "#";
  for (int const part : {colour.red, colour.green, colour.blue}) {
    text += digits[static_cast<std::size_t>(part) / 16];
    text += digits[static_cast<std::size_t>(part) % 16];
  }
  return text;
}

// After the palette of Okabe and Ito (2008), which stays distinct under the common colour-vision
// deficiencies; its purple, orange and yellow are darkened to leave room for lighter shades on white. The
// last two come close to shades of the others: they are used only when there are more families than main
// hues.
constexpr std::size_t main_hues = 5;
constexpr std::array<Colour, 7> hues = {{{0, 114, 178},
                                         {213, 94, 0},
                                         {0, 146, 106},
                                         {178, 84, 144},
                                         {216, 148, 0},
                                         {86, 180, 233},
                                         {150, 136, 0}}};
constexpr Colour grey = {128, 128, 128};
constexpr Colour white = {255, 255, 255};
constexpr std::size_t other_hue = hues.size();

Colour shaded(std::size_t hue, std::size_t shade) {
  constexpr std::array<double, shade_count> lighter = {0.0, 0.28, 0.50, 0.70};
  return mixed(hue == other_hue ? grey : hues[hue], white, lighter[shade]);
}

std::string_view ink_on(Colour colour) {
  double const luminance = 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue;
  return luminance < 140 ? "#FFFFFF" : "#1A1A1A";
}

// FNV-1a: the same on every platform, unlike std::hash.
std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// What a task looks like.
struct Look {
  std::size_t family;
  std::size_t shade;
  std::optional<std::uint64_t> step;
};

class Palette {
 public:
  explicit Palette(Impl::TraceRows const& trace) {
    // Slices are in order of time; what a program's loops do shows in the order of submission.
    std::vector<std::size_t> order(trace.slices.size());
    for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return trace.slices[a].task->id < trace.slices[b].task->id;
    });
    std::vector<SplitLabel> labels(order.size());
    std::map<std::string, std::size_t, std::less<>> index;
    std::vector<std::string> patterns;
    std::vector<std::size_t> family_of(order.size());
    std::vector<std::vector<std::size_t>> members;
    for (std::size_t const i : order) {
      labels[i] = split(trace.slices[i].task->label);
      auto const [entry, added] = index.emplace(labels[i].pattern, patterns.size());
      if (added) {
        patterns.push_back(labels[i].pattern);
        members.emplace_back();
      }
      family_of[i] = entry->second;
      members[entry->second].push_back(i);
    }
    for (std::size_t f = 0; f != patterns.size(); ++f) {
      m_families.push_back(make_family(patterns[f], members[f], labels));
    }
    choose_hues(patterns);
    m_looks.reserve(order.size());
    for (std::size_t i = 0; i != order.size(); ++i) {
      Family const& family = m_families[family_of[i]];
      Look look{family_of[i], family.shade(labels[i].numbers), std::nullopt};
      if (family.step) look.step = labels[i].numbers[*family.step];
      m_looks.push_back(look);
    }
  }

  [[nodiscard]] std::vector<Family> const& families() const { return m_families; }
  // Of the slice with this index.
  [[nodiscard]] Look const& look(std::size_t slice) const { return m_looks[slice]; }
  [[nodiscard]] Colour colour(std::size_t family, std::size_t shade) const {
    return shaded(m_families[family].hue, shade);
  }

 private:
  static Family make_family(std::string_view pattern, std::vector<std::size_t> const& members,
                            std::vector<SplitLabel> const& labels) {
    Family family;
    family.tasks = members.size();
    std::vector<std::uint64_t> const& first = labels[members.front()].numbers;
    std::vector<bool> varies(first.size(), false);
    std::pair<std::size_t, std::size_t> least;
    for (std::size_t n = 0; n != first.size(); ++n) {
      std::pair<std::size_t, std::size_t> downs_and_changes{0, 0};
      std::uint64_t last = first[n];
      for (std::size_t const i : members) {
        std::uint64_t const value = labels[i].numbers[n];
        if (value < last) ++downs_and_changes.first;
        if (value != last) ++downs_and_changes.second;
        last = value;
      }
      varies[n] = downs_and_changes.second != 0;
      if (varies[n] && (!family.step || downs_and_changes < least)) {
        family.step = n;
        least = downs_and_changes;
      }
    }
    if (family.step) {
      std::set<std::uint64_t> values;
      for (std::size_t const i : members) values.insert(labels[i].numbers[*family.step]);
      family.values.assign(values.begin(), values.end());
    }
    std::size_t n = 0;
    for (char const c : pattern) {
      if (c == '#') {
        family.name += family.step == n ? "n" : varies[n] ? "*" : std::to_string(first[n]);
        ++n;
      } else {
        family.name += c == '\x1F' ? '#' : c;
      }
    }
    return family;
  }

  // The families with most tasks get a hue of their own. A family's hue follows from its label, so that it is
  // the same in the next run; two that would share one are told apart in alphabetical order.
  void choose_hues(std::vector<std::string> const& patterns) {
    std::vector<std::size_t> ranked(m_families.size());
    for (std::size_t f = 0; f != ranked.size(); ++f) ranked[f] = f;
    std::sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
      if (m_families[a].tasks != m_families[b].tasks) return m_families[a].tasks > m_families[b].tasks;
      return patterns[a] < patterns[b];
    });
    std::size_t const own = std::min(ranked.size(), hues.size());
    for (std::size_t i = own; i < ranked.size(); ++i) m_families[ranked[i]].hue = other_hue;
    std::sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(own),
              [&](std::size_t a, std::size_t b) { return patterns[a] < patterns[b]; });
    std::size_t const available = own <= main_hues ? main_hues : hues.size();
    std::array<bool, hues.size()> taken{};
    for (std::size_t i = 0; i != own; ++i) {
      auto hue = static_cast<std::size_t>(stable_hash(patterns[ranked[i]]) % available);
      while (taken[hue]) hue = (hue + 1) % available;
      taken[hue] = true;
      m_families[ranked[i]].hue = hue;
    }
  }

  std::vector<Family> m_families;
  std::vector<Look> m_looks;
};

// ---- Picture -------------------------------------------------------------------------------------------

constexpr double page_width = 1200;
constexpr double margin = 24;
constexpr double char_width = 6.3;         // of the 11 px font that rows and legend use
constexpr double box_char_width = 5.9;     // of the 10 px font in boxes
constexpr double busy_width = 92;          // the column with the utilisation, right of the boxes
constexpr double top = 84;                 // above the first row
constexpr std::size_t most_boxes = 10000;  // more tasks than this are merged where they are too narrow to see
constexpr std::string_view text_colour = "#1A1A1A";
constexpr std::string_view soft_colour = "#5F6368";

class Timeline {
 public:
  Timeline(Trace const& trace, std::ostream& out)
      : m_trace(&trace),
        m_rows(trace),
        m_palette(m_rows),
        m_out(&out),
        m_span(std::max<std::uint64_t>(m_rows.end - m_rows.begin, 1)),
        m_unit(unit_for(m_span)) {
    std::size_t longest = 0;
    for (std::string const& name : m_rows.names) longest = std::max(longest, text_width(name));
    longest = std::clamp<std::size_t>(longest, 8, longest_name);
    m_left = margin + static_cast<double>(longest) * char_width + 12;
    m_width = page_width - margin - busy_width - m_left;
    std::size_t lanes = 0;
    for (std::size_t& count : m_rows.lanes) {
      // Tasks that call each other may nest deeply; the last lane takes what finds no place.
      count = std::min(count, most_lanes);
      lanes += count;
    }
    m_lane_height = lanes <= 12 ? 28 : lanes <= 32 ? 20 : lanes <= 96 ? 13 : 8;
    m_padding = lanes <= 32 ? 3 : 1;
    double y = top;
    for (std::size_t const count : m_rows.lanes) {
      m_row_top.push_back(y);
      y += static_cast<double>(count) * m_lane_height + 2 * m_padding;
    }
    m_bottom = std::max(y, top + 40);
    m_merge = m_rows.slices.size() > most_boxes;
    m_grain = std::max(1.0, m_width * static_cast<double>(lanes) / most_boxes);
  }

  void write() {
    lay_out_legend();
    double const height = m_bottom + 34 + m_legend_height + margin;
    std::string const size = number(page_width) + "\" height=\"" + number(height);
    m_text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 " +
             number(page_width) + ' ' + number(height) +
             "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"" +
             std::string(text_colour) + "\">\n";
    m_text +=
        "<defs><pattern id=\"trellis-failed\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"2.5\" height=\"6\" fill=\"#B00020\"/></pattern>"
        "</defs>\n";
    m_text += "<rect width=\"" + size + "\" fill=\"#FFFFFF\"/>\n";
    write_heading();
    write_rows();
    write_boxes();
    write_axis();
    write_legend();
    m_text += "</svg>\n";
    flush();
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
  // Exact, counted from the beginning of the first task.
  [[nodiscard]] std::string since_begin(std::uint64_t ns) const {
    return with_unit(ns - m_rows.begin, m_unit);
  }

  void flush() {
    m_out->write(m_text.data(), static_cast<std::streamsize>(m_text.size()));
    m_text.clear();
  }

  void text(double at_x, double at_y, std::string_view content, std::string_view attributes = "") {
    m_text += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + '"';
    if (!attributes.empty()) (m_text += ' ') += attributes;
    m_text += '>';
    append_xml(m_text, content);
    m_text += "</text>";
  }

  void rect(double at_x, double at_y, double width, double height, std::string_view attributes) {
    m_text += "<rect x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" width=\"" + number(width) +
              "\" height=\"" + number(height) + "\" ";
    m_text += attributes;
    m_text += "/>";
  }

  // Nanoseconds in which at least one task of the row ran.
  [[nodiscard]] std::vector<std::uint64_t> busy() const {
    std::vector<std::uint64_t> sum(m_rows.names.size(), 0);
    std::vector<std::uint64_t> reached(m_rows.names.size(), 0);
    for (Slice const& slice : m_rows.slices) {
      std::uint64_t const from = std::max(slice.begin, reached[slice.row]);
      if (slice.end > from) sum[slice.row] += slice.end - from;
      reached[slice.row] = std::max(reached[slice.row], slice.end);
    }
    return sum;
  }

  [[nodiscard]] double percent(std::uint64_t ns) const {
    return 100.0 * static_cast<double>(ns) / static_cast<double>(m_span);
  }

  // Whole percents, with one decimal where they would hide what there is to see.
  [[nodiscard]] static std::string percent_text(double percent) {
    auto const tenths = static_cast<std::uint64_t>(std::llround(percent * 10));
    bool const fine = (tenths > 0 && tenths < 10) || (tenths >= 990 && tenths < 1000);
    if (!fine) return std::to_string((tenths + 5) / 10) + " %";
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " %";
  }

  void write_heading() {
    text(margin, 36, "Trellis timeline", "font-size=\"18\" font-weight=\"bold\"");
    std::size_t failed = 0, cancelled = 0, running = 0, waiting = 0;
    for (TaskRecord const& task : m_trace->graph.nodes()) {
      failed += task.state == TaskState::failed;
      cancelled += task.state == TaskState::cancelled;
      running += task.state == TaskState::running;
      waiting += task.state == TaskState::pending || task.state == TaskState::ready;
    }
    std::string line =
        with_count(m_rows.slices.size(), "task") + " on " + with_count(m_rows.names.size(), "row");
    if (!m_rows.slices.empty()) {
      line += "  \u00B7  total span " + duration(m_rows.end - m_rows.begin);
      std::uint64_t sum = 0;
      for (std::uint64_t const ns : busy()) sum += ns;
      line += "  \u00B7  busy " + percent_text(percent(sum) / static_cast<double>(m_rows.names.size()));
    }
    if (running != 0) line += "  \u00B7  " + std::to_string(running) + " still running";
    if (failed != 0) line += "  \u00B7  " + std::to_string(failed) + " failed";
    if (cancelled != 0) line += "  \u00B7  " + std::to_string(cancelled) + " cancelled";
    if (waiting != 0) line += "  \u00B7  " + std::to_string(waiting) + " not begun";
    text(margin, 56, line, "font-size=\"12\" fill=\"" + std::string(soft_colour) + '"');
    m_text += '\n';
  }

  void write_rows() {
    std::string const soft = "fill=\"" + std::string(soft_colour) + '"';
    std::vector<std::uint64_t> const sum = busy();
    double const bar_x = m_left + m_width + 14;
    double const size = std::clamp(m_lane_height + 2 * m_padding - 2, 6.0, 11.0);
    std::string const font = "font-size=\"" + number(size) + '"';
    if (!m_rows.names.empty()) {
      text(page_width - margin, top - 8, "busy", soft + " font-size=\"10\" text-anchor=\"end\"");
    }
    for (std::size_t row = 0; row != m_rows.names.size(); ++row) {
      double const height = static_cast<double>(m_rows.lanes[row]) * m_lane_height + 2 * m_padding;
      double const y_top = m_row_top[row];
      double const baseline = y_top + height / 2 + size * 0.36;
      if (row % 2 == 0) rect(margin, y_top, page_width - 2 * margin, height, "fill=\"#F5F6F8\"");
      m_text += "<g><title>";
      append_xml(m_text, m_rows.names[row]);
      m_text += "</title>";
      text(m_left - 12, baseline, shortened(m_rows.names[row], longest_name), font + " text-anchor=\"end\"");
      m_text += "</g>";
      double const share = percent(sum[row]);
      double const bar_height = std::min(6.0, height - 2);
      double const bar_y = y_top + (height - bar_height) / 2;
      rect(bar_x, bar_y, 32, bar_height, "fill=\"#DADCE0\"");
      rect(bar_x, bar_y, 0.32 * share, bar_height, soft);
      text(page_width - margin - 4, baseline, percent_text(share), font + " text-anchor=\"end\"");
      m_text += '\n';
    }
    if (m_rows.slices.empty()) {
      std::string_view const why = m_trace->graph.nodes().empty() ? "no tasks recorded" : "no task has run";
      text(m_left + m_width / 2, (top + m_bottom) / 2 + 4, why,
           soft + " font-size=\"13\" text-anchor=\"middle\"");
      m_text += '\n';
    }
  }

  void write_axis() {
    if (m_rows.slices.empty()) return;
    std::string const soft = "fill=\"" + std::string(soft_colour) + '"';
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
    text(margin, m_bottom + 18, "time", soft);
    m_text += '\n';
  }

  void line(double x1, double y1, double x2, double y2) {
    m_text += "<path d=\"M" + number(x1) + ' ' + number(y1) + 'L' + number(x2) + ' ' + number(y2) + "\"/>";
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
  }

  // Hover text of one task; short where there are many, for they make up most of the file.
  void append_hover_text(Slice const& slice) {
    TaskRecord const& task = *slice.task;
    std::size_t const count = m_rows.slices.size();
    std::size_t const most_accesses = count > 1000 ? 4 : 16;
    append_xml(m_text, task.label);
    if (task.state != TaskState::done) (m_text += " \u2014 ") += to_string(task.state);
    m_text += "\n" + duration(slice.end - slice.begin) + ", from " + since_begin(slice.begin) + " to " +
              since_begin(slice.end);
    if (task.ready_ns != 0 && task.started_ns >= task.ready_ns) {
      m_text += "\nwas ready for " + duration(task.started_ns - task.ready_ns);
    }
    if (slice.begin > task.started_ns) {
      m_text += "\nwas queued for " + duration(slice.begin - task.started_ns);
    }
    if (count <= 1000) {
      m_text += "\ntask " + std::to_string(task.id);
      for (std::string const& part : {task.pattern, task.space, Impl::call_site(task)}) {
        if (part.empty()) continue;
        m_text += ", ";
        append_xml(m_text, part);
      }
    }
    for (std::size_t a = 0; a != task.accesses.size(); ++a) {
      m_text += '\n';
      if (a == most_accesses) {
        m_text += "and " + std::to_string(task.accesses.size() - a) + " more";
        break;
      }
      append_xml(m_text, Impl::to_text(task.accesses[a]));
    }
  }

  void write_box(std::size_t index) {
    Slice const& slice = m_rows.slices[index];
    Look const& look = m_palette.look(index);
    Colour const fill = m_palette.colour(look.family, look.shade);
    bool const failed = slice.task->state == TaskState::failed;
    double const full = x(slice.end) - x(slice.begin);
    // A hairline between neighbours where there is room for it; a box is never invisible.
    double const width = full > 3 ? full - 0.6 : std::max(full, 0.5);
    double const height = m_lane_height - (m_lane_height > 10 ? 2 : 1);
    m_text += "<g><title>";
    append_hover_text(slice);
    m_text += "</title>";
    std::string attributes = "class=\"task\" fill=\"" + hex(fill) + '"';
    if (slice.task->state == TaskState::running) attributes += " fill-opacity=\"0.6\"";
    rect(x(slice.begin), y(slice) + 1, width, height, attributes);
    if (failed) write_failure(x(slice.begin), y(slice) + 1, width, height);
    write_box_text(slice, look, fill, width);
    m_text += "</g>\n";
    if (m_text.size() > 1 << 16) flush();
  }

  void write_failure(double at_x, double at_y, double width, double height) {
    // However short the task was, it can be found.
    rect(at_x, at_y, std::max(width, 2.0), height,
         width < 4 ? "fill=\"#B00020\""
                   : "fill=\"url(#trellis-failed)\" stroke=\"#B00020\" stroke-width=\"1.5\"");
  }

  // The whole label where it fits, else the step that the shade stands for, else as much as is legible.
  void write_box_text(Slice const& slice, Look const& look, Colour fill, double width) {
    if (m_lane_height < 18 || slice.task->state == TaskState::failed) return;
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
    text(x(slice.begin) + width / 2, y(slice) + m_lane_height / 2 + 3.6, content,
         "text-anchor=\"middle\" pointer-events=\"none\" fill=\"" + std::string(ink_on(fill)) + '"');
  }

  void write_merged() {
    // Groups grow per lane; a lane's group is written when a box does not belong to it.
    std::vector<std::vector<Group>> groups(m_rows.names.size());
    for (std::size_t row = 0; row != groups.size(); ++row) groups[row].resize(m_rows.lanes[row]);
    for (std::size_t i = 0; i != m_rows.slices.size(); ++i) {
      Slice const& slice = m_rows.slices[i];
      Group& group = groups[slice.row][std::min(slice.lane, most_lanes - 1)];
      bool const narrow = x(slice.end) - x(slice.begin) < m_grain;
      std::uint64_t const end = std::max(group.end, slice.end);
      if (!group.slices.empty() && (!narrow || x(end) - x(group.begin) > m_grain)) write_group(group);
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

  // Writes and empties the group. It takes the look that most of its time has; it is pale where tasks left
  // much of it idle.
  void write_group(Group& group) {
    Group const done = std::exchange(group, Group{});
    if (done.slices.size() == 1) return write_box(done.slices.front());
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> time;
    std::map<std::size_t, std::size_t> tasks;
    std::uint64_t sum = 0;
    std::size_t failed = 0;
    for (std::size_t const i : done.slices) {
      Slice const& slice = m_rows.slices[i];
      Look const& look = m_palette.look(i);
      time[{look.family, look.shade}] += slice.end - slice.begin;
      ++tasks[look.family];
      sum += slice.end - slice.begin;
      failed += slice.task->state == TaskState::failed;
    }
    auto const most = std::max_element(time.begin(), time.end(),
                                       [](auto const& a, auto const& b) { return a.second < b.second; });
    double const full = x(done.end) - x(done.begin);
    std::uint64_t const time_covered = std::max<std::uint64_t>(done.end - done.begin, 1);
    double const share = std::min(1.0, static_cast<double>(sum) / static_cast<double>(time_covered));
    double const width = std::max(full, 0.5);
    double const height = m_lane_height - (m_lane_height > 10 ? 2 : 1);
    Slice const& first = m_rows.slices[done.slices.front()];
    m_text += "<g><title>" + with_count(done.slices.size(), "task");
    if (failed != 0) m_text += " (" + std::to_string(failed) + " failed)";
    m_text += "\nfrom " + since_begin(done.begin) + " to " + since_begin(done.end) + ", busy " +
              percent_text(100 * share);
    std::size_t lines = 0;
    for (auto const& [family, count] : tasks) {
      if (lines++ == 4) break;
      m_text += "\n" + std::to_string(count) + " \u00D7 ";
      append_xml(m_text, m_palette.families()[family].name);
    }
    m_text += "</title>";
    std::string attributes =
        "class=\"tasks\" fill=\"" + hex(m_palette.colour(most->first.first, most->first.second)) + '"';
    if (share < 0.95) attributes += " fill-opacity=\"" + number(std::max(share, 0.25)) + '"';
    rect(x(done.begin), y(first) + 1, width, height, attributes);
    if (failed != 0) write_failure(x(done.begin), y(first) + 1, width, height);
    m_text += "</g>\n";
    if (m_text.size() > 1 << 16) flush();
  }

  // ---- Legend ----

  struct LegendEntry {
    std::vector<std::pair<Colour, std::string>> swatches;  // with the step that each stands for
    std::string name;
    std::string count;
    bool failed = false;
    double x = 0;
    double y = 0;
    double width = 0;
  };

  static constexpr double swatch_width = 20;
  static constexpr double legend_line = 22;

  void lay_out_legend() {
    std::vector<Family const*> own;
    std::size_t others = 0, other_tasks = 0;
    for (Family const& family : m_palette.families()) {
      if (family.hue == other_hue) {
        ++others;
        other_tasks += family.tasks;
      } else {
        own.push_back(&family);
      }
    }
    for (Family const* family : own) {
      LegendEntry entry;
      std::size_t const shades = family->step ? std::min(family->values.size(), shade_count) : 1;
      for (std::size_t s = 0; s != shades; ++s) {
        std::string step = family->step ? std::to_string(family->values[s]) : "";
        if (step.size() > 3) step.clear();
        entry.swatches.emplace_back(shaded(family->hue, s), std::move(step));
      }
      entry.name = shortened(family->name, 60);
      // The shades start again behind the last one.
      if (family->step && family->values.size() > shade_count) entry.name = "\u2026  " + entry.name;
      entry.count = with_count(family->tasks, "task");
      m_legend.push_back(std::move(entry));
    }
    if (others != 0) {
      m_legend.push_back({{{grey, ""}},
                          others == 1 ? "1 other label" : std::to_string(others) + " other labels",
                          with_count(other_tasks, "task")});
    }
    bool const any_failed = std::any_of(m_rows.slices.begin(), m_rows.slices.end(), [](Slice const& slice) {
      return slice.task->state == TaskState::failed;
    });
    if (any_failed) {
      m_legend.push_back({{{white, ""}}, "failed", ""});
      m_legend.back().failed = true;
    }
    double at_x = m_left, at_y = m_bottom + 52;
    for (LegendEntry& entry : m_legend) {
      std::size_t const characters = text_width(entry.name) + text_width(entry.count) + 2;
      entry.width = static_cast<double>(entry.swatches.size()) * swatch_width + 8 +
                    static_cast<double>(characters) * char_width + 18;
      if (at_x > m_left && at_x + entry.width > page_width - margin) {
        at_x = m_left;
        at_y += legend_line;
      }
      entry.x = at_x;
      entry.y = at_y;
      at_x += entry.width;
    }
    m_legend_height = m_legend.empty() ? 0 : at_y + 6 - (m_bottom + 34);
  }

  void write_legend() {
    if (m_legend.empty()) return;
    std::string const soft = "fill=\"" + std::string(soft_colour) + '"';
    text(margin, m_legend.front().y, "labels", soft);
    m_text += '\n';
    for (LegendEntry const& entry : m_legend) {
      double at = entry.x;
      for (auto const& [colour, step] : entry.swatches) {
        rect(at, entry.y - 10.5, swatch_width - 1, 13, "fill=\"" + hex(colour) + '"');
        if (entry.failed) write_failure(at, entry.y - 10.5, swatch_width - 1, 13);
        if (!step.empty()) {
          text(at + (swatch_width - 1) / 2, entry.y - 0.8, step,
               "font-size=\"9\" text-anchor=\"middle\" fill=\"" + std::string(ink_on(colour)) + '"');
        }
        at += swatch_width;
      }
      m_text += "<text x=\"" + number(at + 6) + "\" y=\"" + number(entry.y) + "\">";
      append_xml(m_text, entry.name);
      if (!entry.count.empty()) {
        m_text += "<tspan dx=\"8\" " + soft + ">" + entry.count + "</tspan>";
      }
      m_text += "</text>\n";
    }
  }

  Trace const* m_trace;
  Impl::TraceRows m_rows;
  Palette m_palette;
  std::ostream* m_out;
  std::uint64_t m_span;
  Unit m_unit;
  std::string m_text;
  std::vector<double> m_row_top;
  std::vector<LegendEntry> m_legend;
  double m_left = 0;
  double m_width = 0;
  double m_bottom = 0;
  double m_lane_height = 0;
  double m_padding = 0;
  double m_legend_height = 0;
  double m_grain = 1;
  bool m_merge = false;
};

}  // namespace

void Trace::write_svg(std::ostream& out) const {
  Timeline(*this, out).write();
}

}  // namespace trellis
