// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEXT_HPP
#define TRELLIS_TEXT_HPP

#include <Trellis_Graph.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

/// Functions for text that the writers of pictures and traces share. Labels come from users: they
/// may hold anything, and the files must still be well-formed. Numbers are formatted here and not
/// by the stream, whose locale may group digits or write a decimal comma.
namespace trellis::Impl {

/// Returns the code point that starts at `at`, and moves `at` behind it. Where the text is not
/// UTF-8, it returns U+FFFD and moves by one byte.
inline char32_t next_code_point(std::string_view text, std::size_t& at) {
  constexpr char32_t replacement = 0xFFFD;
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char const first = byte(at);
  std::size_t const begin = at++;
  if (first < 0x80) return first;
  std::size_t const length = first >= 0xF0 && first < 0xF5 ? 4
                             : first >= 0xE0               ? 3
                             : first >= 0xC2               ? 2
                                                           : 0;
  if (length == 0 || first >= 0xF5 || begin + length > text.size()) return replacement;
  char32_t point = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i != length; ++i) {
    if ((byte(begin + i) & 0xC0) != 0x80) return replacement;
    point = (point << 6) | (byte(begin + i) & 0x3Fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool const surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < least[length] || point > 0x10FFFF || surrogate) return replacement;
  at = begin + length;
  return point;
}

/// True for what an XML document or a picture must not hold: control characters, and what was not
/// UTF-8.
inline bool is_unprintable(char32_t point) {
  bool const control =
      (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7F && point < 0xA0);
  return control || (point >= 0xFFFD && point <= 0xFFFF);
}

/// Returns the text with others instead of some characters, and with U+FFFD instead of those that
/// are unprintable.
inline std::string escaped(
    std::string_view text,
    std::initializer_list<std::pair<char32_t, std::string_view>> const& instead_of) {
  std::string out;
  for (std::size_t at = 0; at != text.size();) {
    std::size_t const begin = at;
    char32_t const point = next_code_point(text, at);
    auto const* instead = instead_of.begin();
    while (instead != instead_of.end() && instead->first != point) ++instead;
    if (instead != instead_of.end())
      out += instead->second;
    else
      out += is_unprintable(point) ? "\uFFFD" : text.substr(begin, at - begin);
  }
  return out;
}
inline std::string xml(std::string_view text) {
  return escaped(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

/// Writes text without format, as the stream's width belongs to the caller.
inline void put(std::ostream& out, std::string_view text) {
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}
/// Writes a text that has become long, and empties it.
inline void put_if_long(std::ostream& out, std::string& text) {
  if (text.size() <= 1 << 16) return;
  put(out, text);
  text.clear();
}

/// Returns a text such as "read x [0, 64)".
inline std::string to_text(AccessRecord const& access) {
  std::string text = access.mode + ' ' + access.resource;
  if (access.label_is_shared) text += " #" + std::to_string(access.resource_id);
  if (!access.area.empty()) text += ' ' + access.area;
  return text;
}

/// Returns a text such as "solver.cpp:42", or nothing when the call site is not known.
inline std::string call_site(TaskRecord const& task) {
  return task.file.empty() ? std::string() : task.file + ':' + std::to_string(task.line);
}

/// Formats `value` / 10^`scale` in decimal, exactly and without trailing zeros: (1500, 3) is "1.5".
inline std::string decimal(std::uint64_t value, int scale) {
  std::string digits = std::to_string(value);
  if (scale == 0) return digits;
  auto const places = static_cast<std::size_t>(scale);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

}  // namespace trellis::Impl

#endif
