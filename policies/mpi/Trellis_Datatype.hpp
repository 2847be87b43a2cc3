// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DATATYPE_HPP
#define TRELLIS_DATATYPE_HPP

#include <Kokkos_Core.hpp>

#include <mpi.h>

#include <array>
#include <complex>
#include <cstddef>
#include <type_traits>

/// With this header value types have an MPI datatype.
namespace trellis::mpi {

/// A value consists of `count` numbers of `type`, one after the other. Arithmetic types,
/// enumerations, complex numbers and arrays (`Kokkos::Array`, `std::array`) are known. Every other
/// type that can be copied byte by byte is sent as bytes, and reduced with an operator of your own.
/// Specialise this for a struct of equal numbers, and `sum`, `min`, ... reduce it number by number:
///
///     struct Vector { double x, y, z; };
///     template <>
///     struct trellis::mpi::NumbersOf<Vector> {
///       using type = double;
///       static constexpr int count = 3;
///     };
template <class T>
struct NumbersOf {
  using type = T;
  static constexpr int count = 1;
};
template <class T>
  requires std::is_enum_v<T>
struct NumbersOf<T> {
  using type = std::underlying_type_t<T>;
  static constexpr int count = 1;
};
template <>
struct NumbersOf<std::byte> {
  using type = std::byte;
  static constexpr int count = 1;
};
template <class T, std::size_t N>
struct NumbersOf<Kokkos::Array<T, N>> {
  using type = typename NumbersOf<T>::type;
  static constexpr int count = static_cast<int>(N) * NumbersOf<T>::count;
};
template <class T, std::size_t N>
struct NumbersOf<std::array<T, N>> : NumbersOf<Kokkos::Array<T, N>> {};

}  // namespace trellis::mpi

namespace trellis::Impl {

/// Returns MPI's own datatype for a number; MPI_DATATYPE_NULL if it has none.
template <class T>
MPI_Datatype mpi_number_type() {
  using std::is_same_v;
  if constexpr (is_same_v<T, char>) {
    return MPI_CHAR;
  } else if constexpr (is_same_v<T, std::byte>) {
    return MPI_BYTE;
  } else if constexpr (is_same_v<T, bool>) {
    return MPI_CXX_BOOL;
  } else if constexpr (is_same_v<T, float>) {
    return MPI_FLOAT;
  } else if constexpr (is_same_v<T, double>) {
    return MPI_DOUBLE;
  } else if constexpr (is_same_v<T, long double>) {
    return MPI_LONG_DOUBLE;
  } else if constexpr (is_same_v<T, signed char>) {
    return MPI_SIGNED_CHAR;
  } else if constexpr (is_same_v<T, unsigned char>) {
    return MPI_UNSIGNED_CHAR;
  } else if constexpr (is_same_v<T, short>) {
    return MPI_SHORT;
  } else if constexpr (is_same_v<T, unsigned short>) {
    return MPI_UNSIGNED_SHORT;
  } else if constexpr (is_same_v<T, int>) {
    return MPI_INT;
  } else if constexpr (is_same_v<T, unsigned>) {
    return MPI_UNSIGNED;
  } else if constexpr (is_same_v<T, long>) {
    return MPI_LONG;
  } else if constexpr (is_same_v<T, unsigned long>) {
    return MPI_UNSIGNED_LONG;
  } else if constexpr (is_same_v<T, long long>) {
    return MPI_LONG_LONG;
  } else if constexpr (is_same_v<T, unsigned long long>) {
    return MPI_UNSIGNED_LONG_LONG;
  } else if constexpr (is_same_v<T, Kokkos::complex<float>> || is_same_v<T, std::complex<float>>) {
    return MPI_C_FLOAT_COMPLEX;
  } else if constexpr (is_same_v<T, Kokkos::complex<double>> ||
                       is_same_v<T, std::complex<double>>) {
    return MPI_C_DOUBLE_COMPLEX;
  } else if constexpr (is_same_v<T, std::complex<long double>>) {
    return MPI_C_LONG_DOUBLE_COMPLEX;
  } else {
    return MPI_DATATYPE_NULL;
  }
}

/// True for a complex number of Kokkos or of the standard library.
template <class T>
inline constexpr bool is_mpi_complex_v = false;
template <class T>
inline constexpr bool is_mpi_complex_v<Kokkos::complex<T>> = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_mpi_complex_v<std::complex<T>> = std::is_floating_point_v<T>;
/// True if MPI has a datatype for this number.
template <class T>
inline constexpr bool is_mpi_number_v =
    std::is_arithmetic_v<T> || std::is_same_v<T, std::byte> || is_mpi_complex_v<T>;

/// The elements of a message: each value is `count` elements of the datatype `type`.
struct WireType {
  MPI_Datatype type;
  int count;
};

template <class T>
WireType wire_type() {
  using Numbers = mpi::NumbersOf<T>;
  using Number = typename Numbers::type;
  static_assert(std::is_trivially_copyable_v<T>,
                "Trellis: an MPI task sends values that can be copied byte by byte");
  if constexpr (is_mpi_number_v<Number>) {
    static_assert(sizeof(T) == Numbers::count * sizeof(Number),
                  "Trellis: NumbersOf<T> says how many numbers a value consists of, without gaps");
    return {mpi_number_type<Number>(), Numbers::count};
  } else {
    return {MPI_BYTE, static_cast<int>(sizeof(T))};
  }
}

}  // namespace trellis::Impl

#endif
