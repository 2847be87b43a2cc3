// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "World.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

/// The same tasks one by one.
///
/// The order is that of submission, which the ids tell. An iteration of a loop that was replayed
/// has no id of its own; it takes its place behind what its thread has submitted before (and
/// several submitting threads share with loops only what commutes).
///
/// Which tasks are cancelled follows from the failures, but not always to the letter: an iteration
/// fails as a whole or task by task, depending on whether it was replayed; so what may be cancelled
/// and what must be are two questions, and in between it counts what happened. Where that does not
/// tell enough, for a replay that may be cancelled, the rest of the program is not compared.
namespace products {

using namespace trellis;

/// Friend of World.
class Judgement {
 public:
  explicit Judgement(World& world, int graph)
      : m_world(world), m_graph(graph), m_shared(world.m_shared[static_cast<std::size_t>(graph)]) {}

  void operator()() {
    for (Event const* event : in_order()) {
      if (m_world.m_uncertain) return;
      switch (event->kind) {
        case Event::Kind::task:
          root(*event->instance);
          break;
        case Event::Kind::replay:
          replay(*event);
          break;
        case Event::Kind::wait:
          waited(*event);
          break;
      }
    }
    if (m_world.m_uncertain) return;
    for (Instance const& instance : m_world.m_instances)
      if (instance.recorded && instance.task->graph == m_graph &&
          instance.runs.size() != m_cursor[&instance])
        complain(instance, "ran " + std::to_string(instance.runs.size()) + " times, not " +
                               std::to_string(m_cursor[&instance]));
    for (std::size_t c = 0; c < m_cells.size(); ++c)
      if (m_cells[c] != m_shared.cells[c].value)
        m_world.complain("cell " + std::to_string(c) + " of graph " + std::to_string(m_graph) +
                         " is wrong");
    for (Follower const& follower : m_world.m_followers)
      for (Got const& got : follower.got) check(got);
  }

 private:
  /// A task, or a replay, that failed or was cancelled.
  struct Bad {
    Instance const* instance;    ///< null: a replay
    std::vector<Access> narrow;  ///< what is behind it for certain touches these
    std::vector<Access> wide;    ///< what may be behind it touches these
    bool whole = false;
  };
  enum class Poisoned : std::uint8_t { no, maybe, yes };

  void complain(Instance const& instance, std::string const& what) {
    std::uint64_t const id = instance.future.handle().id;
    m_world.complain(instance.label + " (#" + std::to_string(id % numberless) +
                     (instance.recorded          ? ", in a plan) "
                      : instance.loop != nullptr ? ", in a loop) "
                                                 : ") ") +
                     what);
  }

  [[nodiscard]] std::vector<Event const*> in_order() const {
    using Key = std::tuple<std::uint64_t, std::uint64_t, int>;
    std::vector<std::pair<Key, Event const*>> all;
    for (Event const& event : m_world.m_events)
      if (event.graph == m_graph) all.push_back({{event.id, 0, 0}, &event});
    for (Follower const& follower : m_world.m_followers) {
      std::uint64_t last = follower.floor[static_cast<std::size_t>(m_graph)];
      std::uint64_t behind = static_cast<std::uint64_t>(follower.phase) << 32U;
      for (Event const& event : follower.events) {
        if (event.graph != m_graph) continue;
        last = std::max({last, event.id, event.behind});
        if (event.id != 0)
          all.push_back({{event.id, 0, 0}, &event});
        else if (event.ends_phase)
          all.push_back({{last, static_cast<std::uint64_t>(follower.phase + 1) << 32U, 0}, &event});
        else
          all.push_back({{last, ++behind, follower.number}, &event});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    std::vector<Event const*> events;
    for (auto const& each : all) events.push_back(each.second);
    return events;
  }

  // --- what depends on what

  static bool meet(std::vector<Access> const& a, std::vector<Access> const& b) {
    return std::any_of(a.begin(), a.end(), [&](Access const& x) {
      return std::any_of(b.begin(), b.end(), [&](Access const& y) { return conflict(x, y); });
    });
  }
  static bool names(Instance const& later, Instance const* before) {
    return std::find(later.before.begin(), later.before.end(), before) != later.before.end();
  }
  [[nodiscard]] static std::vector<Access> all_of(Recording const& recording) {
    std::vector<Access> all;
    for (Recording::Item const& item : recording.items) {
      std::vector<Access> const its =
          item.nested != nullptr ? all_of(*item.nested) : item.instance->task->accesses;
      append(all, its);
    }
    return all;
  }
  /// To those outside an access in a state is a write.
  static void append(std::vector<Access>& all, std::vector<Access> const& more) {
    for (Access access : more) {
      if (access.mode == Mode::look || access.mode == Mode::make) access.mode = Mode::write;
      all.push_back(access);
    }
  }
  [[nodiscard]] std::vector<Access> wide(Instance const& instance) const {
    std::vector<Access> all = instance.task->accesses;
    if (instance.loop != nullptr)
      for (Loop::Item const& item : instance.loop->items)
        append(all, m_world.m_program.task(item.task).accesses);
    return all;
  }
  [[nodiscard]] bool in_order_by_tag(Instance const& a, Instance const& b) const {
    return m_world.m_program.graphs[static_cast<std::size_t>(m_graph)].rules && a.task->tag == 2 &&
           b.task->tag == 2;
  }
  /// By its siblings.
  [[nodiscard]] Poisoned poisoned(Instance const& instance, std::vector<Bad> const& bad) const {
    auto all = Poisoned::no;
    for (Bad const& each : bad) {
      bool const ordered = instance.task->synchronizing ||
                           (each.instance != nullptr &&
                            (each.instance->task->synchronizing || names(instance, each.instance) ||
                             (instance.recorded && in_order_by_tag(*each.instance, instance))));
      // A rule holds for those that are in flight together.
      bool const may_be_ordered =
          each.instance != nullptr && in_order_by_tag(*each.instance, instance);
      bool const is_clear = each.instance == nullptr || !m_unclear.contains(each.instance);
      if ((ordered && is_clear) || meet(instance.task->accesses, each.narrow)) return Poisoned::yes;
      bool const after_any =
          each.whole && std::any_of(instance.before.begin(), instance.before.end(),
                                    [](Instance const* x) { return x->recorded; });
      bool const after_loop =
          each.instance != nullptr && each.instance->loop != nullptr && !instance.before.empty();
      if (ordered || may_be_ordered || after_any || after_loop || meet(wide(instance), each.wide))
        all = Poisoned::maybe;
    }
    return all;
  }
  [[nodiscard]] Bad bad_one(Instance const& instance) const {
    bool const gives_up =
        std::any_of(instance.task->steps.begin(), instance.task->steps.end(),
                    [](Step const& step) { return step.kind == Step::Kind::release; });
    bool const may_let_go = gives_up && !instance.runs.empty();
    return {&instance, may_let_go ? std::vector<Access>() : instance.task->accesses,
            wide(instance)};
  }

  // --- one by one

  /// False when it failed.
  bool runs_well(Instance const& instance, Run const& run) {
    auto const cell = [&](int c) -> std::uint64_t& { return m_cells[static_cast<std::size_t>(c)]; };
    std::uint64_t const seen = look_at_cells(*instance.task, instance.salt, cell);
    if (seen != run.digest) complain(instance, "saw what it should not");
    change_cells(
        *instance.task, instance.salt, seen, [&](int c, std::uint64_t value) { cell(c) = value; },
        [&](int c, std::uint64_t by) { cell(c) += by; },
        [&](int c, std::uint64_t by) { cell(c) += by; });
    std::vector<Bad> bad;
    for (Instance const* child : run.children)
      if (!once(*child, bad)) bad.push_back(bad_one(*child));
    return bad.empty() && instance.task->fails == Task::Failure::none;
  }

  /// A task of a device is launched behind others of the device before these are over. When one of
  /// them fails it is cancelled at its end.
  [[nodiscard]] static bool may_have_been_launched(Instance const& instance,
                                                   std::vector<Bad> const& bad) {
    return instance.task->on_device() && std::any_of(bad.begin(), bad.end(), [](Bad const& each) {
             return each.instance != nullptr && each.instance->task->on_device();
           });
  }

  /// A task that runs once, if at all. False when it failed or was cancelled.
  bool once(Instance const& instance, std::vector<Bad> const& bad) {
    Poisoned is = poisoned(instance, bad);
    // A wait that has reported what failed may destroy something that submits.
    if (is == Poisoned::yes && instance.number < 0) is = Poisoned::maybe;
    bool const ran = !instance.runs.empty();
    bool const launches = instance.task->fails != Task::Failure::launch;
    if (instance.runs.size() > 1) complain(instance, "ran twice");
    if (ran && ((is == Poisoned::yes && !may_have_been_launched(instance, bad)) || !launches))
      complain(instance, "ran though something failed");
    if (!ran && launches && is == Poisoned::no) complain(instance, "did not run");
    if (!ran) return false;
    bool const well = runs_well(instance, instance.runs.front());
    if (is == Poisoned::maybe && may_have_been_launched(instance, bad)) m_unclear.insert(&instance);
    return well && is != Poisoned::yes;
  }

  void root(Instance const& instance) {
    bool const well = once(instance, m_bad);
    if (well) {
      m_well.insert(&instance);
      if (m_unclear.contains(&instance)) m_bad.push_back({&instance, {}, wide(instance)});
      return;
    }
    m_bad.push_back(bad_one(instance));
  }

  void replay(Event const& event) {
    Recording const& recording = *event.recording;
    std::vector<Access> const all = all_of(recording);
    auto is = Poisoned::no;
    for (Bad const& each : m_bad) {
      bool const behind =
          std::any_of(recording.items.begin(), recording.items.end(), [&](auto const& item) {
            return item.instance != nullptr && each.instance != nullptr &&
                   names(*item.instance, each.instance);
          });
      bool const sync = each.instance != nullptr && each.instance->task->synchronizing;
      if (sync || meet(all, each.narrow))
        is = Poisoned::yes;
      else if (is == Poisoned::no && (behind || meet(all, each.wide)))
        is = Poisoned::maybe;
    }
    if (is == Poisoned::maybe) {
      m_world.m_uncertain = true;
      return;
    }
    if (is == Poisoned::yes || !rounds(recording, event.rounds))
      m_bad.push_back({nullptr, all, all, true});
  }

  /// False when anything in it failed.
  bool rounds(Recording const& recording, std::uint64_t count) {
    std::vector<Bad> bad;
    for (std::uint64_t round = 0; round < count; ++round) {
      for (Recording::Item const& item : recording.items) {
        if (item.nested != nullptr) {
          std::vector<Access> const all = all_of(*item.nested);
          bool const cancelled = std::any_of(bad.begin(), bad.end(), [&](Bad const& each) {
            return meet(all, each.wide) ||
                   (each.instance != nullptr && each.instance->task->synchronizing);
          });
          if (cancelled || !rounds(*item.nested, static_cast<std::uint64_t>(item.rounds)))
            bad.push_back({nullptr, all, all});
          continue;
        }
        Instance const& instance = *item.instance;
        std::size_t& cursor = m_cursor[&instance];
        if (poisoned(instance, bad) != Poisoned::no ||
            instance.task->fails == Task::Failure::launch ||
            (!bad.empty() && is_bad(instance, bad))) {
          bad.push_back({&instance, instance.task->accesses, instance.task->accesses});
        } else if (cursor == instance.runs.size()) {
          complain(instance, "does not run in round " + std::to_string(round) + " of a replay");
          bad.push_back({&instance, instance.task->accesses, instance.task->accesses});
        } else if (!runs_well(instance, instance.runs[cursor++])) {
          bad.push_back({&instance, instance.task->accesses, instance.task->accesses});
        }
      }
    }
    return bad.empty();
  }
  /// A run that was cancelled, in a round before, and has nothing in common with itself: it was by
  /// another's doing, which lasts.
  [[nodiscard]] static bool is_bad(Instance const& instance, std::vector<Bad> const& bad) {
    return std::any_of(bad.begin(), bad.end(),
                       [&](Bad const& each) { return each.instance == &instance; }) &&
           std::any_of(instance.task->accesses.begin(), instance.task->accesses.end(),
                       [](Access const& access) { return conflict(access, access); });
  }

  void waited(Event const& event) {
    if (event.threw == m_bad.empty())
      m_world.complain(
          "wait() of graph " + std::to_string(m_graph) +
          (event.threw ? " throws, though nothing failed: " + event.text : " does not throw"));
    m_bad.clear();
  }

  void check(Got const& got) {
    Instance const& instance = *got.instance;
    if (instance.task->graph != m_graph || instance.recorded || instance.loop != nullptr) return;
    if (m_unclear.contains(&instance)) return;
    bool const well = m_well.contains(&instance);
    if (got.threw == well)
      complain(instance,
               well ? "ended well, but get() throws" : "failed, but get() does not throw");
    if (well && instance.task->has_result && got.digest != instance.runs.front().digest)
      complain(instance, "has another result");
  }

  World& m_world;
  int const m_graph;
  World::Shared& m_shared;
  std::array<std::uint64_t, Cells::count> m_cells{};
  std::vector<Bad> m_bad;  ///< since the last wait
  std::set<Instance const*> m_well;
  std::set<Instance const*> m_unclear;  ///< ran, and may have been cancelled
  std::map<Instance const*, std::size_t> m_cursor;
};

void World::judge() {
  if (m_device != nullptr && m_device->failed) m_uncertain = true;
  for (std::size_t g = 0; g < m_shared.size() && !m_uncertain; ++g)
    Judgement(*this, static_cast<int>(g))();
}

}  // namespace products
