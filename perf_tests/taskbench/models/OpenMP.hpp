// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_OPENMP_HPP
#define TRELLIS_TASKBENCH_OPENMP_HPP

#include "../Work.hpp"

#include <string>

namespace taskbench {

/// One OpenMP task with `depend` clauses for each task.
void run_openmp_tasks(Work& work, int workers);

/// The OpenMP runtime that this process really calls.
std::string openmp_runtime();

/// Answers the requests of an `openmp_llvm` model in another process, on the standard streams.
int serve_openmp(int workers);

}  // namespace taskbench

#endif
