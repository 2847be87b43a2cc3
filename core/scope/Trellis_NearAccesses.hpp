// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NEARACCESSES_HPP
#define TRELLIS_IMPL_NEARACCESSES_HPP

#include <Trellis_Area.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <base/Trellis_SmallSet.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

/// Finds accesses of a task, under the lock of its scope.
namespace trellis::Impl {

/// Finds the accesses of a task that share a byte with an area. There may be thousands of accesses
/// and of questions. A few accesses, which most tasks have, are scanned, and so are many for a few
/// questions.
template <class Accesses>
class ByArea {
 public:
  /// `questions`: the number of calls of `for_each_near`. Accesses that are appended later are not
  /// looked at.
  ByArea(AccessTable& table, Accesses const& accesses, std::size_t questions)
      : m_table(table), m_accesses(accesses), m_size(accesses.size()), m_is_large(m_size > few) {
    if (!m_is_large || questions <= few_questions) return;
    m_places.emplace();
    for (std::size_t k = 0; k < m_size; ++k) (*m_places)[accesses[k].access.entry].push_back(k);
  }
  /// Calls `f(k)` for each access that shares a byte with the area, perhaps also for others; in
  /// order.
  template <class F>
  void for_each_near(Area const& area, F&& f) const {
    AreaEntry const* const entry = m_is_large ? m_table.find(area, area.hash()) : nullptr;
    if (entry == nullptr) {
      for (std::size_t k = 0; k < m_size; ++k) f(k);
      return;
    }
    if (!m_places) return look_through(*entry, f);
    Vector<std::size_t> found;
    auto const collect = [&](AreaEntry const* each) {
      if (auto const here = m_places->find(each); here != m_places->end())
        found.insert(found.end(), here->second.begin(), here->second.end());
    };
    collect(entry);
    for (AreaEntry::Overlap const& overlap : entry->overlaps) collect(overlap.entry());
    std::sort(found.begin(), found.end());
    for (std::size_t const k : found) f(k);
  }

 private:
  template <class F>
  void look_through(AreaEntry const& near, F& f) const {
    SmallSet<AreaEntry const> entries;
    entries.insert(&near);
    for (AreaEntry::Overlap const& overlap : near.overlaps) entries.insert(overlap.entry());
    for (std::size_t k = 0; k < m_size; ++k)
      if (entries.contains(m_accesses[k].access.entry)) f(k);
  }

  static constexpr std::size_t few = 16;
  static constexpr std::size_t few_questions = 4;
  AccessTable& m_table;
  Accesses const& m_accesses;
  std::size_t const m_size;
  bool const m_is_large;
  std::optional<std::unordered_map<AreaEntry const*, Vector<std::size_t>>> m_places;
};

/// Tells whether other tasks of its scope conflict with a task, now that it has these accesses.
/// The answer is that of `conflict(task, other)`. Where both sides have many accesses, it takes
/// only the time of a walk over those of the others. Tasks of another scope never conflict, as
/// their parents' accesses order them. (Their accesses could not be read here, either, as they
/// change under the lock of their own scope.)
class Conflicts {
 public:
  /// `others`: the least number of tasks that will be compared.
  Conflicts(Task const& task, std::size_t others) : m_task(task) {
    if (task.access_count <= few || task.access_count * others <= few_pairs) return;
    m_kinds.emplace();
    m_kinds->reserve(task.access_count);
    task.for_each_access([&](TaskAccess const& access) {
      if (access.mode != Mode::none) m_kinds->emplace(access.entry, task.kind(access));
    });
  }
  bool operator()(Task const& other) const {
    if (other.scope != m_task.scope) return false;
    if (!m_kinds) return conflict(m_task, other);
    bool found = false;
    other.for_each_access([&](TaskAccess const& access) { found = found || with(other, access); });
    return found;
  }

 private:
  static constexpr std::uint32_t few = 32;
  static constexpr std::size_t few_pairs = 1024;

  [[nodiscard]] bool with(Task const& other, TaskAccess const& access) const {
    if (access.entry->overlaps.size() >= m_task.access_count)
      return conflict(other, access, m_task);
    AccessKind const kind = other.kind(access);
    auto const is_met = [&](AreaEntry const* entry) {
      auto const [begin, end] = m_kinds->equal_range(entry);
      return std::any_of(begin, end, [&](auto const& own) { return own.second.depends_on(kind); });
    };
    return is_met(access.entry) ||
           std::any_of(access.entry->overlaps.begin(), access.entry->overlaps.end(),
                       [&](AreaEntry::Overlap const& overlap) { return is_met(overlap.entry()); });
  }

  Task const& m_task;
  std::optional<std::unordered_multimap<AreaEntry const*, AccessKind>> m_kinds;
};

}  // namespace trellis::Impl

#endif
