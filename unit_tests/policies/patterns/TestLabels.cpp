// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every call that submits a task takes as its label what Kokkos takes, and a function that submits
// on behalf of its caller can hand on the caller's place.
#include <Trellis.hpp>
#include <worklets/Trellis_Worklets.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <cstdio>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace trellis {
namespace {
namespace labels {

using testing::HasSubstr;

struct Add {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += i; }
};
struct Sum {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& sum) const { sum += x(i); }
};
struct Scan {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& sum, bool) const { sum += x(i); }
};
struct AddOne : MapFields {
  using ControlSignature = void(Field(InOut));
  KOKKOS_FUNCTION void operator()(int& x) const { x += 1; }
};
struct Nothing {
  void operator()() const {}
};
struct Forks {
  void operator()(TaskScope&) const {}
};

/// Submits a task by each of the calls, with this label. Returns how many.
class Calls {
 public:
  explicit Calls(TaskGraph& graph) : m_graph(graph) {}
  template <class Text>
  void operator()(Text& text) const {
    Range const all(0, 4);
    ResourcePolicy const range(m_graph, all, read_write(m_x));
    ResourcePolicy const once(m_graph, on<Space>);
    ResourcePolicy const bare(m_graph);
    parallel_for(text, range, Add{m_x});
    Future<int> const sum = parallel_reduce(text, range, Sum{m_x});
    parallel_reduce(text, range, Sum{m_x}, m_result);
    parallel_scan(text, range, Scan{m_x});
    parallel_scan(text, range, Scan{m_x}, m_result);
    trellis::deep_copy(text, m_graph, m_y, m_x);
    trellis::deep_copy(text, bare, m_y, 3);
    trellis::deep_copy(text, m_graph, m_result, sum);
    Future<void> const task = host_task(text, bare, Nothing());
    space_task(text, once, [](Space const&) {});
    fork_join(text, bare, Forks());
    sum.then(text, [](int) {});
    task.then(text, Nothing());
    when_all(text, sum, task);
    when_all(text, m_graph, sum, task);
    when_all(text, std::vector<Future<void>>{task});
    allocate(text, bare, m_late, 4);
    invoke(text, bare, AddOne(), m_x);
  }
  static constexpr std::size_t count = 18;

 private:
  TaskGraph& m_graph;
  View<int*> m_x{"x", 4};
  View<int*> m_y{"y", 4};
  View<int> m_result{"result"};
  LateView<int*, Memory> m_late{"late", Memory()};
};

std::vector<std::string> labels_of(TaskGraph& graph) {
  graph.wait();
  std::vector<std::string> labels;
  DependencyGraph const recorded = graph.dependency_graph();
  for (TaskRecord const& node : recorded.nodes()) labels.push_back(node.label);
  return labels;
}

SPACE_TEST(Labels, AreWhatKokkosTakesInEveryCall) {
  TaskGraphOptions options;
  options.record = true;
  options.workers = 1;
  auto const expect = [&](std::string const& label, auto&& submit) {
    TaskGraph graph(options);
    submit(Calls(graph));
    std::vector<std::string> const labels = labels_of(graph);
    EXPECT_EQ(labels.size(), Calls::count);
    EXPECT_THAT(labels, testing::Each(label));
  };
  expect("step 3", [](Calls const& call) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "step %d", 3);
    call(buffer);
    std::snprintf(buffer, sizeof buffer, "something else");
  });
  expect("literal", [](Calls const& call) { call("literal"); });
  expect("string", [](Calls const& call) {
    std::string text = "string";
    call(text);
    text = "other!";
  });
  for (bool const last : {false, true})
    expect(last ? "even" : "odd", [last](Calls const& call) {
      char const* const text = last ? "even" : "odd";
      call(text);
    });
}

/// The two literals have one length here, and different ones there.
SPACE_TEST(Labels, MayBeOneOfTwoLiterals) {
  TaskGraphOptions options;
  options.record = true;
  options.workers = 1;
  TaskGraph graph(options);
  for (bool const last : {false, true}) {
    host_task(last ? "even" : "odd ", ResourcePolicy(graph), Nothing());
    host_task(last ? "even" : "odd", ResourcePolicy(graph), Nothing());
  }
  EXPECT_THAT(labels_of(graph), testing::ElementsAre("odd ", "odd", "even", "even"));
}

// Functions that submit on behalf of their caller.
void fail_labelled(TaskGraph& graph, Label label = "helper") {
  host_task(std::move(label), ResourcePolicy(graph), [] { throw std::runtime_error("no"); });
}
void fail_at(TaskGraph& graph, std::source_location const& at = std::source_location::current()) {
  host_task(Label("helper", at), ResourcePolicy(graph), [] { throw std::runtime_error("no"); });
}
void fail_without_name(TaskGraph& graph,
                       std::source_location const& at = std::source_location::current()) {
  host_task(at, ResourcePolicy(graph), [] { throw std::runtime_error("no"); });
}

SPACE_TEST(Labels, HaveThePlaceOfTheCaller) {
  TaskGraphOptions options;
  options.record = true;
  auto const expect = [&](std::string const& label, std::source_location const& site,
                          std::function<void(TaskGraph&)> const& submit) {
    TaskGraph graph(options);
    submit(graph);
    std::string const text = trellis::Test::error_of([&] { graph.wait(); }).what();
    std::string const line = std::to_string(site.line());
    EXPECT_THAT(text, HasSubstr('"' + label + '"'));
    EXPECT_THAT(text, HasSubstr("TestLabels.cpp:" + line));
    DependencyGraph const recorded = graph.dependency_graph();
    TaskRecord const& node = recorded.node(1);
    EXPECT_EQ(node.label, label);
    EXPECT_EQ(node.line, site.line());
    EXPECT_THAT(node.file, HasSubstr("TestLabels.cpp"));
  };
  auto const here = [](std::source_location site = std::source_location::current()) {
    return site;
  };
  // One line each.
  // clang-format off
  expect("helper", here(), [](TaskGraph& graph) { fail_labelled(graph); });
  expect("my own", here(), [](TaskGraph& graph) { fail_labelled(graph, "my own"); });
  expect("helper", here(), [](TaskGraph& graph) { fail_at(graph); });
  expect("TestLabels.cpp:" + std::to_string(here().line()), here(), [](TaskGraph& graph) { fail_without_name(graph); });
  // clang-format on
}

}  // namespace labels
}  // namespace
}  // namespace trellis
