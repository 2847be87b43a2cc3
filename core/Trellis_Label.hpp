// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LABEL_HPP
#define TRELLIS_LABEL_HPP

#include <concepts>
#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace trellis {

/// The name of a task and the place in the source that submitted it. Converts implicitly from a
/// string literal, whose address is kept, and from a `std::string` or a `char const*`, which is
/// copied; the call site is added.
class Label {
 public:
  template <std::size_t N>
  consteval Label(char const (&literal)[N],
                  std::source_location site = std::source_location::current())
      : m_literal(literal), m_size(N - 1), m_site(site) {}

  Label(std::string text, std::source_location site = std::source_location::current())
      : m_text(new std::string(std::move(text))), m_site(site) {}

  template <std::same_as<char const*> Pointer>
  Label(Pointer text, std::source_location site = std::source_location::current())
      : Label(std::string(text), site) {}

  constexpr Label() = default;
  Label(Label const& other)
      : Label(other, other.m_text == nullptr ? nullptr : new std::string(*other.m_text)) {}
  Label(Label&& other) noexcept : Label(other, std::exchange(other.m_text, nullptr)) {}
  Label& operator=(Label const& other) { return *this = Label(other); }
  Label& operator=(Label&& other) noexcept {
    m_literal = other.m_literal;
    m_size = other.m_size;
    std::swap(m_text, other.m_text);  // the other one's end frees it
    m_site = other.m_site;
    return *this;
  }
  constexpr ~Label() { delete m_text; }

  /// That of a task without a name: the file and the line of its call site, e.g. "heat.cpp:42". The
  /// text is made once for each place and kept, so the next task from there finds it.
  static Label of(std::source_location const& site);

  /// Text that lives as long as the program does, for tasks from this place.
  static Label lasting(std::string_view text, std::source_location const& site) {
    Label label;
    label.m_literal = text.data();
    label.m_size = text.size();
    label.m_site = site;
    return label;
  }

  [[nodiscard]] std::string_view view() const noexcept {
    return m_text != nullptr ? std::string_view(*m_text) : std::string_view(m_literal, m_size);
  }
  [[nodiscard]] std::string string() const { return std::string(view()); }
  [[nodiscard]] std::source_location const& site() const noexcept { return m_site; }
  /// `file:line` of the call site.
  [[nodiscard]] std::string place() const {
    return std::string(m_site.file_name()) + ':' + std::to_string(m_site.line());
  }

 private:
  Label(Label const& other, std::string* text) noexcept
      : m_literal(other.m_literal), m_size(other.m_size), m_text(text), m_site(other.m_site) {}

  // A bare pointer, because a constant expression cannot hold a std::string. This makes a literal
  // free.
  char const* m_literal = "";
  std::size_t m_size = 0;
  std::string* m_text = nullptr;
  std::source_location m_site;
};

}  // namespace trellis

#endif
