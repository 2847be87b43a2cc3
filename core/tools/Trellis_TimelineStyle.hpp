// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SRC_TIMELINESTYLE_HPP
#define TRELLIS_SRC_TIMELINESTYLE_HPP

#include <tools/Trellis_Text.hpp>
#include <tools/Trellis_TraceRows.hpp>

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The style of the timeline picture: text that fits, times with units, and the colours of tasks.
namespace trellis::Impl::TimelineStyle {

// ---- Text ---------------------------------------------------------------------------------------

// Formats pixels or percent with two decimals, independent of the locale of the stream or the
// program.
inline std::string number(double value) {
  bool const negative = value < 0;
  std::string text =
      Impl::decimal(static_cast<std::uint64_t>(std::llround(std::abs(value) * 100)), 2);
  return negative && text != "0" ? '-' + text : text;
}

// Returns the width in units of an average character. It is generous, as no font is known here.
inline std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at != text.size();)
    width += Impl::next_code_point(text, at) < 0x1100 ? 1 : 2;
  return width;
}

// Returns one line of at most `width` characters, with an ellipsis where text was cut off.
inline std::string shortened(std::string_view text, std::size_t width) {
  std::string line;
  std::size_t used = 0;
  for (std::size_t at = 0; at != text.size();) {
    std::size_t const begin = at;
    char32_t const point = Impl::next_code_point(text, at);
    std::size_t const wide = point < 0x1100 ? 1 : 2;
    bool const fits =
        used + wide <= width && (used + wide < width || text_width(text.substr(begin)) <= wide);
    if (!fits) return line + "\u2026";
    line += point == 0xFFFD                  ? "\uFFFD"
            : point == '\n' || point == '\t' ? " "
                                             : text.substr(begin, at - begin);
    used += wide;
  }
  return line;
}

inline std::string with_count(std::size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

// Returns whole percents, or one decimal where whole ones would hide a value near 0 or 100.
inline std::string percent_text(double percent) {
  auto const tenths = static_cast<std::uint64_t>(std::llround(percent * 10));
  bool const fine = (tenths > 0 && tenths < 10) || (tenths >= 990 && tenths < 1000);
  if (!fine) return std::to_string((tenths + 5) / 10) + " %";
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " %";
}

// ---- Time ---------------------------------------------------------------------------------------

struct Unit {
  std::string_view name;
  int scale;  // a unit is 10^scale ns
};

inline Unit unit_for(std::uint64_t ns) {
  if (ns < 1'000) return {"ns", 0};
  if (ns < 1'000'000) return {"\u00B5s", 3};
  if (ns < 1'000'000'000) return {"ms", 6};
  return {"s", 9};
}

inline std::string with_unit(std::uint64_t ns, Unit unit) {
  return Impl::decimal(ns, unit.scale) + ' ' + std::string(unit.name);
}

// Formats a time in a unit that suits it, rounded to four digits: "12.35 ms".
inline std::string duration(std::uint64_t ns) {
  std::uint64_t step = 1;
  while (ns / step >= 10'000) step *= 10;
  ns = (ns + step / 2) / step * step;
  return with_unit(ns, unit_for(ns));
}

inline std::string duration(double ns) {
  return duration(static_cast<std::uint64_t>(std::llround(std::max(0.0, ns))));
}

// Returns a step of 1, 2 or 5 times a power of ten that divides the span into at most `count`
// parts.
inline std::uint64_t tick_step(std::uint64_t span, std::uint64_t count) {
  for (std::uint64_t power = 1;; power *= 10) {
    for (std::uint64_t const factor : {1u, 2u, 5u}) {
      if (span / count < factor * power) return factor * power;
    }
  }
}

// ---- Families of labels, colours ----------------------------------------------------------------

// A label split at its numbers: "tile 3,4 step 7" gives the pattern "tile #,# step #" and 3, 4, 7.
struct SplitLabel {
  std::string pattern;
  std::vector<std::uint64_t> numbers;
};

inline SplitLabel split(std::string_view label) {
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

// Returns a pattern with a text for each of its numbers.
template <class F>
std::string with_numbers(std::string_view pattern, F const& text_of) {
  std::string label;
  std::size_t n = 0;
  for (char const c : pattern) {
    if (c == '#')
      label += text_of(n++);
    else
      label += c == '\x1F' ? '#' : c;
  }
  return label;
}

// Tasks whose labels differ only in numbers. They share a hue; one of the numbers, the family's
// step, chooses the shade. That is the number that follows the program's outermost loop: in order
// of submission it goes down least often and changes least often. So the tiles of two time steps
// differ in shade, whatever the program calls them.
struct Family {
  std::string pattern;
  std::string name;  // "tile *,* step n"
  std::size_t tasks = 0;
  std::optional<std::size_t> step;    // which number it is; none when no number varies
  std::vector<std::uint64_t> values;  // of the step, sorted
  std::size_t hue = 0;

  // Four shades are used in turn, so that neighbouring steps always differ clearly. A ramp over all
  // steps would not ensure that.
  static constexpr std::size_t most_shades = 4;
  [[nodiscard]] std::size_t shades() const {
    return step ? std::min(values.size(), most_shades) : 1;
  }
  [[nodiscard]] std::size_t shade(std::vector<std::uint64_t> const& numbers) const {
    if (!step) return 0;
    auto const value = std::lower_bound(values.begin(), values.end(), numbers[*step]);
    return static_cast<std::size_t>(value - values.begin()) % most_shades;
  }
};

struct Colour {
  int red, green, blue;
};

inline std::string hex(Colour colour) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text = "#";
  for (int const part : {colour.red, colour.green, colour.blue}) {
    text += digits[static_cast<std::size_t>(part) / 16];
    text += digits[static_cast<std::size_t>(part) % 16];
  }
  return text;
}

// The hues follow the palette of Okabe and Ito (2008), which stays distinct under the common
// colour-vision deficiencies. Its purple, orange and yellow are darkened to leave room for lighter
// shades on white. The last two come close to shades of the others, so they are used only when
// there are more families than main hues.
inline constexpr std::size_t main_hues = 5;
inline constexpr std::array<Colour, 7> hues = {{{0, 114, 178},
                                                {213, 94, 0},
                                                {0, 146, 106},
                                                {178, 84, 144},
                                                {216, 148, 0},
                                                {86, 180, 233},
                                                {150, 136, 0}}};
inline constexpr Colour grey = {128, 128, 128};
inline constexpr Colour white = {255, 255, 255};
inline constexpr std::size_t other_hue = hues.size();

inline Colour shaded(std::size_t hue, std::size_t shade) {
  constexpr std::array<double, Family::most_shades> lighter = {0.0, 0.28, 0.50, 0.70};
  auto const [red, green, blue] = hue == other_hue ? grey : hues[hue];
  auto const mix = [part = lighter[shade]](int from) {
    return static_cast<int>(std::lround(from + (255 - from) * part));
  };
  return {mix(red), mix(green), mix(blue)};
}

inline std::string_view ink_on(Colour colour) {
  double const luminance = 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue;
  return luminance < 140 ? "#FFFFFF" : "#1A1A1A";
}

// Computes FNV-1a, which is the same on every platform, unlike std::hash.
inline std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// The look of a task.
struct Look {
  std::size_t family;
  std::size_t shade;
  std::optional<std::uint64_t> step;
};

class Palette {
 public:
  explicit Palette(Impl::TraceRows const& trace) {
    // Slices are in order of time, but a program's loops show in the order of submission.
    std::vector<TaskRecord const*> order;
    for (Impl::Slice const& slice : trace.slices) order.push_back(slice.task);
    std::sort(order.begin(), order.end(),
              [](TaskRecord const* a, TaskRecord const* b) { return a->id < b->id; });
    std::vector<std::vector<std::vector<std::uint64_t>>> numbers;  // by family, by task
    for (TaskRecord const* task : order) {
      SplitLabel label = split(task->label);
      auto const [entry, added] = m_index.emplace(std::move(label.pattern), numbers.size());
      if (added) numbers.emplace_back();
      numbers[entry->second].push_back(std::move(label.numbers));
    }
    m_families.resize(numbers.size());
    for (auto const& [pattern, f] : m_index) m_families[f] = make_family(pattern, numbers[f]);
    choose_hues();
  }

  [[nodiscard]] std::vector<Family> const& families() const { return m_families; }
  [[nodiscard]] Colour colour(std::size_t family, std::size_t shade) const {
    return shaded(m_families[family].hue, shade);
  }
  // Returns the look of any task with this label; none if no task of its family has run.
  [[nodiscard]] std::optional<Look> find(std::string_view label) const {
    SplitLabel const parts = split(label);
    auto const known = m_index.find(parts.pattern);
    if (known == m_index.end()) return std::nullopt;
    Family const& family = m_families[known->second];
    Look look{known->second, family.shade(parts.numbers), std::nullopt};
    if (family.step) look.step = parts.numbers[*family.step];
    return look;
  }

 private:
  static Family make_family(std::string const& pattern,
                            std::vector<std::vector<std::uint64_t>> const& numbers) {
    Family family;
    family.pattern = pattern;
    family.tasks = numbers.size();
    std::vector<std::uint64_t> const& first = numbers.front();
    std::vector<bool> varies(first.size(), false);
    std::pair<std::size_t, std::size_t> least;
    for (std::size_t n = 0; n != first.size(); ++n) {
      std::pair<std::size_t, std::size_t> downs_and_changes{0, 0};
      std::uint64_t last = first[n];
      for (std::vector<std::uint64_t> const& of_task : numbers) {
        std::uint64_t const value = of_task[n];
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
      for (auto const& of_task : numbers) values.insert(of_task[*family.step]);
      family.values.assign(values.begin(), values.end());
    }
    family.name = with_numbers(pattern, [&](std::size_t n) -> std::string {
      return family.step == n ? "n" : varies[n] ? "*" : std::to_string(first[n]);
    });
    return family;
  }

  // The families with most tasks get a hue of their own. A family's hue follows from its label, so
  // that it is the same in the next run. If two would share a hue, the later in alphabetical order
  // gets the next one.
  void choose_hues() {
    auto const is_before = [&](std::size_t a, std::size_t b) {
      return m_families[a].pattern < m_families[b].pattern;
    };
    std::vector<std::size_t> ranked(m_families.size());
    for (std::size_t f = 0; f != ranked.size(); ++f) ranked[f] = f;
    std::sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
      if (m_families[a].tasks != m_families[b].tasks)
        return m_families[a].tasks > m_families[b].tasks;
      return is_before(a, b);
    });
    std::size_t const own = std::min(ranked.size(), hues.size());
    for (std::size_t i = own; i < ranked.size(); ++i) m_families[ranked[i]].hue = other_hue;
    std::sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(own), is_before);
    std::size_t const available = own <= main_hues ? main_hues : hues.size();
    std::array<bool, hues.size()> taken{};
    for (std::size_t i = 0; i != own; ++i) {
      auto hue = static_cast<std::size_t>(stable_hash(m_families[ranked[i]].pattern) % available);
      while (taken[hue]) hue = (hue + 1) % available;
      taken[hue] = true;
      m_families[ranked[i]].hue = hue;
    }
  }

  std::map<std::string, std::size_t, std::less<>> m_index;  // of families, by pattern
  std::vector<Family> m_families;
};

}  // namespace trellis::Impl::TimelineStyle

#endif
