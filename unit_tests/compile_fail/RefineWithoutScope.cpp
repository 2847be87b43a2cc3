// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: refine(task, split) calls split with a TaskScope&: refine(task, [](TaskScope& self)
#include <Trellis.hpp>

void submit(trellis::Future<void> const& task) {
#ifdef TRELLIS_COMPILE_OK
  auto const split = [](trellis::TaskScope&) {};
  trellis::refine(task, split);
#else
  trellis::refine(task, [] {});
#endif
}
