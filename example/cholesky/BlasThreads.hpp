// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_BLASTHREADS_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_BLASTHREADS_HPP

#include <string>

/// With this header the program asks the BLAS that it runs with who it is, and how many threads it
/// takes for a call. Which one that is may be decided when the program starts, and there is no
/// standard way to ask, so this knows the functions of those that have some.
namespace cholesky {

/// "OpenBLAS 0.3.21 ...", or "" for one that cannot be asked.
[[nodiscard]] std::string blas_name();

/// From now on a call takes so many threads, if the library has as many. Returns how many it takes,
/// or 0 for a library that cannot be asked.
int use_blas_threads(int threads);

}  // namespace cholesky

#endif
