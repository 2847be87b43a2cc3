// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_ENGINERUN_HPP
#define TRELLIS_TEST_ENGINERUN_HPP

#include "RandomProgram.hpp"

#include <chrono>
#include <string>

namespace random_program {

/// Runs the program on a task graph and compares all that can be seen with the oracle: what is in memory,
/// what each task read, who ran when and beside whom, who failed or was cancelled, what wait() and get() say,
/// and the recorded graphs. Returns what is wrong, one line each; nothing when all is well.
[[nodiscard]] std::string run_on_engine(Program const& program);

/// Drops tasks as long as the rest still fails now and then.
[[nodiscard]] Program shrink(Program program, std::chrono::seconds limit);

}  // namespace random_program

#endif
