// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PROGRESS_HPP
#define TRELLIS_EXAMPLE_PROGRESS_HPP

#include <unistd.h>

#include <cstdio>
#include <string>

/// With this header a program shows how far it is, on a terminal only.
namespace example {

class Progress {
 public:
  /// `is_wanted`: of many processes that share a terminal one shows it.
  explicit Progress(int phases, bool is_wanted = true)
      : m_phases(phases), m_shown(is_wanted && isatty(STDERR_FILENO) == 1) {}
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;
  ~Progress() { clear(); }

  /// What the program does from now on.
  void next(char const* phase) {
    if (!m_shown) return;
    constexpr int width = 40;
    int const filled = width * m_done++ / m_phases;
    std::string const bar = std::string(static_cast<std::size_t>(filled), '=') +
                            std::string(static_cast<std::size_t>(width - filled), ' ');
    std::fprintf(stderr, "\r\033[K[%s] %s", bar.c_str(), phase);
    std::fflush(stderr);
  }
  void clear() const {
    if (m_shown) std::fprintf(stderr, "\r\033[K");
  }

 private:
  int m_phases;
  int m_done = 0;
  bool m_shown;
};

}  // namespace example

#endif
