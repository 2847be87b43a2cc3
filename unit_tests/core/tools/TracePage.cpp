// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the browser of browse_page.py looks at: `trace_page run [STEPS]` runs graphs, whose
// traces the environment asks for; `trace_page large FILE TASKS` writes a page of a made-up trace.
#include "GraphTest.hpp"
#include "BareTask.hpp"

#include <Trellis_Error.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;

void take(int microseconds) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// Tiles, a reduction after each step, a label that is no mark-up, a failure and what it cancels.
void heat(std::string const& name, int steps) {
  TaskGraphOptions options = Test::with_workers(3);
  options.name = name;
  TaskGraph graph(options);
  std::vector<Block> tiles;
  for (int t = 0; t != 6; ++t) tiles.emplace_back("tile" + std::to_string(t), 64);
  Block norm("norm"), log("log");
  for (int step = 0; step != steps; ++step) {
    std::vector<Touch> all{writes(norm)};
    auto const of = [&](std::size_t t) {
      return std::to_string(t) + " step " + std::to_string(step);
    };
    for (std::size_t t = 0; t != tiles.size(); ++t) {
      std::vector<Touch> touches{updates(tiles[t](0, 32))};
      if (t > 0) touches.push_back(reads(tiles[t - 1](48, 16)));
      if (t + 1 < tiles.size()) touches.push_back(reads(tiles[t + 1](48, 16)));
      task(graph, "update " + of(t), touches, [t] { take(150 + 40 * static_cast<int>(t)); });
    }
    for (std::size_t t = 0; t != tiles.size(); ++t) {
      task(graph, "halo " + of(t), {reads(tiles[t](0, 32)), writes(tiles[t](48, 16))},
           [] { take(40); });
      if (step % 2 == 1) all.push_back(reads(tiles[t](0, 32)));
    }
    if (step % 2 == 1) task(graph, "norm " + std::to_string(step), all, [] { take(120); });
  }
  task(graph, "</script><img src=x onerror=\"document.title='broken'\"> & 'more'", {reads(norm)},
       [] { take(200); });
  task(graph, "write log", {writes(log)}, [] {
    take(100);
    throw std::runtime_error("the disk is full");
  });
  task(graph, "send log", {reads(log)}, [] {});
  try {
    graph.wait();
  } catch (Error const&) {  // the trace tells
  }
}

int main(std::vector<std::string> const& arguments) {
  if (!arguments.empty() && arguments[0] == "run") {
    heat("heat", 4);
    heat("long run", arguments.size() > 1 ? std::stoi(arguments[1]) : 30);
  } else if (arguments.size() == 3 && arguments[0] == "large") {
    Trace const trace = Test::stencil(16, 100, std::stoul(arguments[2]) / 100);
    std::ofstream file(arguments[1]);
    trace.write_html(file);
    if (!file.flush()) return EXIT_FAILURE;
  } else {
    std::cerr << "trace_page run [STEPS] | large FILE TASKS\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace trellis

int main(int argc, char** argv) try {
  return trellis::main({argv + 1, argv + argc});
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
