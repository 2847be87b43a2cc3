// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PROGRESS_HPP
#define TRELLIS_EXAMPLE_PROGRESS_HPP

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

/// This header shows the progress of a program, on a terminal only.
namespace example {

class Progress {
 public:
  /// `is_wanted`: one of many processes that share a terminal shows the progress.
  explicit Progress(int phases, bool is_wanted = true)
      : m_phases(phases), m_shown(is_wanted && isatty(STDERR_FILENO) == 1) {}
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;
  ~Progress() { clear(); }

  /// Names what the program does from now on.
  void next(char const* phase) {
    m_phase = phase;
    draw(m_done++);
  }
  /// Shows how much of that is done, from 0 to 1.
  void within(double part) { draw(m_done - 1 + std::clamp(part, 0.0, 1.0)); }
  void clear() const {
    if (m_shown) std::fprintf(stderr, "\r\033[K");
  }

 private:
  void draw(double done) {
    constexpr int width = 40;
    int const filled = static_cast<int>(width * done / m_phases);
    if (!m_shown || (filled == m_filled && m_phase == m_drawn)) return;
    m_filled = filled;
    m_drawn = m_phase;
    std::string const bar = std::string(static_cast<std::size_t>(filled), '=') +
                            std::string(static_cast<std::size_t>(width - filled), ' ');
    std::fprintf(stderr, "\r\033[K[%s] %s", bar.c_str(), m_phase);
    std::fflush(stderr);
  }

  int m_phases;
  char const* m_phase = "";
  char const* m_drawn = nullptr;
  int m_filled = -1;
  int m_done = 0;
  bool m_shown;
};

}  // namespace example

#endif
