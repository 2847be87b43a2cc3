// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_OPERATOR_HPP
#define TRELLIS_OPERATOR_HPP

#include <mpi/Trellis_Datatype.hpp>

#include <Kokkos_Core.hpp>

#include <mpi.h>

#include <algorithm>
#include <type_traits>

/// This header has the operators of `reduce`, `allreduce` and `scan`, which join values of several
/// ranks.
namespace trellis::Impl {

struct Sum {
  template <class T>
    requires requires(T const& a, T const& b) { a + b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <class T>
    requires requires(T const& a, T const& b) { a* b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a * b);
  }
};
struct Min {
  template <class T>
    requires requires(T const& a, T const& b) { b < a; }
  T operator()(T const& a, T const& b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
    requires requires(T const& a, T const& b) { a < b; }
  T operator()(T const& a, T const& b) const {
    return a < b ? b : a;
  }
};
struct LAnd {
  template <class T>
    requires requires(T const& a, T const& b) { a&& b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a && b);
  }
};
struct LOr {
  template <class T>
    requires requires(T const& a, T const& b) { a || b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a || b);
  }
};
struct LXor {
  template <class T>
    requires requires(T const& a, T const& b) { !a != !b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(!a != !b);
  }
};
struct BAnd {
  template <class T>
    requires requires(T const& a, T const& b) { a & b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a & b);
  }
};
struct BOr {
  template <class T>
    requires requires(T const& a, T const& b) { a | b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a | b);
  }
};
struct BXor {
  template <class T>
    requires requires(T const& a, T const& b) { a ^ b; }
  T operator()(T const& a, T const& b) const {
    return static_cast<T>(a ^ b);
  }
};
struct MinLoc {
  template <class T>
    requires requires(T const& a) { a.val < a.val, a.loc < a.loc; }
  T operator()(T const& a, T const& b) const {
    if (a.val == b.val) return b.loc < a.loc ? b : a;
    return b.val < a.val ? b : a;
  }
};
struct MaxLoc {
  template <class T>
    requires requires(T const& a) { a.val < a.val, a.loc < a.loc; }
  T operator()(T const& a, T const& b) const {
    if (a.val == b.val) return b.loc < a.loc ? b : a;
    return a.val < b.val ? b : a;
  }
};

}  // namespace trellis::Impl

namespace trellis::mpi {

/// Returns the sum of two values.
inline constexpr Impl::Sum sum{};
/// Returns the product of two values.
inline constexpr Impl::Prod prod{};
/// Returns the smaller of two values.
inline constexpr Impl::Min min{};
/// Returns the larger of two values.
inline constexpr Impl::Max max{};
/// True if both are true.
inline constexpr Impl::LAnd land{};
/// True if one of them is true.
inline constexpr Impl::LOr lor{};
/// True if exactly one of them is true.
inline constexpr Impl::LXor lxor{};
/// Returns the bits that both have.
inline constexpr Impl::BAnd band{};
/// Returns the bits that one of them has.
inline constexpr Impl::BOr bor{};
/// Returns the bits in which two values differ.
inline constexpr Impl::BXor bxor{};
/// Returns the smallest of values with a location, as in Kokkos::MinLoc; among equal ones that with
/// the smallest location.
inline constexpr Impl::MinLoc min_loc{};
/// Returns the largest of values with a location, as in Kokkos::MaxLoc; among equal ones that with
/// the smallest location.
inline constexpr Impl::MaxLoc max_loc{};

}  // namespace trellis::mpi

namespace trellis::Impl {

/// Returns MPI's own operator for this number; MPI_OP_NULL if it has none.
template <class Op, class Number>
MPI_Op own_operator_of_mpi() {
  using std::is_same_v;
  constexpr bool is_real =
      std::is_arithmetic_v<Number> && !is_same_v<Number, bool> && !is_same_v<Number, char>;
  constexpr bool is_integer = std::is_integral_v<Number> && is_real;
  constexpr bool is_logical = is_same_v<Number, bool> || is_integer;
  if constexpr (is_same_v<Op, Sum> && (is_real || is_mpi_complex_v<Number>))
    return MPI_SUM;
  else if constexpr (is_same_v<Op, Prod> && (is_real || is_mpi_complex_v<Number>))
    return MPI_PROD;
  else if constexpr (is_same_v<Op, Min> && is_real)
    return MPI_MIN;
  else if constexpr (is_same_v<Op, Max> && is_real)
    return MPI_MAX;
  else if constexpr (is_same_v<Op, LAnd> && is_logical)
    return MPI_LAND;
  else if constexpr (is_same_v<Op, LOr> && is_logical)
    return MPI_LOR;
  else if constexpr (is_same_v<Op, LXor> && is_logical)
    return MPI_LXOR;
  else if constexpr (is_same_v<Op, BAnd> && (is_integer || is_same_v<Number, std::byte>))
    return MPI_BAND;
  else if constexpr (is_same_v<Op, BOr> && (is_integer || is_same_v<Number, std::byte>))
    return MPI_BOR;
  else if constexpr (is_same_v<Op, BXor> && (is_integer || is_same_v<Number, std::byte>))
    return MPI_BXOR;
  else
    return MPI_OP_NULL;
}

/// MPI calls this for an operator that it does not have, with `*count` values of type T.
template <class Op, class T>
void apply_operator(void* in, void* in_out, int* count, MPI_Datatype*) {
  T const* const a = static_cast<T const*>(in);
  T* const b = static_cast<T*>(in_out);
  for (int k = 0; k < *count; ++k) b[k] = Op()(a[k], b[k]);
}

/// An operator, and the datatype that it takes. A value has `count` elements of this.
struct WireReduction {
  MPI_Datatype type;
  int count;
  MPI_Op op;
};

/// Returns a datatype of `size` bytes. It is made once for each size, and kept until MPI is
/// finalised.
MPI_Datatype datatype_of_bytes(int size);
MPI_Op make_operator(MPI_User_function* function, bool is_commutative);

template <class Op>
constexpr bool is_commutative() {
  if constexpr (requires { Op::is_commutative; })
    return Op::is_commutative;
  else
    return true;
}

/// Reduces number by number if the operator has a meaning for these, with MPI's own operator if
/// there is one. Otherwise values are bytes to MPI, and Op joins them.
template <class Op, class T>
WireReduction wire_reduction() {
  using Numbers = mpi::NumbersOf<T>;
  using Number = typename Numbers::type;
  static_assert(std::is_trivially_copyable_v<T>,
                "Trellis: an MPI task sends values that can be copied byte by byte");
  static_assert(std::is_empty_v<Op> && std::is_default_constructible_v<Op>,
                "Trellis: the operator of an MPI reduction is a class without members, as MPI "
                "keeps no state for it");
  constexpr bool has_meaning = std::is_invocable_r_v<T, Op, T const&, T const&>;
  if constexpr (!std::is_same_v<Number, T> &&
                std::is_invocable_r_v<Number, Op, Number const&, Number const&>) {
    WireReduction one = wire_reduction<Op, Number>();
    one.count *= Numbers::count;
    return one;
  } else {
    static_assert(has_meaning,
                  "Trellis: the operator of an MPI reduction is called as T op(T const&, T const&) "
                  "for the values of the View");
    if constexpr (has_meaning) {
      if (MPI_Op const own = own_operator_of_mpi<Op, T>(); own != MPI_OP_NULL)
        return {mpi_number_type<T>(), 1, own};
      static MPI_Op const made = make_operator(&apply_operator<Op, T>, is_commutative<Op>());
      return {datatype_of_bytes(static_cast<int>(sizeof(T))), 1, made};
    } else {
      return {};
    }
  }
}

}  // namespace trellis::Impl

#endif
