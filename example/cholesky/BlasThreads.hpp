// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_BLASTHREADS_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_BLASTHREADS_HPP

#include <string>

/// This header asks the BLAS of the program for its name, and for the number of threads that it
/// uses for a call. The BLAS may be chosen when the program starts, and there is no standard way to
/// ask. So this code knows the functions of several libraries.
namespace cholesky {

/// Returns "OpenBLAS 0.3.21 ...", or "" for a library that cannot be asked.
[[nodiscard]] std::string blas_name();

/// Sets the number of threads of a call, if the library has as many. Returns how many a call uses,
/// or 0 for a library that cannot be asked.
int use_blas_threads(int threads);

}  // namespace cholesky

#endif
