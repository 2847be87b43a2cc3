// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The figures of the resource-register paper, as Trellis builds them: `figures` prints all,
// `figures 5` one of them. The code of each is in the file of its number.
#include "Figures.hpp"
#include "Print.hpp"

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Figure {
  std::string number;
  std::string title;
  figures::Facts (*add_functors)(trellis::TaskGraph&);
  std::shared_ptr<trellis::SchedulingPolicy> (*policy)(std::shared_ptr<trellis::SchedulingPolicy>) =
      nullptr;
};

std::vector<Figure> const all_figures = {
    {"1", "the order of the code and the accesses make the dependencies", figures::figure_1},
    {"2", "a functor can only be added at the end, so there is no call to insert one", nullptr},
    {"3", "a loop extends the graph while it runs", figures::figure_3},
    {"4", "functors are split into sub functors", figures::figure_4},
    {"5", "running functors are demoted", figures::figure_5},
    {"6", "several resources", figures::figure_6},
    {"7", "an added edge, beside one that it makes useless", figures::figure_7,
     figures::figure_7_policy},
    {"8", "a functor on the main thread", figures::figure_8},
    {"9", "a synchronizing functor", figures::figure_9},
    {"10", "exclusive functors, solution 1", figures::figure_10_solution_1,
     figures::figure_10_policy_1},
    {"10", "exclusive functors, solution 2", figures::figure_10_solution_2,
     figures::figure_10_policy_2},
};

void print(Figure const& figure) {
  std::printf("Figure %s: %s\n", figure.number.c_str(), figure.title.c_str());
  if (figure.add_functors == nullptr) return;
  trellis::TaskGraphOptions options;
  options.workers = 2;
  options.record = true;
  if (figure.policy != nullptr)
    options.policy = figure.policy(trellis::make_work_stealing_policy());
  trellis::TaskGraph graph(options);
  figures::Facts const facts = figure.add_functors(graph);
  figures::print(graph.dependency_graph(), graph.scheduling_graph());
  if (!facts.empty()) figures::print_lines("facts", facts);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const wanted = argc > 1 ? argv[1] : "";
  Kokkos::ScopeGuard const kokkos;
  if (*trellis::TaskGraph().options().serial) {
    std::fprintf(stderr,
                 "figures: with TRELLIS_SERIAL=1 nothing runs at the same time, so there is "
                 "nothing to see\n");
    return 1;
  }
  bool found = false;
  for (Figure const& figure : all_figures) {
    if (!wanted.empty() && figure.number != wanted) continue;
    if (found) std::printf("\n");
    print(figure);
    found = true;
  }
  if (!found)
    std::fprintf(stderr, "figures: there is no figure '%s', only 1 to 10\n", wanted.c_str());
  return found ? 0 : 1;
}
