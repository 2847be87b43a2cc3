// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs over the host, two devices and a stream of the user's, in real time and with
// answers that come late, against the same steps in order. TRELLIS_TEST_SEEDS=N and
// TRELLIS_TEST_FIRST_SEED=N make longer runs.
#include "Seeds.hpp"
#include "Watchdog.hpp"
#include "AsyncTest.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

constexpr std::size_t size = 12;

/// Who is at which element: finds tasks that overlap and must not.
class Elements {
 public:
  void begin(std::size_t reads, std::size_t first, std::size_t count) {
    enter(reads, 1);
    for (std::size_t n = first; n < first + count; ++n)
      if (n != reads) enter(n, writer);
  }
  void end(std::size_t reads, std::size_t first, std::size_t count) {
    m_busy[reads] -= 1;
    for (std::size_t n = first; n < first + count; ++n)
      if (n != reads) m_busy[n] -= writer;
  }
  [[nodiscard]] int violations() const { return m_violations; }
  [[nodiscard]] bool all_free() const {
    for (auto const& each : m_busy)
      if (each != 0) return false;
    return true;
  }

 private:
  static constexpr int writer = 1000;
  void enter(std::size_t n, int as) {
    int const before = m_busy[n].fetch_add(as);
    if (before >= writer || (as == writer && before != 0)) ++m_violations;
  }
  std::array<std::atomic<int>, size> m_busy{};
  std::atomic<int> m_violations{0};
};

/// One task of a program: reads an element, and updates a few.
struct Step {
  enum class Where { host, device, other, users, main_thread, plan, children };
  Where where = Where::host;
  std::size_t from = 0, first = 0, count = 0;
  int number = 0;
  int pause = 0;  ///< microseconds
  bool fails = false;

  [[nodiscard]] bool touches(std::size_t n) const { return n == from || writes(n); }
  [[nodiscard]] bool writes(std::size_t n) const { return n >= first && n < first + count; }
  [[nodiscard]] bool conflicts_with(Step const& other) const {
    for (std::size_t n = 0; n < size; ++n)
      if ((writes(n) && other.touches(n)) || (touches(n) && other.writes(n))) return true;
    return false;
  }
  template <class Values>
  void apply(Values& values) const {
    long const add = values[from];
    for (std::size_t n = first; n < first + count; ++n)
      values[n] = (values[n] * 3 + add + number) % 1'000'003;
  }
};

class Program {
 public:
  Program(std::uint64_t seed, bool devices_fail) : m_random(seed), m_devices_fail(devices_fail) {
    std::array<int, 4> const caps{4, 16, 64, 1000};
    m_options = with_workers(1 + below(3));
    m_options.streams = 1 + below(4);
    m_options.in_flight = static_cast<std::size_t>(caps[static_cast<std::size_t>(below(4))]);
    if (below(2) == 0) m_options.policy = make_shake_policy(seed);
    m_device.late = below(3) == 0 ? 0 : below(98);
    m_other.late = below(50);
    m_device.is_slow = seed % 2 == 0;
    m_other.is_slow = seed % 3 == 0;
  }

  void run() {
    {
      std::atomic<bool> over{false};
      std::thread chaos([&] { disturb(over); });
      {
        TaskGraph graph(m_options);
        m_graph = &graph;
        for (int k = 0; k < 120; ++k) add(k);
        wait();
        m_graph = nullptr;
      }
      over = true;
      chaos.join();
    }
    EXPECT_EQ(m_device.events + m_other.events, 0);
    EXPECT_EQ(m_device.streams + m_other.streams, 0);
  }

 private:
  int below(int limit) { return static_cast<int>(m_random() % static_cast<std::uint64_t>(limit)); }

  /// Answers come late, or a stream fails for a while.
  void disturb(std::atomic<bool> const& over) {
    for (int k = 0; !over; ++k) {
      std::this_thread::sleep_for(100us);
      m_device.silent_about = k % 3 == 0 ? -1 : k % 4;
      m_device.failed_stream = m_devices_fail && k % 7 == 6 ? k % 4 : -1;
    }
  }

  void add(int number) {
    Step step;
    step.number = number;
    step.from = m_random() % size;
    step.first = m_random() % size;
    step.count = 1 + m_random() % std::min<std::size_t>(3, size - step.first);
    step.pause = below(6) == 0 ? below(60) : 0;
    step.fails = below(25) == 0;
    static constexpr std::array<Step::Where, 12> places{
        Step::Where::host,   Step::Where::host,   Step::Where::device,      Step::Where::device,
        Step::Where::device, Step::Where::device, Step::Where::device,      Step::Where::other,
        Step::Where::users,  Step::Where::plan,   Step::Where::main_thread, Step::Where::children};
    step.where = places[static_cast<std::size_t>(below(static_cast<int>(places.size())))];
    if (step.where == Step::Where::plan || step.where == Step::Where::children) step.fails = false;
    m_futures.push_back(submit(step));
    m_steps.push_back(step);
    if (below(40) == 0) wait();
    if (below(30) == 0) m_futures.back().wait();
  }

  void work(Step const& step, bool applies) {
    m_elements.begin(step.from, step.first, step.count);
    if (step.pause > 0) std::this_thread::sleep_for(std::chrono::microseconds(step.pause));
    // What is on a stream that has failed may go on there, as if it were beside all that comes
    // later.
    if (applies && !m_devices_fail) step.apply(m_values);
    m_elements.end(step.from, step.first, step.count);
  }

  /// What a task launches; it may throw afterwards.
  auto launch(Step const& step) {
    return [this, step](void* instance) {
      on_stream([this, step] { work(step, !step.fails); })(instance);
      if (step.fails) throw std::runtime_error("half launched");
    };
  }

  Future<void> submit(Step const& step) {
    std::vector<Touch> const touches = {reads(m_values(step.from, 1)),
                                        updates(m_values(step.first, step.count))};
    auto const on_host = [this, step] {
      work(step, !step.fails);
      if (step.fails) throw std::runtime_error("boom");
    };
    Properties properties;
    properties.priority = below(3) - 1;
    switch (step.where) {
      case Step::Where::host:
        return task(*m_graph, "host", touches, on_host, properties);
      case Step::Where::other:
        properties.space = &m_other;
        return task(*m_graph, "other", touches, launch(step), properties);
      case Step::Where::users:
        properties.space = &m_device;
        properties.instance = &m_users;
        return task(*m_graph, "user's stream", touches, launch(step), properties);
      case Step::Where::main_thread:
        properties.main_thread = true;
        properties.space = &m_device;
        return task(*m_graph, "main thread", touches, launch(step), properties);
      case Step::Where::plan:
        return replay(step, touches);
      case Step::Where::children:
        return task(
            *m_graph, "children", touches,
            [this, step] {
              auto const values = m_values(step.first, step.count);
              std::vector<Touch> const inner = {reads(m_values(step.from, 1)), updates(values)};
              child("child on the device", inner, launch(step), {.space = &m_device});
              child("behind", inner, [] {});
            },
            properties);
      default:
        properties.space = &m_device;
        return task(*m_graph, "kernel", touches, launch(step), properties);
    }
  }

  Future<void> replay(Step const& step, std::vector<Touch> const& touches) {
    Plan const plan = m_graph->record([&] {
      task(*m_graph, "in a plan", touches, launch(step), {.space = &m_device});
      task(*m_graph, "behind", touches, [] {});
    });
    m_plans.push_back(plan);
    return m_graph->replay(plan, 1);
  }

  /// Waits for all, and compares.
  void wait() {
    bool const threw = message_of([&] { m_graph->wait(); }) != "no error";
    std::vector<Step const*> bad;
    for (std::size_t k = m_compared; k < m_steps.size(); ++k) {
      Step const& step = m_steps[k];
      bool is_bad = step.fails;
      for (Step const* before : bad) is_bad = is_bad || before->conflicts_with(step);
      bool const got_bad = message_of([&] { m_futures[k].get(); }) != "no error";
      if (m_devices_fail)
        EXPECT_TRUE(got_bad || !is_bad) << "task " << k << " is behind one that failed";
      else
        EXPECT_EQ(got_bad, is_bad) << "task " << k;
      if (got_bad)
        bad.push_back(&step);
      else if (!m_devices_fail)
        step.apply(m_expected);
    }
    EXPECT_EQ(threw, !bad.empty());
    m_compared = m_steps.size();
    if (m_devices_fail) return;  // what is on a stream that has failed goes on there
    EXPECT_TRUE(m_elements.all_free()) << "something is under way";
    EXPECT_EQ(m_elements.violations(), 0);
    for (std::size_t n = 0; n < size; ++n) EXPECT_EQ(m_values[n], m_expected[n]) << "element " << n;
  }

  std::mt19937_64 m_random;
  bool const m_devices_fail;
  Block m_values{"values", size};
  std::vector<long> m_expected = std::vector<long>(size, 0);
  Elements m_elements;
  std::deque<Step> m_steps;
  std::size_t m_compared = 0;
  FakeDevice m_device, m_other{"Other"};
  FakeDevice::Stream m_users;
  TaskGraphOptions m_options;
  TaskGraph* m_graph = nullptr;
  std::vector<Plan> m_plans;
  std::vector<Future<void>> m_futures;
};

void run_programs(bool devices_fail) {
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 25 : 60)) {
    SCOPED_TRACE("TRELLIS_TEST_FIRST_SEED=" + std::to_string(seed) + " TRELLIS_TEST_SEEDS=1");
    Test::Watchdog const watchdog(60s, "seed " + std::to_string(seed));
    Program(seed, devices_fail).run();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RandomDevicePrograms, GiveWhatTheSerialOrderGivesAndFailAsItDoes) {
  run_programs(false);
}

TEST(RandomDevicePrograms, EndAndKeepTheirDependenciesWhenStreamsFail) {
  run_programs(true);
}

}  // namespace
}  // namespace trellis
