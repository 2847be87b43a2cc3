// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: then("label", self, f) takes the TaskScope of the running task
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using Scope = trellis::TaskScope;
#else
using Scope = int;
#endif

void f(trellis::Future<double> const& future, Scope& self) {
  future.then("later", self, [](double) {});
}
