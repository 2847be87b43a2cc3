// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where threads run: TRELLIS_BIND.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <threads/Trellis_Places.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#ifdef __linux__
#include <sched.h>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

/// The processors that the calling thread may run on.
std::vector<int> own_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  std::vector<int> processors;
  for (int k = 0; k < CPU_SETSIZE; ++k)
    if (CPU_ISSET(k, &mask)) processors.push_back(k);
  return processors;
}

TaskGraphOptions bound(int workers, std::string const& how) {
  TaskGraphOptions options = with_workers(workers);
  options.bind = how;
  return options;
}

class Places : public Timed {
 protected:
  void SetUp() override {
    if (!Impl::Places::can_bind()) GTEST_SKIP() << "without hwloc nothing can be bound";
  }

  /// Where so many workers run that all have a task at the same time, while the main thread has
  /// none.
  static std::vector<std::vector<int>> of_workers(TaskGraph& graph, int workers) {
    std::vector<std::vector<int>> found;
    std::mutex mutex;
    Rendezvous all(workers);
    for (int k = 0; k < workers; ++k)
      task(graph, "looks", {}, [&] {
        EXPECT_TRUE(all.meet());
        std::lock_guard const lock(mutex);
        found.push_back(own_processors());
      });
    let_the_workers_finish(graph);
    return found;
  }

  std::vector<int> const m_before = own_processors();
};

TEST_F(Places, NothingIsBoundUnlessThatIsAskedFor) {
  for (char const* how : {"auto", "none"}) {
    TaskGraph graph(bound(2, how));
    EXPECT_THAT(of_workers(graph, 2), testing::Each(m_before)) << how;
    EXPECT_EQ(own_processors(), m_before) << how;
  }
  TaskGraph const graph;
  EXPECT_EQ(graph.options().bind, "auto");
}

TEST_F(Places, OfCoresAreTheMainThreadsAndTheWorkers) {
  {
    TaskGraph graph(bound(1, "core"));
    std::vector<int> const main = own_processors();
    std::vector<std::vector<int>> const workers = of_workers(graph, 1);
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_FALSE(workers[0].empty());
    EXPECT_THAT(m_before, testing::IsSupersetOf(main));
    EXPECT_THAT(m_before, testing::IsSupersetOf(workers[0]));
    std::vector<int> shared;  // by the two, which have a core each if there are two
    std::ranges::set_intersection(main, workers[0], std::back_inserter(shared));
    EXPECT_TRUE(main == m_before || shared.empty());
  }
  EXPECT_EQ(own_processors(), m_before);  // it runs where it ran before
}

TEST_F(Places, OfAListAreTakenInTurn) {
  int const first = m_before.front(), last = m_before.back();
  std::string list = std::to_string(first);
  std::vector<int> both{first};
  if (last != first) {
    list += ',' + std::to_string(last);
    both.push_back(last);
  }
  {
    TaskGraph graph(bound(2, list));
    EXPECT_THAT(own_processors(), testing::ElementsAre(first));
    EXPECT_THAT(of_workers(graph, 2), testing::UnorderedElementsAre(std::vector<int>{last}, both));
  }
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, OfGraphsThatEndInAnyOrderAreGivenBackByTheLast) {
  auto first = std::make_unique<TaskGraph>(bound(1, "core"));
  auto second = std::make_unique<TaskGraph>(bound(1, "core"));
  std::vector<int> const main = own_processors();
  first.reset();
  EXPECT_EQ(own_processors(), main);
  second.reset();
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, OfAGraphThatBindsNothingAreAll) {
  TaskGraph const binds(bound(1, std::to_string(m_before.front())));
  TaskGraph graph(bound(2, "none"));
  EXPECT_THAT(of_workers(graph, 2), testing::Each(m_before));
}

TEST_F(Places, AreTakenFromTheEnvironment) {
  Environment const bind("TRELLIS_BIND", std::to_string(m_before.back()).c_str());
  TaskGraph const graph;
  EXPECT_THAT(own_processors(), testing::ElementsAre(m_before.back()));
}

TEST_F(Places, OfManyWorkersBeginAgainAtTheFirst) {
  TaskGraph graph(bound(5, "core"));
  EXPECT_EQ(of_workers(graph, 5).size(), 5U);
}

TEST_F(Places, ThatCannotBeHadAreRefused) {
  auto const text_of = [](std::string const& how) {
    Error const error = error_of([&] {
      TaskGraphOptions options = bound(2, how);
      options.name = "pump";
      TaskGraph graph(options);
    });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    return std::string(error.what());
  };
  for (char const* wrong : {"", "cores", "1-", "x,2", "0:1", "0,,1", "0,", "3-1", "99999999999"})
    EXPECT_THAT(text_of(wrong),
                testing::AllOf(HasSubstr("pump"), HasSubstr("TRELLIS_BIND"),
                               HasSubstr('"' + std::string(wrong) + '"'), HasSubstr("0,2-5")));
  EXPECT_THAT(text_of("0-8000"), HasSubstr("may only use the processors"));
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, AreNoneInASerialGraph) {
  TaskGraphOptions options = bound(2, "core");
  options.serial = true;
  TaskGraph graph(options);
  EXPECT_EQ(own_processors(), m_before);
}

}  // namespace
}  // namespace trellis

#endif
