// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKNUMBER_HPP
#define TRELLIS_TASKNUMBER_HPP

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

/// With this header you name tasks by numbers that are known before the tasks exist. See
/// Trellis_Numbers.hpp for how to get some.
namespace trellis {

namespace Impl {
class NumberTable;
struct NumberInternals;
}  // namespace Impl

/// A number that a task has, or will have. `number(k)` gives it to a task; `after(k)` and
/// `graph.wait(k)` name that task from then on. It is a plain value, valid for ever. It knows the
/// TaskNumbers that it comes from, and is compared, ordered and hashed together with that.
///
/// The first of the numbers that were reserved together is known; `first + 1` is the next. Numbers
/// in a row are a range: `std::views::iota(first, first + n)`.
///
/// A default TaskNumber stands for no task: `after` it is no dependency, a wait for it does not
/// wait, and `number` gives a task no number.
class TaskNumber {
 public:
  using difference_type = std::ptrdiff_t;

  constexpr TaskNumber() = default;

  /// False when default constructed.
  [[nodiscard]] constexpr bool valid() const { return m_source != 0; }
  /// From 1, counted for each TaskNumbers; 0 stands for no task.
  [[nodiscard]] constexpr std::uint64_t value() const { return m_value; }

  constexpr TaskNumber& operator++() { return *this += 1; }
  constexpr TaskNumber operator++(int) {
    TaskNumber const before = *this;
    ++*this;
    return before;
  }
  constexpr TaskNumber& operator+=(std::uint64_t by) {
    if (valid()) m_value += by;
    return *this;
  }
  friend constexpr TaskNumber operator+(TaskNumber number, std::uint64_t by) {
    return number += by;
  }
  /// How far the first is behind the second. Requires that both are of the same TaskNumbers.
  friend constexpr difference_type operator-(TaskNumber const& a, TaskNumber const& b) {
    return static_cast<difference_type>(a.m_value - b.m_value);
  }
  friend constexpr bool operator==(TaskNumber const& a, TaskNumber const& b) {
    return a.m_source == b.m_source && a.m_value == b.m_value;
  }
  friend constexpr std::strong_ordering operator<=>(TaskNumber const& a, TaskNumber const& b) {
    auto const by_source = a.m_source <=> b.m_source;
    return by_source != 0 ? by_source : a.m_value <=> b.m_value;
  }
  /// Its value, or "none".
  friend std::string to_string(TaskNumber const& number);
  friend std::ostream& operator<<(std::ostream& out, TaskNumber const& number);

 private:
  friend struct Impl::NumberInternals;
  constexpr TaskNumber(Impl::NumberTable* table, std::uint64_t source, std::uint64_t value)
      : m_table(table), m_source(source), m_value(value) {}

  Impl::NumberTable* m_table = nullptr;
  std::uint64_t m_source = 0;  ///< which TaskNumbers of the program; 0: none
  std::uint64_t m_value = 0;
};

/// What is known of the tasks that a wait names. It is a hint: it may make the wait shorter, but
/// changes neither what it waits for nor its outcome.
enum class Awaited {
  any,      ///< nothing
  fused,    ///< all run as parts of batches
  unfused,  ///< none does
};

namespace Impl {

struct NumberInternals {
  static constexpr TaskNumber make(NumberTable* table, std::uint64_t source, std::uint64_t value) {
    return {table, source, value};
  }
  static NumberTable* table(TaskNumber const& number) { return number.m_table; }
  static std::uint64_t source(TaskNumber const& number) { return number.m_source; }
};

/// A std::set, std::vector, std::span, view, array, ... of TaskNumbers.
template <class R>
concept NumberRange = requires(R&& range) {
  std::end(range);
  requires std::is_same_v<std::remove_cvref_t<decltype(*std::begin(range))>, TaskNumber>;
};
template <NumberRange R>
std::vector<TaskNumber> numbers_in(R&& range) {
  // Its type depends on R, so programs that do not call this need not compile it.
  std::vector<std::remove_cvref_t<decltype(*std::begin(range))>> numbers;
  for (auto const& number : range) numbers.push_back(number);
  return numbers;
}

}  // namespace Impl

/// The tasks as text: `{1,2,3,4}`, or `{<empty>}`.
template <Impl::NumberRange R>
[[nodiscard]] std::string to_string(R&& numbers) {
  std::string text;
  for (TaskNumber const& number : numbers) text += (text.empty() ? "{" : ",") + to_string(number);
  return text.empty() ? "{<empty>}" : text + '}';
}

}  // namespace trellis

template <>
struct std::hash<trellis::TaskNumber> {
  [[nodiscard]] std::size_t operator()(trellis::TaskNumber const& number) const noexcept {
    std::uint64_t const source = trellis::Impl::NumberInternals::source(number);
    return static_cast<std::size_t>((number.value() + (source << 48)) * 0x9E3779B97F4A7C15u);
  }
};

#endif
