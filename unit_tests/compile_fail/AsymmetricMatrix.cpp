// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an access matrix must be symmetric: if a depends on b, b depends on a
#include <Trellis_Access.hpp>
#include <Trellis_States.hpp>

struct Matrix {
  enum class Entry { look, touch, none };
  static constexpr std::size_t size = 3;
#ifdef TRELLIS_COMPILE_OK
  static constexpr bool dependent[3][3] = {
      {false, true, false}, {true, true, false}, {false, false, false}};
#else
  static constexpr bool dependent[3][3] = {
      {false, true, false}, {false, true, false}, {false, false, false}};
#endif
  static constexpr std::string_view to_string(Entry) { return ""; }
};
trellis::MatrixAccess<Matrix> of_matrix;
