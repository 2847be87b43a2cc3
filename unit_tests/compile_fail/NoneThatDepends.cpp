// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the entry 'none' must be independent of every entry
#include <Trellis_Access.hpp>
#include <Trellis_States.hpp>

struct Matrix {
  enum class Entry { look, none };
  static constexpr std::size_t size = 2;
#ifdef TRELLIS_COMPILE_OK
  static constexpr bool dependent[2][2] = {{true, false}, {false, false}};
#else
  static constexpr bool dependent[2][2] = {{false, true}, {true, false}};
#endif
  static constexpr std::string_view to_string(Entry) { return ""; }
};
trellis::MatrixAccess<Matrix> of_matrix;
