// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models whose graph is given other numbers of threads between iterations.
#include "FieldsTest.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {
namespace field_threads {

using namespace Test;
using testing::HasSubstr;

constexpr std::size_t n = 8;
constexpr std::size_t block = n * sizeof(double);

F make(FieldGraph& model, std::string const& name) {
  return model.field<double*, Kokkos::LayoutRight>(name, n);
}

TEST(FieldThreads, IterationsGoOnWithinTheirLimit) {
  TaskGraph graph(with_workers(4));
  FieldGraph model(graph, {.memory_limit = 7 * block});  // six fluxes and a rate
  Values const y("y", n);
  F const x = model.bind("x", y);
  std::vector<F> rates;
  for (int e = 0; e < 6; ++e) {
    std::vector<F> fluxes;
    for (int k = 0; k < 6; ++k) {
      fluxes.push_back(make(model, "flux " + std::to_string(e) + ' ' + std::to_string(k)));
      add_sum(model, "flux", {x}, {fluxes.back()});
    }
    rates.push_back(make(model, "rate " + std::to_string(e)));
    add_sum(model, "rate", fluxes, {rates.back()});
    host_task("look", ResourcePolicy(model, read(rates.back())),
              [](F::read_view rate) { EXPECT_EQ(rate(0), 1 + 6 * 3); });
  }
  Kokkos::deep_copy(y, 2);
  for (auto const& [workers, each] : {std::pair(4, 1), {1, 4}, {2, 2}, {3, 1}, {1, 1}, {4, 1}}) {
    graph.set_threads(workers, each);
    model.submit();
    model.submit();
    graph.wait();
  }
  EXPECT_LE(model.pool().counts().most_held, 7 * block);
}

TEST(FieldThreads, ATaskThatHasTooFewThreadsFails) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph);
  Values const y("y", n);
  F const to = model.bind("y", y);
  host_task("wide", ResourcePolicy(model, threads(2), write(to)), [](F::view const& out) {
    for (std::size_t k = 0; k < n; ++k) out(k) += 1;
  });
  model.require(to);
  model.submit();
  graph.wait();
  graph.set_threads(1, 2);  // on one worker now
  model.submit();
  graph.wait();
  EXPECT_EQ(y(0), 2);
  graph.set_threads(1, 1);
  model.submit();
  EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("asks for threads(2)"));
  graph.set_threads(2, 1);
  model.submit();
  graph.wait();
  EXPECT_EQ(y(0), 3);
}

}  // namespace field_threads
}  // namespace
}  // namespace trellis
