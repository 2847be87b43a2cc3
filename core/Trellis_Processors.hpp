// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PROCESSORS_HPP
#define TRELLIS_PROCESSORS_HPP

#include <string>

/// With this header you ask on how much of the machine the process may run: what the launcher
/// (`taskset`, Slurm, mpiexec) has left to it. The answer is that of the program's start; a runtime
/// that binds the main thread later changes nothing.
namespace trellis::experimental {

/// Returns how many hardware threads the process may use; at least 1. The default number of workers
/// is derived from it.
[[nodiscard]] int processors_of_process();

/// Returns which ones: a letter for each processor of the machine, from processor 0 on. `x` is one
/// that the process may use, `0` one that it may not. `0000xxxx0000xxxx` means 4 to 7 and 12 to 15.
/// Where the system does not report it, all letters are `x`.
[[nodiscard]] std::string map_of_processors();

}  // namespace trellis::experimental

#endif
