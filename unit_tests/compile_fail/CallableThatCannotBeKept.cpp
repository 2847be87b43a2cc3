// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the task keeps its callable, and this one can be neither moved nor copied
// LINES: 12
#include <Trellis.hpp>

#include <memory>
#include <utility>

void submit(trellis::TaskGraph& graph) {
  auto number = std::make_unique<int>(3);
  auto body = [number = std::move(number)] { return *number; };
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("task", trellis::ResourcePolicy(graph), std::move(body));
#else
  trellis::host_task("task", trellis::ResourcePolicy(graph), body);
#endif
}
