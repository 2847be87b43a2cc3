// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_EntrySlab.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using trellis::Impl::EntrySlab;

/// Counts how many of it there are.
struct alignas(64) Entry {
  Entry() { ++alive; }
  ~Entry() { --alive; }
  Entry(Entry const&) = delete;
  Entry& operator=(Entry const&) = delete;

  std::string name;  // that a leak would be seen of
  int number = 0;
  static inline int alive = 0;
};

std::set<Entry*> all_of(EntrySlab<Entry>& slab) {
  std::set<Entry*> all;
  slab.for_each([&](Entry& entry) { all.insert(&entry); });
  return all;
}

TEST(EntrySlab, GivesPlacesOfTheirOwnInOrder) {
  EntrySlab<Entry> slab;
  std::vector<Entry*> made;
  std::set<Entry*> places;
  for (int k = 0; k < 100000; ++k) {
    made.push_back(&slab.make());
    made.back()->number = k;
    places.insert(made.back());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(made.back()) % alignof(Entry), 0U);
  }
  EXPECT_EQ(slab.size(), made.size());
  EXPECT_EQ(places, all_of(slab));
  int neighbours = 0;
  for (std::size_t k = 0; k < made.size(); ++k) {
    ASSERT_EQ(made[k]->number, static_cast<int>(k));
    if (k > 0 && made[k] == made[k - 1] + 1) ++neighbours;
  }
  EXPECT_GT(neighbours, 99900);
}

TEST(EntrySlab, UsesFirstWhatWasGivenBackLast) {
  EntrySlab<Entry> slab;
  std::mt19937_64 random(1);
  std::set<Entry*> mine;
  std::size_t most = 0;
  Entry* last = nullptr;  // those to give back are near it
  for (int k = 0; k < 200000; ++k) {
    if (mine.empty() || random() % 1000 < 502) {
      Entry& entry = slab.make();
      ASSERT_TRUE(entry.name.empty()) << "an entry is as it was before it was given back";
      entry.name = "a name that does not fit into the string itself";
      ASSERT_TRUE(mine.insert(&entry).second);
      if (random() % 8 == 0) last = &entry;
    } else {
      auto const found = mine.lower_bound(last);
      Entry* const entry = found != mine.end() ? *found : *mine.begin();
      slab.give_back(*entry);
      mine.erase(entry);
      Entry& again = slab.make();
      ASSERT_EQ(&again, entry);
      slab.give_back(again);
      ASSERT_TRUE(entry->name.empty()) << "a place that was given back is an entry";
    }
    most = std::max(most, mine.size());
    ASSERT_EQ(slab.size(), mine.size());
  }
  EXPECT_EQ(all_of(slab).size(), most) << "a place is new though one had been given back";
  EXPECT_EQ(Entry::alive, static_cast<int>(most));
}

TEST(EntrySlab, KeepsAFewPlacesWhenCleared) {
  {
    EntrySlab<Entry> slab;
    slab.clear();
    Entry* const first = &slab.make();
    for (int round = 0; round < 3; ++round) {
      for (int k = 1; k < 1000; ++k) slab.make().number = k;
      slab.clear();
      EXPECT_EQ(slab.size(), 0U);
      EXPECT_EQ(Entry::alive, 0);
      EXPECT_TRUE(all_of(slab).empty());
      EXPECT_EQ(&slab.make(), first);
      EXPECT_EQ(first->number, 0);
    }
  }
  EXPECT_EQ(Entry::alive, 0);
}

}  // namespace
