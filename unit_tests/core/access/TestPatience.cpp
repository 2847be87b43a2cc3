// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long areas are remembered that one task has used: long enough for sweeps over many of them,
// and no longer where none comes back.
#include <access/Trellis_Patience.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <unordered_map>

namespace trellis::Impl {
namespace {

/// What a table of accesses does: each task uses one area; what is older than the patience is
/// forgotten, now and then.
class Memory {
 public:
  /// Returns whether the area was new, or forgotten.
  bool use(std::uint64_t area) {
    ++m_now;
    auto const [place, is_new] = m_last_used.insert_or_assign(area, m_now);
    m_uses.push_back({area, m_now});
    if (is_new) {
      m_patience.met(hash(area), m_now);
      if (++m_made % 1024 == 0) forget();
    }
    return is_new;
  }
  [[nodiscard]] TaskId patience() const { return m_patience.tasks(); }
  [[nodiscard]] std::size_t size() const { return m_last_used.size(); }

 private:
  struct Use {
    std::uint64_t area;
    TaskId when;
  };
  static std::uint64_t hash(std::uint64_t area) {
    std::uint64_t const h = (area + 1) * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
  }
  void forget() {
    m_patience.adapt();
    while (!m_uses.empty() && m_uses.front().when + m_patience.tasks() < m_now) {
      auto const found = m_last_used.find(m_uses.front().area);
      if (found != m_last_used.end() && found->second == m_uses.front().when) {
        m_patience.forgot(hash(found->first), found->second);
        m_last_used.erase(found);
      }
      m_uses.pop_front();
    }
  }

  Patience m_patience;
  std::unordered_map<std::uint64_t, TaskId> m_last_used;
  std::deque<Use> m_uses;
  TaskId m_now = 0;
  std::uint64_t m_made = 0;
};

class PatienceOfSweeps : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PatienceOfSweeps, EndsTheForgetting) {
  std::uint64_t const areas = GetParam();
  Memory memory;
  std::uint64_t made = 0;
  for (int sweep = 0; sweep < 12; ++sweep) {
    made = 0;
    for (std::uint64_t k = 0; k < areas; ++k) made += memory.use(k) ? 1 : 0;
  }
  EXPECT_EQ(made, 0U);
  EXPECT_LE(memory.patience(), std::max<std::uint64_t>(2048, 4 * areas));
}

INSTANTIATE_TEST_SUITE_P(Patience, PatienceOfSweeps,
                         testing::Values(1000, 5000, 30000, 300000, 1000000));

TEST(Patience, IsShortWhereNoAreaComesBack) {
  Memory memory;
  for (std::uint64_t k = 0; k < 500000; ++k) memory.use(k);
  EXPECT_EQ(memory.patience(), 2048U);
  EXPECT_LT(memory.size(), 4000U);
}

/// As allocations do that happen to be where others were.
TEST(Patience, IsShortWhereAreasComeBackAtAnyTime) {
  Memory memory;
  std::mt19937_64 random(5);
  for (std::uint64_t k = 0; k < 500000; ++k) memory.use(random() % 20000);
  EXPECT_EQ(memory.patience(), 2048U);
}

TEST(Patience, EndsWithTheSweepsThatNeededIt) {
  Memory memory;
  for (int sweep = 0; sweep < 10; ++sweep)
    for (std::uint64_t k = 0; k < 20000; ++k) memory.use(k);
  EXPECT_GE(memory.patience(), 20000U);
  EXPECT_LE(memory.patience(), 80000U);
  for (std::uint64_t k = 0; k < 500000; ++k) memory.use(1000000 + k);
  EXPECT_EQ(memory.patience(), 2048U);
  // And comes again, though what is looked at is a smaller sample by now.
  std::uint64_t made = 0;
  for (int sweep = 0; sweep < 40; ++sweep) {
    made = 0;
    for (std::uint64_t k = 0; k < 20000; ++k) made += memory.use(k) ? 1 : 0;
  }
  EXPECT_EQ(made, 0U);
}

}  // namespace
}  // namespace trellis::Impl
