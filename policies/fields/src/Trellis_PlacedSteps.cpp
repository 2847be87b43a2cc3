// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_PlacedSteps.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace trellis::Impl {

namespace {

constexpr int absent = -1;
constexpr int unseen = -2;

template <class T>
std::size_t ordinal(T number) {
  return static_cast<std::size_t>(number);
}

/// Makes the steps of an iteration.
class Placing {
 public:
  Placing(PlacementGraph const& graph, std::span<int const> places)
      : m_graph(graph),
        m_places(places),
        m_host(host_of(graph)),
        m_makers(graph.fields.size()),
        m_readers(graph.fields.size()),
        m_slot_of(graph.fields.size() * graph.targets.size(), absent) {
    m_result.fields.resize(graph.fields.size());
  }

  PlacedSteps run(std::span<TransferProbe const> probes) {
    for (std::size_t task = 0; task < m_graph.tasks.size(); ++task) {
      PlacementGraph::Task const& of = m_graph.tasks[task];
      PlacedStep& step = m_result.steps.emplace_back();
      step.task = static_cast<int>(task);
      step.from = step.to = m_places[task];
      step.before = of.before;
      auto const note = [&](std::vector<int>& all) {
        if (all.empty() || all.back() != step.task) all.push_back(step.task);
      };
      for (int const field : of.makes) note(m_makers[ordinal(field)]);
      for (int const field : of.reads) note(m_readers[ordinal(field)]);
    }
    for (std::size_t field = 0; field < m_graph.fields.size(); ++field)
      place(static_cast<int>(field));
    for (std::size_t task = 0; task < m_graph.tasks.size(); ++task) {
      PlacementGraph::Task const& of = m_graph.tasks[task];
      PlacedStep& step = m_result.steps[task];
      for (int const field : of.reads) use(step, slot(field, step.to), false);
      for (int const field : of.makes) use(step, slot(field, step.to), true);
      std::sort(step.before.begin(), step.before.end());
      step.before.erase(std::unique(step.before.begin(), step.before.end()), step.before.end());
    }
    add_probes(probes);
    return std::move(m_result);
  }

 private:
  /// The state of one field.
  struct Held {
    int field;
    int home;
    int source = absent;  ///< where it is computed, or exists before the iteration
    std::vector<int> makers;
    std::vector<int> filled;  ///< by place: the step that copies it, or `absent`
  };

  static void use(PlacedStep& step, int slot, bool makes) {
    for (PlacedStep::Use& each : step.uses)
      if (each.slot == slot) {
        each.makes = each.makes || makes;
        return;
      }
    step.uses.push_back({slot, makes});
  }
  int slot(int field, int place) {
    int& number = m_slot_of[ordinal(field) * m_graph.targets.size() + ordinal(place)];
    if (number == absent) {
      PlacementGraph::Field const& of = m_graph.fields[ordinal(field)];
      number = static_cast<int>(m_result.slots.size());
      m_result.slots.push_back(
          {field, place, of.bytes, place == of.home || place == of.second_home});
    }
    return number;
  }
  int add_copy(Held const& held, int to, int from, std::vector<int> const& before) {
    PlacedStep step{PlacedStep::Kind::copy, absent, held.field, from, to, 0, before, {}};
    use(step, slot(held.field, from), false);
    use(step, slot(held.field, to), true);
    m_result.steps.push_back(std::move(step));
    return static_cast<int>(m_result.steps.size()) - 1;
  }
  /// Returns the step that copies it there; `absent` if it exists there.
  int fill(Held& held, int place) {
    if (place == held.source) return absent;
    int& known = held.filled[ordinal(place)];
    if (known != unseen) return known;
    if (is_direct(m_graph, held.source, place))
      return known = add_copy(held, place, held.source, held.makers);
    if (m_host == absent) {
      m_result.stuck = held.field;
      return known = absent;
    }
    int const first = fill(held, m_host);
    return known = add_copy(held, place, m_host,
                            first != absent ? std::vector{first} : std::vector<int>());
  }
  void forget_copies(Held& held) const { held.filled.assign(m_graph.targets.size(), unseen); }

  void place(int field) {
    PlacementGraph::Field const& of = m_graph.fields[ordinal(field)];
    bool const has_two = of.second_home >= 0;
    Held held{field, of.home, absent, m_makers[ordinal(field)], {}};
    forget_copies(held);
    int const made_at = held.makers.empty() ? absent : m_places[ordinal(held.makers.front())];
    held.source = has_two && !of.is_valid_at_home ? of.second_home : of.home;
    bool const is_there = has_two && made_at == of.second_home && of.is_valid_at_second;
    bool const is_at_both = has_two && of.is_valid_at_home && of.is_valid_at_second;
    if (made_at != absent) {
      if (made_at != held.source && held.source != absent && !is_there && !of.is_covered) {
        // The tasks compute parts; the rest keeps its values.
        std::vector<int> const makers = std::exchange(held.makers, {});
        int const step = fill(held, made_at);
        if (step != absent)
          for (int const maker : makers) m_result.steps[ordinal(maker)].before.push_back(step);
        held.makers = makers;
        forget_copies(held);
      }
      held.source = made_at;
    } else if (is_at_both) {
      held.filled[ordinal(of.second_home)] = absent;
    }
    m_result.fields[ordinal(field)].base = of.home >= 0 ? of.home : held.source;
    if (held.source == absent) return;  // no task computes it, so no task can read it
    if (has_two) {
      if (held.source != of.home && held.source != of.second_home) fill(held, of.home);
    } else if (of.home >= 0 && !held.makers.empty()) {
      fill(held, of.home);
    }
    for (int const reader : m_readers[ordinal(field)]) {
      int const step = fill(held, m_places[ordinal(reader)]);
      if (step != absent) m_result.steps[ordinal(reader)].before.push_back(step);
    }
    if (!has_two) return;
    auto const is_valid = [&](int place, bool before) {
      if (place == held.source || held.filled[ordinal(place)] != unseen) return true;
      return held.makers.empty() && before;
    };
    m_result.fields[ordinal(field)].is_valid_at_home = is_valid(of.home, of.is_valid_at_home);
    m_result.fields[ordinal(field)].is_valid_at_second =
        is_valid(of.second_home, of.is_valid_at_second);
  }

  /// Adds probes, in memory of their own, whose contents do not matter. Nothing else begins before
  /// them.
  void add_probes(std::span<TransferProbe const> probes) {
    std::size_t const others = m_result.steps.size();
    for (TransferProbe const& probe : probes) {
      PlacedStep step;
      step.kind = PlacedStep::Kind::probe;
      step.from = probe.from;
      step.to = probe.to;
      step.bytes = probe.bytes;
      for (int const place : {probe.from, probe.to}) {
        use(step, static_cast<int>(m_result.slots.size()), true);
        m_result.slots.push_back({absent, place, std::max(probe.bytes, probe.memory), false});
      }
      if (m_result.steps.size() > others)
        step.before = {static_cast<int>(m_result.steps.size()) - 1};
      m_result.steps.push_back(std::move(step));
    }
    if (probes.empty()) return;
    int const last = static_cast<int>(m_result.steps.size()) - 1;
    for (std::size_t step = 0; step < others; ++step)
      if (m_result.steps[step].before.empty()) m_result.steps[step].before = {last};
  }

  PlacementGraph const& m_graph;
  std::span<int const> const m_places;
  int const m_host;
  std::vector<std::vector<int>> m_makers;  ///< tasks, by field
  std::vector<std::vector<int>> m_readers;
  std::vector<int> m_slot_of;  ///< slot, by field and place
  PlacedSteps m_result;
};

}  // namespace

int PlacedSteps::slot(int field, int place) const {
  for (std::size_t k = 0; k < slots.size(); ++k)
    if (slots[k].field == field && slots[k].place == place) return static_cast<int>(k);
  return -1;
}

PlacedSteps place_steps(PlacementGraph const& graph, std::span<int const> places,
                        std::span<TransferProbe const> probes) {
  return Placing(graph, places).run(probes);
}

bool is_direct(PlacementGraph const& graph, int from, int to) {
  PlacementGraph::Target const& a = graph.targets[ordinal(from)];
  PlacementGraph::Target const& b = graph.targets[ordinal(to)];
  return a.is_host || b.is_host || a.group == b.group;
}

int host_of(PlacementGraph const& graph) {
  for (std::size_t target = 0; target < graph.targets.size(); ++target)
    if (graph.targets[target].is_host) return static_cast<int>(target);
  return -1;
}

// --- what fits -----------------------------------------------------------------------------------

MemoryGraph memory_of(PlacementGraph const& graph, PlacedSteps const& placed) {
  MemoryGraph memory;
  memory.places = static_cast<int>(graph.targets.size());
  std::vector<int> piece_of;
  for (PlacedSlot const& slot : placed.slots) {
    piece_of.push_back(slot.is_kept ? -1 : static_cast<int>(memory.pieces.size()));
    if (!slot.is_kept) memory.pieces.push_back({slot.bytes, slot.place});
  }
  for (PlacedStep const& step : placed.steps) {
    MemoryGraph::Task& of = memory.tasks.emplace_back();
    of.before = step.before;
    for (PlacedStep::Use const& use : step.uses)
      if (int const piece = piece_of[ordinal(use.slot)]; piece >= 0)
        (use.makes ? of.makes : of.uses).push_back(piece);
  }
  return memory;
}

std::vector<std::size_t> rooms_of(PlacementGraph const& graph) {
  std::vector<std::size_t> rooms;
  for (auto const& target : graph.targets) rooms.push_back(target.room);
  return rooms;
}

std::size_t missing_bytes(PlacementGraph const& graph, std::span<int const> places,
                          std::size_t most_sets) {
  constexpr std::size_t too_much = PlacementGraph::any_number;
  PlacedSteps const placed = place_steps(graph, places);
  if (placed.stuck >= 0) return too_much;
  std::vector<std::size_t> all(graph.targets.size(), 0);
  for (PlacedSlot const& slot : placed.slots)
    if (!slot.is_kept) all[ordinal(slot.place)] += slot.bytes;
  std::vector<std::size_t> const rooms = rooms_of(graph);
  auto const missing = [&](std::vector<std::size_t> const& bytes) {
    std::size_t sum = 0;
    for (std::size_t place = 0; place < bytes.size(); ++place)
      sum += bytes[place] - std::min(bytes[place], rooms[place]);
    return sum;
  };
  if (missing(all) == 0) return 0;
  // No order helps if a single step does not fit.
  bool is_hopeless = false;
  for (PlacedStep const& step : placed.steps) {
    std::vector<std::size_t> bytes(graph.targets.size(), 0);
    for (PlacedStep::Use const& use : step.uses)
      if (PlacedSlot const& slot = placed.slots[ordinal(use.slot)]; !slot.is_kept)
        bytes[ordinal(slot.place)] += slot.bytes;
    is_hopeless = is_hopeless || missing(bytes) != 0;
  }
  MemoryGraph const memory = memory_of(graph, placed);
  return missing(peaks_of(memory, find_order(memory, rooms, is_hopeless ? 0 : most_sets)));
}

namespace {

/// True if the fields that the task touches fit there, if there is nothing else.
bool may_fit(PlacementGraph const& graph, std::size_t task, int target) {
  std::vector<int> fields = graph.tasks[task].reads;
  fields.insert(fields.end(), graph.tasks[task].makes.begin(), graph.tasks[task].makes.end());
  std::sort(fields.begin(), fields.end());
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  std::size_t bytes = 0;
  for (int const field : fields) {
    PlacementGraph::Field const& of = graph.fields[ordinal(field)];
    if (target != of.home && target != of.second_home) bytes += of.bytes;
  }
  return bytes <= graph.targets[ordinal(target)].room;
}

/// Finds places that fit, unit by unit.
class Fitting {
 public:
  Fitting(PlacementGraph const& graph, std::span<int const> wanted,
          std::vector<std::vector<int>> const* allowed)
      : m_graph(graph), m_now(wanted.begin(), wanted.end()) {
    std::map<int, std::size_t> unit_of;
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      auto const [known, is_new] = unit_of.try_emplace(graph.tasks[task].unit, m_units.size());
      auto const& may_be = allowed != nullptr ? (*allowed)[task] : graph.tasks[task].eligible;
      if (is_new) m_units.push_back({{}, may_be});
      Unit& unit = m_units[known->second];
      unit.tasks.push_back(task);
      std::erase_if(unit.targets, [&](int target) {
        return std::find(may_be.begin(), may_be.end(), target) == may_be.end() ||
               !may_fit(graph, task, target);
      });
    }
    for (Unit& unit : m_units) {  // the wanted target comes first
      if (unit.targets.empty()) m_is_possible = false;
      auto const first =
          std::find(unit.targets.begin(), unit.targets.end(), m_now[unit.tasks.front()]);
      if (first != unit.targets.end()) std::rotate(unit.targets.begin(), first, std::next(first));
    }
  }

  std::vector<int> run() {
    if (!m_is_possible) return {};
    double ways = 1;
    for (Unit const& unit : m_units) {
      ways *= static_cast<double>(unit.targets.size());
      put(unit, unit.targets.front());
    }
    constexpr double few = 4096;
    return ways <= few ? all_ways() : search();
  }

 private:
  struct Unit {
    std::vector<std::size_t> tasks;
    std::vector<int> targets;
  };
  static constexpr std::size_t quick = 1 << 8;  ///< sets of a quick search

  void put(Unit const& unit, int target) {
    for (std::size_t const task : unit.tasks) m_now[task] = target;
  }
  /// Tries all ways with a quick search for an order, and then those that may only lack a better
  /// order with a longer one.
  std::vector<int> all_ways() {
    std::vector<std::pair<std::size_t, std::vector<int>>> others;
    std::vector<std::size_t> digits(m_units.size(), 0);
    for (;;) {
      std::size_t const missing = missing_bytes(m_graph, m_now, quick);
      if (missing == 0) return m_now;
      if (missing != PlacementGraph::any_number) others.emplace_back(missing, m_now);
      std::size_t unit = 0;
      for (; unit < m_units.size(); ++unit) {
        digits[unit] = (digits[unit] + 1) % m_units[unit].targets.size();
        put(m_units[unit], m_units[unit].targets[digits[unit]]);
        if (digits[unit] != 0) break;
      }
      if (unit == m_units.size()) break;
    }
    std::stable_sort(others.begin(), others.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    return longer_look(others);
  }
  std::vector<int> longer_look(
      std::vector<std::pair<std::size_t, std::vector<int>>> const& others) const {
    constexpr std::size_t most = 64;
    for (std::size_t k = 0; k < std::min(most, others.size()); ++k)
      if (missing_bytes(m_graph, others[k].second) == 0) return others[k].second;
    return {};
  }
  /// Searches from the wanted places, and from all units on one target.
  std::vector<int> search() {
    std::vector<std::pair<std::size_t, std::vector<int>>> ends;
    for (int begin = -1; begin < static_cast<int>(m_graph.targets.size()); ++begin) {
      for (Unit const& unit : m_units) {
        auto const there = std::find(unit.targets.begin(), unit.targets.end(), begin);
        put(unit, there != unit.targets.end() ? begin : unit.targets.front());
      }
      std::size_t missing = missing_bytes(m_graph, m_now, quick);
      for (bool is_better = true; is_better && missing != 0;) {
        is_better = false;
        for (Unit const& unit : m_units) {
          int const old = m_now[unit.tasks.front()];
          int best = old;
          for (int const target : unit.targets) {
            if (target == old || missing == 0) continue;
            put(unit, target);
            std::size_t const with = missing_bytes(m_graph, m_now, quick);
            if (with >= missing) continue;
            missing = with;
            best = target;
            is_better = true;
          }
          put(unit, best);
        }
      }
      if (missing == 0) return m_now;
      ends.emplace_back(missing, m_now);
    }
    return longer_look(ends);
  }

  PlacementGraph const& m_graph;
  std::vector<Unit> m_units;
  std::vector<int> m_now;
  bool m_is_possible = true;
};

bool has_limits(PlacementGraph const& graph) {
  return std::any_of(graph.targets.begin(), graph.targets.end(),
                     [](auto const& target) { return target.room != PlacementGraph::any_number; });
}

}  // namespace

std::vector<int> find_fitting(PlacementGraph const& graph, std::span<int const> wanted,
                              std::vector<std::vector<int>> const* allowed) {
  auto const may_be = [&](std::size_t task) {
    auto const& targets = allowed != nullptr ? (*allowed)[task] : graph.tasks[task].eligible;
    return std::find(targets.begin(), targets.end(), wanted[task]) != targets.end();
  };
  bool is_allowed = true;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task)
    is_allowed = is_allowed && may_be(task);
  if (is_allowed && (!has_limits(graph) || missing_bytes(graph, wanted) == 0))
    return {wanted.begin(), wanted.end()};
  return Fitting(graph, wanted, allowed).run();
}

}  // namespace trellis::Impl
