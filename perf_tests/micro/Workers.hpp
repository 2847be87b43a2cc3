// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_WORKERS_HPP
#define TRELLIS_MICRO_WORKERS_HPP

#include <cstdint>
#include <thread>

namespace micro {

inline std::int64_t hardware_threads() {
  auto const threads = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return threads > 0 ? threads : 1;
}

/// Adds rows with more workers than 1 and 2: powers of two up to the hardware threads, and twice
/// the hardware threads. `before` are the arguments in front of the workers.
template <std::int64_t... before, class Rows>
void with_more_workers(Rows* rows) {
  std::int64_t const threads = hardware_threads();
  for (std::int64_t workers = 4; workers <= threads; workers *= 2) rows->Args({before..., workers});
  if (threads > 1) rows->Args({before..., 2 * threads});
}

}  // namespace micro

#endif
