// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_ENGINERUN_HPP
#define TRELLIS_TEST_ENGINERUN_HPP

#include "RandomProgram.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace random_program {

/// Runs the program on a task graph and compares all that can be seen with the oracle: what is in
/// memory, what each task read, who ran when and beside whom, who failed or was cancelled, what
/// wait() and get() say, and the recorded graphs. Returns what is wrong, one line each; nothing
/// when all is well.
[[nodiscard]] std::string run_on_engine(Program const& program);

/// What has happened so far in this process: what never happens is not tested.
struct Happened {
  std::atomic<std::uint64_t> early_starts{0};  ///< of a task, because another one had demoted
  std::atomic<std::uint64_t> refined{0};
  std::atomic<std::uint64_t> not_refined{0};  ///< it was too late
  std::atomic<std::uint64_t> children{0};
  std::atomic<std::uint64_t> failed_parents{0};  ///< because of a child
  std::atomic<std::uint64_t> chosen_orders{0};   ///< recorded exclusion edges
};
[[nodiscard]] Happened& happened();

/// Drops tasks as long as the rest still fails now and then.
[[nodiscard]] Program shrink(Program program, std::chrono::seconds limit);

}  // namespace random_program

#endif
