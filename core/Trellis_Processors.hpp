// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PROCESSORS_HPP
#define TRELLIS_PROCESSORS_HPP

#include <string>

/// With this header you ask on how much of the machine the process may run: what the launcher
/// (`taskset`, Slurm, mpiexec) has left to it. It is what counted when the program started; a
/// runtime that binds the main thread later changes nothing.
namespace trellis::experimental {

/// How many hardware threads the process may use; at least 1. The default number of workers is made
/// of it.
[[nodiscard]] int processors_of_process();

/// Which ones: a letter for each of the machine, from processor 0 on, `x` for one that the process
/// may use and `0` for one that it may not. `0000xxxx0000xxxx` says 4 to 7 and 12 to 15. Where the
/// system does not tell, as many `x` as there are.
[[nodiscard]] std::string map_of_processors();

}  // namespace trellis::experimental

#endif
