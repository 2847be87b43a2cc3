// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ACCESS_HPP
#define TRELLIS_ACCESS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header you describe how a task touches a resource, as states that know when two of
/// them must run one after the other. The View annotations (`read`, `write`, ...) are built on
/// these same types; a state of your own goes into `access(resource, state)`.
///
/// Source: resource register for plasma codes, sections 4.2 and 7.1 (access matrices, areas,
/// demotion).
namespace trellis {

/// An access state. `a.is_dependent_of(b)`, the same as `b.is_dependent_of(a)`, is true when tasks
/// with these states must not run at the same time and must keep their order. `a.is_superset_of(b)`
/// is true when a task that holds `a` may go on with `b` without a new dependency: whatever depends
/// on `b` depends on `a`. Neither may throw.
///
/// Optional: `a.excludes(b)` is true when tasks with these states must not run at the same time,
/// but may run in any order. It is called only when they are not dependent. `to_string(a)`, found
/// by argument-dependent lookup, is used in graphs and messages.
template <class A>
concept AccessState = std::copyable<A> && requires(A const& a, A const& b) {
  { a.is_dependent_of(b) } -> std::convertible_to<bool>;
  { a.is_superset_of(b) } -> std::convertible_to<bool>;
};

/// An access state with `excludes`.
template <class A>
concept ExcludingState = AccessState<A> && requires(A const& a, A const& b) {
  { a.excludes(b) } -> std::convertible_to<bool>;
};

/// A truth table over named states. `Entry` is an enumeration that counts from 0 and has an entry
/// `none`; `size` is the number of entries. It also has `dependent[row][column]` and
/// `to_string(Entry)`. The optional `exclusive[row][column]` is true for states that must not run
/// at the same time but may run in any order.
template <class M>
concept AccessMatrix = requires(typename M::Entry entry) {
  { M::size } -> std::convertible_to<std::size_t>;
  { M::dependent[0][0] } -> std::convertible_to<bool>;
  { M::to_string(entry) } -> std::convertible_to<std::string_view>;
  { M::Entry::none };
};

namespace Impl {
template <class M>
concept HasExclusive = requires {
  { M::exclusive[0][0] } -> std::convertible_to<bool>;
};
/// True for states that are exclusive but not dependent.
template <class M>
constexpr bool excludes(std::size_t row, std::size_t column) {
  if constexpr (HasExclusive<M>)
    return !M::dependent[row][column] && M::exclusive[row][column];
  else
    return false;
}
template <AccessMatrix M>
consteval bool is_symmetric() {
  for (std::size_t row = 0; row < M::size; ++row)
    for (std::size_t column = 0; column < M::size; ++column)
      if (M::dependent[row][column] != M::dependent[column][row] ||
          excludes<M>(row, column) != excludes<M>(column, row))
        return false;
  return true;
}
template <AccessMatrix M>
consteval bool is_none_free() {
  constexpr auto none = static_cast<std::size_t>(M::Entry::none);
  for (std::size_t column = 0; column < M::size; ++column)
    if (M::dependent[none][column] || excludes<M>(none, column)) return false;
  return true;
}
}  // namespace Impl

/// An access state that is one entry of a matrix.
template <AccessMatrix Matrix>
class MatrixAccess {
  static_assert(Impl::is_symmetric<Matrix>(),
                "Trellis: an access matrix must be symmetric: if a depends on b, b depends on a");
  static_assert(Impl::is_none_free<Matrix>(),
                "Trellis: the entry 'none' must be independent of every entry");

 public:
  using Entry = typename Matrix::Entry;

  constexpr MatrixAccess(Entry entry = Entry::none) : m_entry(entry) {}

  [[nodiscard]] constexpr Entry entry() const { return m_entry; }
  [[nodiscard]] constexpr bool is_dependent_of(MatrixAccess other) const {
    return Matrix::dependent[index(m_entry)][index(other.m_entry)];
  }
  [[nodiscard]] constexpr bool excludes(MatrixAccess other) const {
    return Impl::excludes<Matrix>(index(m_entry), index(other.m_entry));
  }
  /// True when everything that depends on `other` depends on this one too, and nothing that `other`
  /// excludes could run at the same time as this one.
  [[nodiscard]] constexpr bool is_superset_of(MatrixAccess other) const {
    for (std::size_t column = 0; column < Matrix::size; ++column) {
      bool const depends = Matrix::dependent[index(m_entry)][column];
      if (!depends && Matrix::dependent[index(other.m_entry)][column]) return false;
      if (!depends && !Impl::excludes<Matrix>(index(m_entry), column) &&
          Impl::excludes<Matrix>(index(other.m_entry), column))
        return false;
    }
    return true;
  }
  friend std::string to_string(MatrixAccess state) {
    return std::string(Matrix::to_string(state.m_entry));
  }
  friend constexpr bool operator==(MatrixAccess, MatrixAccess) = default;

 private:
  static constexpr std::size_t index(Entry entry) { return static_cast<std::size_t>(entry); }
  Entry m_entry;
};

/// The matrix behind the View annotations. `exclusive` tasks never run at the same time, but the
/// scheduler chooses their order, so they do not depend on each other.
struct IOMatrix {
  enum class Entry : std::uint8_t {
    read,
    write,
    read_write,
    atomic_add,
    atomic_mul,
    exclusive,
    none
  };
  static constexpr std::size_t size = 7;
  static constexpr bool dependent[size][size] = {
      // read   write  rw     aadd   amul   excl   none
      {false, true, true, true, true, true, false},       // read
      {true, true, true, true, true, true, false},        // write
      {true, true, true, true, true, true, false},        // read_write
      {true, true, true, false, true, true, false},       // atomic_add
      {true, true, true, true, false, true, false},       // atomic_mul
      {true, true, true, true, true, false, false},       // exclusive
      {false, false, false, false, false, false, false},  // none
  };
  static constexpr bool exclusive[size][size] = {
      {}, {}, {}, {}, {}, {false, false, false, false, false, true, false}, {},
  };
  static constexpr std::string_view to_string(Entry entry) {
    constexpr std::array<std::string_view, size> names = {
        "read", "write", "read_write", "atomic_add", "atomic_mul", "exclusive", "none"};
    return names[static_cast<std::size_t>(entry)];
  }
};

/// How a task touches a resource.
using Mode = IOMatrix::Entry;
[[nodiscard]] constexpr std::string_view to_string(Mode mode) {
  return IOMatrix::to_string(mode);
}

/// A box of closed intervals in user coordinates, for resources that are not Views.
template <class T, std::size_t N>
class AreaAccess {
 public:
  /// `{first, last}` along each direction, both inclusive.
  using Intervals = std::array<std::pair<T, T>, N>;

  constexpr AreaAccess(Intervals const& intervals) : m_intervals(intervals) {}

  [[nodiscard]] constexpr Intervals const& intervals() const { return m_intervals; }
  [[nodiscard]] constexpr bool is_dependent_of(AreaAccess const& other) const {
    for (std::size_t k = 0; k < N; ++k)
      if (m_intervals[k].second < other.m_intervals[k].first ||
          other.m_intervals[k].second < m_intervals[k].first)
        return false;
    return true;
  }
  [[nodiscard]] constexpr bool is_superset_of(AreaAccess const& other) const {
    for (std::size_t k = 0; k < N; ++k)
      if (other.m_intervals[k].first < m_intervals[k].first ||
          m_intervals[k].second < other.m_intervals[k].second)
        return false;
    return true;
  }
  friend constexpr bool operator==(AreaAccess const&, AreaAccess const&) = default;
  /// "[0, 2] x [1, 2]", for coordinates that std::to_string knows.
  friend std::string to_string(AreaAccess const& area)
    requires std::is_arithmetic_v<T>
  {
    std::string text;
    for (auto const& [first, last] : area.m_intervals)
      text +=
          (text.empty() ? "[" : " x [") + std::to_string(first) + ", " + std::to_string(last) + ']';
    return text;
  }

 private:
  Intervals m_intervals;
};

namespace Impl {
template <AccessState A>
constexpr bool excludes_state(A const& a, A const& b) {
  if constexpr (ExcludingState<A>)
    return a.excludes(b);
  else
    return false;
}
template <class A>
std::string text_of_state(A const& state) {
  if constexpr (requires { std::string(to_string(state)); })
    return std::string(to_string(state));
  else
    return "user-defined";
}
}  // namespace Impl

/// Several states of one resource at once, e.g. how (a `MatrixAccess`) and where (an `AreaAccess`).
/// Two of these are dependent when all their parts are; one is a superset when all its parts are.
/// They exclude each other when they are not dependent and each part is dependent or exclusive.
template <AccessState... Parts>
class CombinedAccess {
 public:
  constexpr CombinedAccess(Parts... parts) : m_parts(std::move(parts)...) {}

  template <std::size_t K>
  [[nodiscard]] constexpr auto const& part() const {
    return std::get<K>(m_parts);
  }
  [[nodiscard]] constexpr bool is_dependent_of(CombinedAccess const& other) const {
    return all([](auto const& a, auto const& b) { return a.is_dependent_of(b); }, other,
               std::index_sequence_for<Parts...>{});
  }
  [[nodiscard]] constexpr bool is_superset_of(CombinedAccess const& other) const {
    return all([](auto const& a, auto const& b) { return a.is_superset_of(b); }, other,
               std::index_sequence_for<Parts...>{});
  }
  [[nodiscard]] constexpr bool excludes(CombinedAccess const& other) const {
    return !is_dependent_of(other) &&
           all([](auto const& a,
                  auto const& b) { return a.is_dependent_of(b) || Impl::excludes_state(a, b); },
               other, std::index_sequence_for<Parts...>{});
  }
  friend std::string to_string(CombinedAccess const& state) {
    return std::apply(
        [](auto const&... part) {
          std::string text;
          ((text += (text.empty() ? "" : " ") + Impl::text_of_state(part)), ...);
          return text;
        },
        state.m_parts);
  }

 private:
  template <class F, std::size_t... K>
  constexpr bool all([[maybe_unused]] F f, CombinedAccess const& other,
                     std::index_sequence<K...>) const {
    return (f(std::get<K>(m_parts), std::get<K>(other.m_parts)) && ...);
  }
  std::tuple<Parts...> m_parts;
};

}  // namespace trellis

#endif
