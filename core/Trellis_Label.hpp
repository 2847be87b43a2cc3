// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LABEL_HPP
#define TRELLIS_LABEL_HPP

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace trellis {

namespace Impl {

/// The read-only memory of the program, where its string literals are. Nothing changes it, and it
/// exists as long as the program. Its size is 0 where the system does not report it, and before
/// static objects are initialised.
struct LiteralMemory {
  std::uintptr_t begin;
  std::size_t size;
  [[nodiscard]] bool has(char const* text) const noexcept {
    return reinterpret_cast<std::uintptr_t>(text) - begin < size;
  }
};
extern LiteralMemory const literal_memory;

/// A type that `std::string` can be made of, except arrays and strings themselves.
template <class T>
concept StringLike =
    !std::is_array_v<std::remove_reference_t<T>> &&
    !std::is_same_v<std::remove_cvref_t<T>, std::string> && std::is_convertible_v<T, std::string>;

}  // namespace Impl

/// The name of a task and the place in the source that submitted it. It converts implicitly from
/// everything that Kokkos takes for a label, and adds the call site. A string literal of the
/// program is kept by its address, which costs nothing. Any other text (a buffer, a `std::string`,
/// a `char const*`) is copied.
///
/// A function that submits tasks on behalf of its caller takes the caller's place by a default
/// argument. It may take a label that the caller can replace,
///
///     void axpy(trellis::TaskGraph& graph, ..., trellis::Label label = "axpy");
///
/// or the place alone, for several tasks: `Label("axpy", at)` with a name and `Label(at)` without.
///
///     void step(trellis::TaskGraph& graph, ...,
///               std::source_location const& at = std::source_location::current());
class Label {
 public:
  template <std::size_t N>
  Label(char const (&text)[N], std::source_location site = std::source_location::current())
      : m_site(site) {
    char const* const end = std::char_traits<char>::find(text, N, char());
    std::size_t const size = end != nullptr ? static_cast<std::size_t>(end - text) : N;
    if (Impl::literal_memory.has(text)) {
      m_literal = text;
      m_size = size;
    } else {
      m_text = copy_of({text, size});
    }
  }

  Label(std::string text, std::source_location site = std::source_location::current())
      : m_text(new std::string(std::move(text))), m_site(site) {}

  template <Impl::StringLike Text>
  Label(Text&& text, std::source_location site = std::source_location::current())
      : m_text(new std::string(std::forward<Text>(text))), m_site(site) {}

  /// A label without a name, as `of(site)`.
  Label(std::source_location const& site) : Label(of(site)) {}

  Label() = default;
  Label(Label const& other)
      : Label(other, other.m_text == nullptr ? nullptr : new std::string(*other.m_text)) {}
  Label(Label&& other) noexcept : Label(other, std::exchange(other.m_text, nullptr)) {}
  Label& operator=(Label const& other) { return *this = Label(other); }
  Label& operator=(Label&& other) noexcept {
    m_literal = other.m_literal;
    m_size = other.m_size;
    std::swap(m_text, other.m_text);  // the destructor of the other one frees it
    m_site = other.m_site;
    return *this;
  }
  ~Label() { delete m_text; }

  /// The label of a task without a name: the file and the line of its call site, e.g.
  /// "heat.cpp:42". The text is made once for each place and kept for later tasks from there.
  static Label of(std::source_location const& site);

  /// A label whose text lives as long as the program does, for tasks from this place.
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
  /// Text for messages: the label in quotes and the place behind it, `"step" (src/heat.cpp:42)`.
  /// For a task that is named by its place it adds only the folder: `"heat.cpp:42" (in src)`.
  /// `number` comes before the place: `"step" (#3, src/heat.cpp:42)`.
  [[nodiscard]] std::string text(std::string const& number = {}) const;

 private:
  /// Not inline, as most calls copy nothing.
  static std::string* copy_of(std::string_view text);
  Label(Label const& other, std::string* text) noexcept
      : m_literal(other.m_literal), m_size(other.m_size), m_text(text), m_site(other.m_site) {}

  // A bare pointer, so that moving and destroying a label with a literal costs next to nothing.
  char const* m_literal = "";
  std::size_t m_size = 0;
  std::string* m_text = nullptr;
  std::source_location m_site;
};

}  // namespace trellis

#endif
