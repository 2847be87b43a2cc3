// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_LINES_HPP
#define TRELLIS_TEST_LINES_HPP

#include <string>
#include <vector>

namespace trellis::model {

/// A line of a source file.
struct Line {
  std::string file;  ///< empty: it is not known
  int number = 0;
  std::string code;  ///< the statement that begins on it

  /// `Trellis_SpinLock.hpp:68  m_locked.store(false, std::memory_order_release);`
  [[nodiscard]] std::string text() const;
};

/// The lines that calls return to, as the debug information of this program has them. Of code that
/// is inlined it is the innermost line that is not of the standard library.
[[nodiscard]] std::vector<Line> look_up(std::vector<void const*> const& places);

}  // namespace trellis::model

#endif
