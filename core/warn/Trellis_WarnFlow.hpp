// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WARNFLOW_HPP
#define TRELLIS_IMPL_WARNFLOW_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Area.hpp>
#include <Trellis_Label.hpp>
#include <task/Trellis_AccessRequest.hpp>
#include <access/Trellis_AreaIndex.hpp>
#include <task/Trellis_ViewShape.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <warn/Trellis_WarnOrder.hpp>
#include <warn/Trellis_WarningReporter.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trellis::Impl {

struct WarnAllocation;

/// Exactly one area of an allocation, as tasks have named it.
struct WarnArea {
  WarnArea(Area const& which, WarnAllocation& in) : area(which), of(in) {}
  WarnArea(WarnArea const&) = delete;
  WarnArea& operator=(WarnArea const&) = delete;

  Area const area;
  WarnAllocation& of;
  struct Overlap {
    WarnArea* other;
    bool covered;  ///< by this area
  };
  std::vector<Overlap> overlaps;

  /// A task that has touched it. `looks`: how often the host had been able to look before.
  struct By {
    Label label;
    Sequence task = 0;  ///< 0: there is none
    std::uint64_t looks = 0;
  };
  By unread;             ///< the writer, if nothing has read any of that, nor covered it
  By early;              ///< the first reader, if no task had written any of it
  bool written = false;  ///< by a task

  // For the order: the newest task that has written it, and those that have read it since.
  Sequence writer = 0;
  std::vector<Sequence> readers;

  // For waits.
  std::uint64_t output_of = 0;  ///< the number of the wait before which it was written last
};

/// What the tasks of a graph have named: the allocation of a View, or a Token.
struct WarnAllocation {
  WarnAllocation(ResourceInfo const& info, std::shared_ptr<ResourceHold> keeps)
      : label(info.label.empty() ? "unlabeled" : info.label),
        begin(info.begin),
        end(info.end),
        shape(info.shape),
        is_on_host(info.is_on_host),
        hold(std::move(keeps)),
        index(info.begin) {}
  WarnAllocation(WarnAllocation const&) = delete;
  WarnAllocation& operator=(WarnAllocation const&) = delete;

  std::string const label;
  std::uintptr_t const begin;
  std::uintptr_t const end;
  ViewShape shape;
  bool const is_on_host;
  /// Keeps the address from being reused. Null: a Token, or memory with an unknown lifetime. Only
  /// its order is kept.
  std::shared_ptr<ResourceHold> const hold;
  AreaIndex index;
  std::vector<std::unique_ptr<WarnArea>> areas;
  std::unordered_multimap<std::uint64_t, WarnArea*> by_hash;
  std::vector<WarnArea::By> captures;  ///< by functors whose tasks do not declare it
  bool is_crowded = false;             ///< it had too many areas; no more warnings about it

  [[nodiscard]] bool is_tracked() const { return hold != nullptr && !is_crowded; }
};

/// Where the data of a sequence of tasks comes from and goes to. These are the tasks of a graph
/// that are children of none, or those of one plan while it is recorded. It uses only the
/// annotations, in the order of submission; it does not matter what runs when.
///
/// WHAT MAY BE SAID. The host may have written anything before the first task that names it, and
/// may read anything after it has waited; neither can be observed. So a write counts as unread only
/// as long as no thread has waited for any task since. An access counts as a read when it may be
/// one: all modes except `write`, user-defined states, replays, and tasks that may give up what
/// they declare. With partial overlaps a write counts as read when any of it may have been.
///
/// The caller holds a lock. Views that have been released are put into `dropped`, to be destroyed
/// without the lock: that may be user code.
class WarnFlow {
 public:
  /// `looks`: how often the host has been able to look so far.
  WarnFlow(WarningReporter& teller, std::atomic<std::uint64_t> const& looks)
      : m_teller(teller), m_looks(looks) {}
  WarnFlow(WarnFlow const&) = delete;
  WarnFlow& operator=(WarnFlow const&) = delete;

  using Dropped = std::vector<std::shared_ptr<ResourceHold>>;

  /// Adds the next task and returns its number. `in_body`: it comes from the body of another task.
  Sequence submitted(TaskSpec const& spec, bool in_body, Dropped& dropped);
  /// Forgets all Views without another reference. What was written to them and not read is lost.
  void sweep(Dropped& dropped);
  void forget_all(Dropped& dropped);

  /// Notes that the body of this task has been examined: it waits for no other task.
  void waits_for_none(Sequence task, Label const& label);
  /// Notes that the functor of this task holds these Views, which it does not declare.
  void holds_undeclared(Sequence task, Label const& label, std::vector<ResourceHold const*> const&);
  /// Returns all known Views, except those that the task names.
  [[nodiscard]] Dropped known_but_named_by(TaskSpec const& spec);

  void waited(std::source_location const& site);

 private:
  static constexpr std::size_t most_areas = 4096;  ///< of an allocation

  struct Touch {
    WarnArea* area;
    Mode mode;
    bool reads;
    bool writes;
    bool is_sure;  ///< that it does what it declares
  };

  [[nodiscard]] WarnArea* area_of(AccessRequest const& request, Dropped& dropped);
  [[nodiscard]] WarnAllocation* allocation_of(AccessRequest const& request, Dropped& dropped);
  [[nodiscard]] WarnAllocation* known_at(Area const& area);
  void forget_others_at(ResourceInfo const& info, bool is_kept, Dropped& dropped);
  [[nodiscard]] bool is_recent(WarnAllocation const& allocation);
  void forget(WarnAllocation& allocation, Dropped& dropped);

  void order(std::vector<Touch> const& touches, Sequence task);
  void read(Touch const& touch, Sequence task, Label const& label);
  void write(Touch const& touch, Sequence task, Label const& label);
  void look_at_captures(WarnAllocation& allocation, WarnArea const& area, Sequence task,
                        Label const& label);

  void tell(WarningKind kind, Label const& task, WarnArea const& area, std::string const& text);
  void tell_early(WarnArea::By const& early, WarnArea::By const& writer, WarnArea const& area);
  void tell_overwritten(WarnArea const& lost, Label const& by, WarnArea const& with);
  void tell_undeclared(Label const& holder, Label const& writer, WarnArea const& area);

  // Waits: finds those after which the host cannot have read anything.
  void first_task_after_wait();
  void task_after_wait(Label const& label, bool is_plain);
  void over_after_wait(WarnArea& area, bool is_read);
  void check_wait();
  struct Wait {
    std::source_location site;
    std::uint64_t number = 0;
    Sequence last = 0;            ///< of the tasks before it
    std::vector<Sequence> sinks;  ///< tasks that no other one of them depends on
    std::uint64_t bytes = 0;      ///< written by them, in Views
    std::size_t unread = 0;       ///< areas
    std::string resource;         ///< one of them
    std::string area;
    std::chrono::steady_clock::time_point returned;
    std::thread::id thread;
    bool is_first = false;      ///< no task has come since
    bool is_candidate = false;  ///< the host cannot have read so much before the next task
    std::optional<Label> kept;  ///< a task that is independent of some that were waited for
    Label apart;                ///< one of the latter
  };

  WarningReporter& m_teller;
  std::atomic<std::uint64_t> const& m_looks;
  std::map<std::uintptr_t, std::unique_ptr<WarnAllocation>> m_allocations;  ///< by begin; disjoint
  /// Allocations that the examined task may still refer to. Their memory is not kept.
  std::vector<std::unique_ptr<WarnAllocation>> m_gone;
  std::size_t m_made = 0;  ///< since the last sweep
  WarnOrder m_order;
  Wait m_wait;
  std::map<std::pair<std::string, std::uint32_t>, int> m_idle_waits;  ///< by file and line
};

}  // namespace trellis::Impl

#endif
