// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of tasks that go on with each other's values, run again, end with futures, fail
// and are cancelled, against the same computed one by one.
#include <Trellis.hpp>
#include <Trellis_Scheduling.hpp>

#include "RandomNumbers.hpp"
#include "Seeds.hpp"
#include "Timing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using Test::pick;
using Test::Random;

/// One task: a number from those of earlier tasks, in one of several ways.
struct Link {
  enum Kind {
    takes_values,
    then,
    joins,
    ends_with_future,
    ends_with_child,
    again,
    again_after,
    count
  };
  Kind kind;
  std::vector<std::size_t> before;  ///< earlier tasks
  std::uint64_t salt;
  int runs = 1;  ///< of the body
  bool fails = false;
  enum When { never, while_closed, while_running, by_a_task } cancel = never;
};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2);
  return a * 0xff51afd7ed558ccdULL;
}

std::vector<Link> make_links(Random& random, std::size_t count) {
  std::vector<Link> links;
  for (std::size_t k = 0; k < count; ++k) {
    Link link{static_cast<Link::Kind>(pick(random, 0, Link::count - 1)), {}, random()};
    std::size_t const most = link.kind == Link::joins ? 4 : 2;
    for (std::size_t n = pick(random, k == 0 ? 0 : 1, most); n > 0 && k > 0; --n)
      link.before.push_back(pick(random, k > 8 ? k - 8 : 0, k - 1));
    if (link.before.empty() && (link.kind == Link::then || link.kind == Link::joins))
      link.kind = Link::takes_values;
    if (link.kind == Link::again || link.kind == Link::again_after)
      link.runs = static_cast<int>(pick(random, 1, 4));
    link.fails = pick(random, 0, 39) == 0;
    if (pick(random, 0, 11) == 0) link.cancel = static_cast<Link::When>(pick(random, 1, 3));
    links.push_back(std::move(link));
  }
  return links;
}

/// One by one, as if nothing failed nor was cancelled.
std::vector<std::uint64_t> computed(std::vector<Link> const& links) {
  std::vector<std::uint64_t> values;
  for (Link const& link : links) {
    std::uint64_t value = link.salt;
    for (int run = 0; run < link.runs; ++run)
      for (std::size_t const before : link.before) value = mix(value, values[before]);
    values.push_back(value);
  }
  return values;
}

class Program {
 public:
  using Number = Future<std::uint64_t>;
  Program(TaskGraph& graph, std::vector<Link> const& links)
      : m_graph(graph), m_links(links), m_begun(links.size()) {
    for (auto& each : m_begun) each = 0;
  }

  void run(bool in_serial) {
    Test::Gate gate;
    Future<void> const first = host_task("gate", ResourcePolicy(m_graph),
                                         [&, in_serial] { EXPECT_TRUE(in_serial || gate.pass()); });
    for (std::size_t k = 0; k < m_links.size(); ++k) m_numbers.push_back(submit(k, first));
    for (std::size_t k = 0; k < m_links.size(); ++k)
      if (m_links[k].cancel == Link::while_closed) m_graph.cancel(m_numbers[k]);
    gate.open();
    std::vector<Future<void>> cancellers;
    for (std::size_t k = 0; k < m_links.size(); ++k)
      if (m_links[k].cancel == Link::while_running)
        m_graph.cancel(m_numbers[k]);
      else if (m_links[k].cancel == Link::by_a_task)
        host_task("canceller", ResourcePolicy(m_graph), [&, k] { m_graph.cancel(m_numbers[k]); });
    check(in_serial);
  }

 private:
  enum class Outcome { value, failed, cancelled };

  [[nodiscard]] std::uint64_t step(std::size_t k, std::uint64_t value,
                                   std::vector<std::uint64_t> const& before) {
    ++m_begun[k];
    if (m_links[k].fails) throw std::runtime_error("fails");
    for (std::uint64_t const each : before) value = mix(value, each);
    return value;
  }

  Number submit(std::size_t k, Future<void> const& first) {
    Link const& link = m_links[k];
    std::vector<Number> before;
    for (std::size_t const each : link.before) before.push_back(m_numbers[each]);
    auto const as_task = [&](auto&& body) { return with_values(first, before, body); };
    switch (link.kind) {
      case Link::then:
        if (before.size() == 1)
          return before[0].then(
              "then", [this, k](std::uint64_t n) { return step(k, m_links[k].salt, {n}); });
        [[fallthrough]];
      case Link::joins:
        return when_all_values("join", m_graph, before)
            .then("joined", [this, k](std::vector<std::uint64_t> const& all) {
              return step(k, m_links[k].salt, all);
            });
      case Link::ends_with_future:
        return as_task([this, k](TaskScope&, std::vector<std::uint64_t> const& all) {
          std::uint64_t const value = step(k, m_links[k].salt, all);
          return host_task("inner", ResourcePolicy(m_graph), [value] { return value; });
        });
      case Link::ends_with_child:
        return as_task([this, k](TaskScope& self, std::vector<std::uint64_t> const& all) {
          std::uint64_t const value = step(k, m_links[k].salt, all);
          auto const child =
              host_task("child", ResourcePolicy(self), [value] { return value - 1; });
          return child.then("last child", self, [](std::uint64_t n) { return n + 1; });
        });
      case Link::again:
      case Link::again_after:
        return as_task([this, k, run = 0, value = link.salt](
                           TaskScope& self, std::vector<std::uint64_t> const& all) mutable {
          value = step(k, value, all);
          if (++run == m_links[k].runs) return value;
          if (run % 2 == 1)
            host_task("child", ResourcePolicy(self), [&value] { value += 1; });
          else
            value += 1;
          self.wait();
          value -= 1;
          if (m_links[k].kind == Link::again)
            self.respawn();
          else
            self.respawn(after(host_task("before", ResourcePolicy(m_graph), [] {})));
          return std::uint64_t{0};
        });
      default:
        return as_task([this, k](TaskScope&, std::vector<std::uint64_t> const& all) {
          return step(k, m_links[k].salt, all);
        });
    }
  }

  /// `body(self, values)`.
  template <class Body>
  Number with_values(Future<void> const& first, std::vector<Number> const& before, Body body) {
    using All = std::vector<std::uint64_t>;
    if (before.empty())
      return host_task("none", ResourcePolicy(m_graph, after(first)),
                       [body](TaskScope& self) mutable { return body(self, All()); });
    if (before.size() == 1)
      return host_task(
          "one", ResourcePolicy(m_graph, after(first), value(before[0])),
          [body](TaskScope& self, std::uint64_t a) mutable { return body(self, All{a}); });
    return host_task("two", ResourcePolicy(m_graph, value(before[0]), value(before[1])),
                     [body](TaskScope& self, std::uint64_t a, std::uint64_t b) mutable {
                       return body(self, All{a, b});
                     });
  }

  void check(bool in_serial) {
    std::vector<std::uint64_t> const expected = computed(m_links);
    std::vector<Outcome> outcomes;
    for (std::size_t k = 0; k < m_links.size(); ++k) {
      Link const& link = m_links[k];
      Outcome outcome = Outcome::value;
      try {
        EXPECT_EQ(m_numbers[k].get(), expected[k]) << k;
      } catch (Error const& error) {
        outcome = error.kind() == Error::Kind::cancelled ? Outcome::cancelled : Outcome::failed;
        EXPECT_TRUE(outcome == Outcome::cancelled || error.kind() == Error::Kind::task_failed);
      }
      bool depends = false;  // on one that has no value
      for (std::size_t const before : link.before)
        depends = depends || outcomes[before] != Outcome::value;
      bool const asked = link.cancel != Link::never;
      if (depends) {
        EXPECT_NE(outcome, Outcome::value) << k;
        EXPECT_EQ(m_begun[k], 0) << k;
      } else if (asked && link.cancel == Link::while_closed && !in_serial) {
        EXPECT_EQ(outcome, Outcome::cancelled) << k;
        EXPECT_EQ(m_begun[k], 0) << k;
      } else if (!asked) {
        EXPECT_EQ(outcome, link.fails ? Outcome::failed : Outcome::value) << k;
        EXPECT_EQ(m_begun[k], link.fails ? 1 : link.runs) << k;
      } else {
        EXPECT_LE(m_begun[k], link.runs) << k;
        if (outcome == Outcome::value) {
          EXPECT_FALSE(link.fails);
          EXPECT_EQ(m_begun[k], link.runs) << k;
        }
      }
      outcomes.push_back(outcome);
    }
    bool failed = false;
    for (Outcome const each : outcomes) failed = failed || each == Outcome::failed;
    bool reported = false;
    try {
      m_graph.wait();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::task_failed);
      reported = true;
    }
    EXPECT_EQ(reported, failed);
  }

  TaskGraph& m_graph;
  std::vector<Link> const& m_links;
  std::vector<Number> m_numbers;
  std::vector<std::atomic<int>> m_begun;
};

class RandomContinuations : public Test::Timed {};

TEST_F(RandomContinuations, HaveTheValuesOfTheSerialOrder) {
  for (std::uint64_t const seed : random_program::seeds(4)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    TaskGraphOptions options;
    options.workers = static_cast<int>(pick(random, 1, 4));
    options.serial = pick(random, 0, 9) == 0;
    options.record = pick(random, 0, 5) == 0;
    if (pick(random, 0, 1) == 0) options.policy = make_shake_policy(seed);
    std::vector<Link> const links = make_links(random, pick(random, 5, 60));
    TaskGraph graph(options);
    Program(graph, links).run(*graph.options().serial);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace trellis
