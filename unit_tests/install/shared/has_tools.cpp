// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph logs, though this program calls no function of the tools.
#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>

#include <cstdio>

int main() try {
  trellis::TaskGraphOptions options;
  options.log = "stderr";
  trellis::TaskGraph graph(options);
  graph.wait();
} catch (trellis::Error const& error) {
  std::printf("%s\n", error.what());
  return 1;
}
