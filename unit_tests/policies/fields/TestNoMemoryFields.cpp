// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out for models of fields: what a call cannot do it says and has not done, what
// it has done is right, and the memory of fields comes back.
#include "Instances.hpp"
#include "NoMemory.hpp"
#include "FieldsTest.hpp"

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;

constexpr std::size_t n = 16;
constexpr std::size_t block = n * sizeof(double);

/// Kokkos makes an instance of OpenMP in steps, and one that finds no memory is destroyed but stays
/// in a list. So kernels run on Serial, where Kokkos has that.
#ifdef KOKKOS_ENABLE_SERIAL
#define TRELLIS_TEST_KERNELS
using Space = Kokkos::Serial;
#endif

struct HeldSum : Sum {
  Held held;
};

struct Program {
  char const* name;
  /// Makes a model, and iterations; after them `ends` has this value in each element.
  std::function<void(TaskGraph&, FieldGraph&, Values const&)> run;
  double value;
  std::function<void(FieldGraphOptions&)> options = [](FieldGraphOptions&) {};
  bool is_serial = false;
};

F field(FieldGraph& model, char const* name) {
  F made;
  call_until_done([&] { made = model.field<double*, Kokkos::LayoutRight>(std::string(name), n); });
  return made;
}
F bind(FieldGraph& model, Label label, Values const& values) {
  F made;
  call_until_done([&] { made = model.bind(label, values); });
  return made;
}
Future<void> sum(FieldGraph& model, Label label, std::initializer_list<F> in, F const& out) {
  Future<void> made;
  call_until_done([&] {
    made = host_task(label, ResourcePolicy(model, read(std::vector(in)), write(std::vector{out})),
                     HeldSum());
  });
  return made;
}
/// An iteration that finds no memory may have been submitted in part; that does no harm to the
/// next.
void iterations(FieldGraph& model, int number) {
  for (int k = 0; k < number; ++k) call_until_done([&] { model.submit(); });
}
void wait(TaskGraph& graph) {
  has_memory([&] { graph.wait(); });
}

std::vector<Program> programs() {
  std::vector<Program> all;
  auto const fan = [](TaskGraph& graph, FieldGraph& model, Values const& ends) {
    F const end = bind(model, "end", ends);
    F const a = field(model, "a"), b = field(model, "b"), c = field(model, "c");
    F const d = field(model, "d");
    for (F const& each : {a, b, c, d}) sum(model, "make", {}, each);
    sum(model, "end", {a, b, c, d}, end);
    call_until_done([&] { model.require(end); });
    iterations(model, 3);
    wait(graph);
  };
  all.push_back({"a model", fan, 5});
  all.push_back({"a serial model", fan, 5, [](FieldGraphOptions&) {}, true});
  all.push_back({"a model with a limit", fan, 5,
                 [](FieldGraphOptions& options) { options.memory_limit = 4 * block; }});
  all.push_back({"iterations that wait for memory",
                 [](TaskGraph& graph, FieldGraph& model, Values const& ends) {
                   F const end = bind(model, "end", ends);
                   for (auto const& [name, other] : {std::pair("a", "a'"), std::pair("b", "b'"),
                                                     std::pair("c", "c'"), std::pair("d", "d'")}) {
                     F const first = field(model, name), second = field(model, other);
                     sum(model, "first", {}, first);
                     sum(model, "second", {first}, second);
                     call_until_done([&] {
                       host_task("look", ResourcePolicy(model, read(std::vector{second})),
                                 [held = Held()](In in) { EXPECT_EQ(in[0](0), 2); });
                     });
                   }
                   sum(model, "end", {}, end);
                   call_until_done([&] { model.require(end); });
                   iterations(model, 2);
                   wait(graph);
                 },
                 1, [](FieldGraphOptions& options) { options.memory_limit = 2 * block; }});
  all.push_back({"a model in a plan",
                 [](TaskGraph& graph, FieldGraph& model, Values const& ends) {
                   F const end = bind(model, "end", ends);
                   F const a = field(model, "a"), b = field(model, "b");
                   sum(model, "a", {}, a);
#ifdef TRELLIS_TEST_KERNELS
                   call_until_done([&] {
                     parallel_for("b", ResourcePolicy(model, n, on<Space>, read(a), write(b)),
                                  [held = Held()](std::size_t i, F::read_view const& from,
                                                  F::view const& to) { to(i) = from(i) + 1; });
                   });
#else
                   sum(model, "b", {a}, b);
#endif
                   sum(model, "end", {a, b}, end);
                   call_until_done([&] { model.require(end); });
                   Plan plan;
                   call_until_done([&] { plan = model.record(); });
                   call_until_done([&] { (void)graph.replay(plan, 2); });
                   iterations(model, 1);
                   call_until_done([&] { (void)graph.replay(plan); });
                   wait(graph);
                 },
                 4});
  all.push_back({"fields that are stored, locked and swapped",
                 [](TaskGraph& graph, FieldGraph& model, Values const& ends) {
                   F const end = bind(model, "end", ends);
                   F const p = field(model, "p"), q = field(model, "q"), r = field(model, "r");
                   for (F const& each : {p, q})
                     call_until_done([&] { model.store(each, FieldStorage::persistent); });
                   sum(model, "q", {}, q);
                   sum(model, "r", {q}, r);
                   sum(model, "end", {q, r}, end);
                   call_until_done([&] { model.require(end); });
                   call_until_done([&] { model.lock(r); });
                   iterations(model, 1);
                   call_until_done([&] { model.swap(p, q); });
                   iterations(model, 1);
                   call_until_done([&] { model.unlock(r); });
                   wait(graph);
                   iterations(model, 1);
                   wait(graph);
                 },
                 4});
  all.push_back({"a task that is replaced",
                 [](TaskGraph& graph, FieldGraph& model, Values const& ends) {
                   F const end = bind(model, "end", ends);
                   F const a = field(model, "a");
                   sum(model, "a", {}, a);
                   auto const old = sum(model, "end", {a}, end);
                   call_until_done([&] { model.require(end); });
                   iterations(model, 1);
                   F const b = field(model, "b");
                   sum(model, "b", {a}, b);
                   call_until_done([&] {
                     model.replace(old, [&] {
                       host_task(
                           "new end",
                           ResourcePolicy(model, read(std::vector{a, b}), write(std::vector{end})),
                           HeldSum());
                     });
                   });
                   iterations(model, 1);
                   call_until_done([&] { model.bind("end", Values("other", n)); });
                   iterations(model, 1);
                   call_until_done([&] { model.bind("end", ends); });
                   iterations(model, 1);
                   wait(graph);
                 },
                 4});
#ifdef TRELLIS_TEST_KERNELS
  all.push_back(
      {"copies, results and parts",
       [](TaskGraph& graph, FieldGraph& model, Values const& ends) {
         F const end = bind(model, "end", ends);
         F const a = field(model, "a"), b = field(model, "b");
         Field<double> total;
         call_until_done([&] { total = model.field<double>("total"); });
         call_until_done([&] { deep_copy("a", ResourcePolicy(model, on<Space>), a, 2.0); });
         call_until_done([&] { deep_copy("b", ResourcePolicy(model, on<Space>), b, a); });
         call_until_done([&] {
           parallel_reduce(
               "total", ResourcePolicy(model, n, on<Space>, read(b)),
               [held = Held()](std::size_t i, F::read_view const& from, double& to) {
                 to += from(i);
               },
               total);
         });
         call_until_done([&] {
           host_task("end", ResourcePolicy(model, read(total), write(end)),
                     [held = Held()](TaskScope& self, auto const& from, F::view to) {
                       for (std::size_t k = 0; k < 4; ++k)
                         parallel_for("part",
                                      ResourcePolicy(
                                          self, 4, on<Space>,
                                          write(Kokkos::subview(to, std::pair(4 * k, 4 * k + 4)))),
                                      [=, held = Held()](int i) {
                                        to(4 * k + static_cast<std::size_t>(i)) = from();
                                      });
                     });
         });
         call_until_done([&] { model.require(end); });
         iterations(model, 2);
         wait(graph);
       },
       2.0 * n});
#endif
  return all;
}

class NoMemoryFields : public NoMemoryTest {
 protected:
  NoMemoryFields() : NoMemoryTest(7) {}
  static void expect(Values const& values, double value) {
    for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(values(k), value);
  }
  static void run(Program const& program) {
    auto const pool = std::make_shared<FieldPool>();
    {
      Values const ends("ends", n);
      TaskGraph graph(with_workers(1, program.is_serial));  // beside the thread that waits
#ifdef TRELLIS_TEST_KERNELS
      make_instances<Space>(graph);
#else
      host_task("warm", ResourcePolicy(graph), [] {});
      graph.wait();
#endif
      FieldGraphOptions options;
      options.pool = pool;
      program.options(options);
      std::optional<FieldGraph> model;
      Shortage::begin();
      call_until_done([&] { model.emplace(graph, options); });
      program.run(graph, *model, ends);
      Shortage::end();
      wait(graph);
      if (Shortage::failed() == 0) expect(ends, program.value);
      Kokkos::deep_copy(ends, 0.0);
      model->submit();
      graph.wait();
      expect(ends, program.value);
      model.reset();
      EXPECT_EQ(pool->counts().live, 0U);
    }
  }
  void run_all(bool all) {
    Kokkos::View<double*, Kokkos::HostSpace> view("view", 1);
    Shortage::spare([&] { view = {}; });
    for (Program const& program : programs())
      each_allocation(program.name, all, [&] { run(program); });
  }
};

TEST_F(NoMemoryFields, OfOneAllocationIsToldAndTheRestEnds) {
  run_all(false);
}
TEST_F(NoMemoryFields, OfAllAllocationsFromOneOnIsToldAndTheRestEnds) {
  run_all(true);
}

}  // namespace
}  // namespace trellis
