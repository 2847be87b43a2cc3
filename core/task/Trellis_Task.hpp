// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASK_HPP
#define TRELLIS_IMPL_TASK_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Area.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_Label.hpp>
#include <Trellis_Space.hpp>
#include <Trellis_Tag.hpp>
#include <task/Trellis_AnyState.hpp>
#include <task/Trellis_OnDevice.hpp>
#include <failure/Trellis_Failure.hpp>
#include <task/Trellis_TaskMarks.hpp>
#include <task/Trellis_TaskOps.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <base/Trellis_Relaxed.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

namespace trellis::Impl {

struct AreaEntry;
struct Scope;

/// Deletes a scope, whose type is incomplete here.
struct ScopeDeleter {
  void operator()(Scope* scope) const noexcept;
};
using ScopePtr = std::unique_ptr<Scope, ScopeDeleter>;

/// What kind of tasks a scope has; see Scope.
enum class ScopeKind : std::uint8_t { graph, children, rounds };

/// One access of a task in flight, for exclusion and for messages.
struct TaskAccess {
  static constexpr std::uint32_t any_generation = ~std::uint32_t{0};

  AreaEntry* entry;
  Mode mode;
  bool was_put_in = false;       ///< as an unindexed one: left after a demotion
  std::int16_t state = -1;       ///< position in Task::states, or -1
  std::uint32_t generation = 0;  ///< of the entry's group that it joined

  /// It is compared one by one in the table, see AreaEntry, until a later access covers it.
  [[nodiscard]] bool is_unindexed() const { return was_put_in || state >= 0; }
};

/// Data that most tasks do not have. A task's memory gets one when a task there needs it first, and
/// keeps it.
struct TaskExtras : NewFromReserve {
  Vector<StatePtr> states;  ///< of accesses
  Vector<TagPtr> tags;
  Vector<TaskId> after;  ///< explicit dependencies: demotion does not end them

  // The handles of collected and of recorded tasks are resolved by these. They are set before the
  // `live_id` of such a task can be seen, so a thread with such a handle may read them at any time.
  std::atomic<TaskId> provisional{0};  ///< of the last task that was collected, see Provisional
  std::atomic<TaskId> admitted_as{0};  ///< the id that this task got then
  /// The `parent` of the plan that the task was last recorded in, see PlanState. Threads read it
  /// that do not know whether the plan still exists.
  std::atomic<Task*> plan_parent{nullptr};

  std::uint64_t began_ns = 0;  ///< when its body began, where times are wanted, see Events
};

/// A node of the dependency graph and of the scheduling graph while it is in flight. Tasks live in
/// a slab, and their cells are reused. Memory of a task is never returned before its graph ends, so
/// any thread may read a stale pointer. `live_id` tells whether it is stale:
///
/// INVARIANT. `live_id == id` from submission until the task is complete, and never again, as ids
/// are not reused. It changes to 0 under `lock`, after the body's effects, with release order. A
/// thread that reads another value than the id it knows, with acquire order, happens after the
/// body. For the cell's next task is set up by a thread that took the cell from the free list, and
/// taking it happens after completion. Successors are only added under `lock` while
/// `live_id == id`. After that the list belongs to the completing thread. (A recorded task is live
/// as long as its plan, and a collected one has a provisional id there until it is submitted; see
/// PlanState and Provisional.)
///
/// INVARIANT (successors). A task in the list is still to be triggered by this task. So it is
/// pending, its count cannot reach 0 before, and the pointer is not stale for a thread that reads
/// it under `lock` or completes this task. A device task that is launched triggers the tasks that
/// wait for the launch alone. It takes them out under the same hold of `lock` in which it sets
/// `launched`: from then on they may be launched, complete and reused before it is complete itself.
/// Later ones of that kind are not added. A recorded task keeps its list for all its runs, as its
/// successors are not reused while the plan is there. The list of tasks that come before a device
/// task, `OnDevice::predecessors`, may have stale ones. It is only used after a look at `live_id`.
///
/// INVARIANT (count). `unfinished` counts edges whose trigger has not fired. It starts at
/// `being_submitted`. Submission takes that off at its end and adds the number of edges in the same
/// step, so the count cannot reach 0 before. In a task without edges it is set to 0 then, as no
/// other thread counts it down. All decrements are acquire-release: the thread that brings it to 0
/// happens after every predecessor and after the submission. While it is not 0 the task cannot
/// start. Meanwhile another edge may be added under the lock of its scope by adding 1. The count
/// must be known not to reach 0 until then, or a compare-and-swap that never starts from 0 adds it.
/// All stores release. A thread that asks for a recorded task may read the count of its plan's
/// parent when that cell has been given on, see Kernel::is_done. It then happens after the end of
/// the plan.
struct alignas(64) Task {
  Task();
  ~Task();

  static constexpr std::int32_t being_submitted = 1 << 30;
  static constexpr std::uint32_t inline_successors = 5;
  static constexpr std::uint32_t inline_accesses = 5;
  static constexpr std::size_t inline_body = 320;

  // Where a line ends is checked in the source file. One more that both the thread that submits a
  // task and the one that runs it write costs a tenth of a small task.

  // First line: what the threads of predecessors and successors touch.
  std::atomic<TaskId> live_id{0};
  std::atomic<std::int32_t> unfinished{0};
  SpinLock lock;
  bool launched = false;    ///< guarded by lock; on a device only
  bool has_waiter = false;  ///< guarded by lock: a thread sleeps until this task is complete
  std::atomic<TaskState> state{TaskState::pending};
  std::uint32_t successor_count = 0;
  std::int32_t priority = 0;
  Task* successors[inline_successors];

  // Second line: what the thread that runs the task needs besides its body.
  TaskOps const* ops = nullptr;   ///< a refinement of a pending task changes it under lock
  SpaceAdapter* space = nullptr;  ///< null: none
  void* body = nullptr;           ///< in `storage` or on the heap; null: freed
  Task* next = nullptr;           ///< in free lists, Destructors and FusionPool
  FailurePtr failure;  ///< guarded by lock until it is ready, and while it has unfinished children
  TaskId id = 0;
  TaskMarks marks;  ///< none is written once another thread may run it
  /// It may exclude others: it has an exclusive access, or a rule asks for it. A search for live
  /// tasks of one scope reads this, the scope and its kind; see Waiters.
  Relaxed<bool> exclusive{false};
  // Read when a task is reused, so in the line of `next`, which has been read by then.
  Relaxed<ScopeKind> scope_kind{ScopeKind::graph};  ///< of `scope`; `rounds`: `node` is used
  /// `inner` is not null. Set with release order after that, so that the thread that runs the body
  /// may look without the lock.
  std::atomic<bool> is_split{false};
  /// If false, the task has neither tags nor `after`. It does not change once the task is admitted:
  /// a policy may ask for tags while a thread demotes the task, which may give it states.
  bool has_tags_or_after = false;
  bool has_objects = false;  ///< `extras` may hold objects of the user's: states, tags

  // Two lines for exclusion, demotion and messages.
  std::uint32_t access_count = 0;
  TaskAccess accesses[inline_accesses];
  Label label;

  alignas(64) std::byte storage[inline_body];

  // Most tasks neither read nor write the rest. Flags and counts above tell whether it is used, as
  // even a line that is only read would have to be fetched for each task.
  Relaxed<Scope*> scope{nullptr};  ///< that it belongs to, which lives longer; null: the graph's
  /// The scope of its own children. It is set and taken under `children_lock`, or under the graph's
  /// lock (for an iteration, before it is published). So a thread that does not know whether the
  /// task runs holds both while it looks.
  ScopePtr inner;
  /// Guards `inner` and all that is in it, see Scope. It is in the task and not in the scope, as
  /// memory of a task outlives the task. So a thread with a stale pointer may take the lock, and
  /// then sees that the pointer is stale.
  SpinLock children_lock;
  std::unique_ptr<TaskExtras> extras;
  PlanNode* node = nullptr;          ///< of a recorded task: its plan's data of it
  std::size_t body_alignment = 0;    ///< of a body on the heap
  Vector<Task*> more_successors;     ///< beyond the inline ones; keeps its capacity
  Vector<TaskAccess> more_accesses;  ///< beyond the inline ones; keeps its capacity

  std::unique_ptr<OnDevice> on_device;  ///< null: none of its owners has needed one

  // The functions that the invariants above are about; see also `trigger`.
  /// False: the task is complete, and the calling thread happens after its body.
  [[nodiscard]] bool is_live(TaskId known) const {
    return live_id.load(std::memory_order_acquire) == known;
  }
  /// Requires the lock, under which it stays so.
  [[nodiscard]] bool is_live_locked(TaskId known) const {
    return live_id.load(std::memory_order_relaxed) == known;
  }
  /// Makes the task complete. From here on the list of successors belongs to the calling thread.
  /// `before()` is called under the lock. Returns whether a thread sleeps until the task is
  /// complete.
  template <class F>
  [[gnu::always_inline]] bool end_life(F const& before) {
    lock.lock();
    before();
    live_id.store(0, std::memory_order_release);
    bool const is_awaited = has_waiter;
    lock.unlock();
    return is_awaited;
  }
  /// Takes edges off the count. True: nothing is left, so the task is ready.
  [[nodiscard]] bool count_down(std::int32_t edges = 1) {
    return unfinished.fetch_sub(edges, std::memory_order_acq_rel) == edges;
  }
  void begin_submission() { set_edges(being_submitted); }
  void set_edges(std::int32_t edges) { unfinished.store(edges, std::memory_order_release); }
  /// Ends the submission of a task whose handle no other thread has yet. `rest` is what its count
  /// began with, less its edges. Without edges no other thread changes the count. Returns true if
  /// the task is ready.
  [[nodiscard]] bool publish_new(std::int32_t rest) {
    if (rest != being_submitted) return count_down(rest);
    unfinished.store(0, std::memory_order_release);
    return true;
  }
  /// The parent of a plan counts the replays that are not complete, see PlanState.
  void begin_plan() { set_edges(0); }
  void count_replays(std::int32_t by) { unfinished.fetch_add(by, std::memory_order_acq_rel); }
  /// A task of a plan, which has extras, is live from here until the plan is dismantled.
  void begin_recorded(TaskId as, Task* parent) {
    id = as;
    extras->plan_parent.store(parent, std::memory_order_release);
    live_id.store(as, std::memory_order_release);
    set_edges(0);
  }
  void end_recorded() { live_id.store(0, std::memory_order_release); }
  /// Adds an edge that the caller counts down again, so the task cannot start meanwhile. Requires
  /// the lock, under which the task has been found live. Returns the number of edges before; 0: the
  /// task is ready, or has started, and is not held back.
  [[nodiscard]] std::int32_t hold_back() {
    std::int32_t edges = unfinished.load(std::memory_order_acquire);
    while (edges != 0 &&
           !unfinished.compare_exchange_weak(edges, edges + 1, std::memory_order_acq_rel)) {
    }
    return edges;
  }

  /// Fetches the lines that the thread that submits or runs it is going to touch.
  void prefetch() const {
    prefetch_to_write(this);
    prefetch_to_write(&ops);
    prefetch_to_write(&access_count);
    prefetch_to_write(&label);
    prefetch_to_write(storage);
  }
  /// Fetches the successors: the thread that submits them has written their counts last, on another
  /// core.
  void prefetch_successors() const {
    std::uint32_t const inline_ones =
        successor_count < inline_successors ? successor_count : inline_successors;
    for (std::uint32_t k = 0; k < inline_ones; ++k) prefetch_to_write(successors[k]);
  }
  /// Fetches also the lines that a launch touches.
  void prefetch_to_launch() const {
    prefetch();
    if (on_device == nullptr) return;
    prefetch_to_write(&on_device->predecessors);
    prefetch_to_write(&on_device->position);
  }
  template <class F>
  void for_each_successor(F&& f) const {
    for (std::uint32_t k = 0; k < successor_count; ++k) f(successor(k));
  }
  template <class F>
  void for_each_access(F&& f) const {
    for (std::uint32_t k = 0; k < access_count; ++k)
      f(k < inline_accesses ? accesses[k] : more_accesses[k - inline_accesses]);
  }
  /// Returns the device that the task is launched on, whose work is done before the task is; null:
  /// a host thread runs it.
  [[nodiscard]] DeviceAdapter* device() const {
    return space != nullptr ? space->device() : nullptr;
  }
  [[nodiscard]] bool runs_on_device() const { return device() != nullptr; }
  /// True if its body is destroyed later, see DeferredDeviceTasks.
  [[nodiscard]] bool defers_body() const {
    return marks.runs_elsewhere && runs_on_device() && on_device->deferred_bytes.has_value();
  }
  /// Called before a task is published that may be launched on a device. May throw. `stream`: the
  /// one that the user asks for, or -1.
  void prepare_for_device(int stream);
  /// Returns the device that its batch goes to, see FusionPool; or null.
  [[nodiscard]] DeviceAdapter* offloaded() const {
    return on_device != nullptr ? on_device->offloaded : nullptr;
  }
  /// True if it runs on a device, or its batch does. Requires that the task is ready, and the
  /// calling thread has taken it.
  [[nodiscard]] bool goes_to_device() const {
    return runs_on_device() || (marks.is_fusable && offloaded() != nullptr);
  }
  /// True if it belongs to a plan, and runs in rounds.
  [[nodiscard]] bool is_recorded() const { return scope_kind == ScopeKind::rounds; }
  /// Returns the id by which records and observers know the task. To them each run of a recorded
  /// task is a task of its own.
  [[nodiscard]] TaskId public_id() const { return is_recorded() ? node->run_id : id; }
  [[nodiscard]] Task* successor(std::uint32_t k) const {
    return k < inline_successors ? successors[k] : more_successors[k - inline_successors];
  }
  [[nodiscard]] Task* last_successor() const {
    if (successor_count == 0) return nullptr;
    return successor_count <= inline_successors ? successors[successor_count - 1]
                                                : more_successors.back();
  }
  void free_body() noexcept {
    if (body == storage || body == nullptr) return;
    ::operator delete(body, std::align_val_t(body_alignment));
    body = nullptr;
  }
  void clear_successors() {
    if (successor_count > inline_successors) more_successors.clear();
    successor_count = 0;
  }
  /// Removes the successors for which `stays(successor)` is false. Requires: lock is held and the
  /// task is live.
  template <class F>
  void keep_successors(F&& stays) {
    std::uint32_t kept = 0;
    for (std::uint32_t k = 0; k < successor_count; ++k) {
      Task* const each = successor(k);
      if (!stays(each)) continue;
      (kept < inline_successors ? successors[kept] : more_successors[kept - inline_successors]) =
          each;
      ++kept;
    }
    if (successor_count > inline_successors)
      more_successors.resize(kept > inline_successors ? kept - inline_successors : 0);
    successor_count = kept;
  }
  /// Requires: lock is held and the task is live.
  void add_successor(Task* successor) {
    if (successor_count < inline_successors)
      successors[successor_count] = successor;
    else
      more_successors.push_back(successor);
    ++successor_count;
  }
  [[nodiscard]] TaskAccess& access(std::uint32_t k) {
    return k < inline_accesses ? accesses[k] : more_accesses[k - inline_accesses];
  }
  [[nodiscard]] TaskAccess const& access(std::uint32_t k) const {
    return k < inline_accesses ? accesses[k] : more_accesses[k - inline_accesses];
  }
  [[nodiscard]] StatePtr state_of(TaskAccess const& access) const {
    return access.state < 0 ? nullptr : extras->states[static_cast<std::size_t>(access.state)];
  }
  [[nodiscard]] AccessKind kind(TaskAccess const& access) const {
    if (access.state < 0) return {access.mode, nullptr};
    return {access.mode, extras->states[static_cast<std::size_t>(access.state)].get()};
  }
  [[nodiscard]] std::span<TagPtr const> tags() const {
    return has_tags_or_after ? std::span<TagPtr const>(extras->tags) : std::span<TagPtr const>();
  }
  [[nodiscard]] AnyTag const* tag(std::type_index type) const {
    for (TagPtr const& tag : tags())
      if (tag->type() == type) return tag.get();
    return nullptr;
  }
  TaskExtras& extras_memory() {
    if (extras == nullptr) extras = std::make_unique<TaskExtras>();
    return *extras;
  }
  /// Requires that no other thread may run the task yet.
  TaskExtras& tags_or_after() {
    TaskExtras& needed = extras_memory();
    has_tags_or_after = true;
    return needed;
  }
  void clear_extras() {
    if (!has_tags_or_after && !has_objects) return;
    extras->states.clear();
    extras->tags.clear();
    extras->after.clear();
    has_tags_or_after = false;
    has_objects = false;
  }
  void set_state(std::uint32_t k, StatePtr const& to) {
    Vector<StatePtr>& states = extras_memory().states;
    has_objects = true;
    access(k).state = static_cast<std::int16_t>(states.size());
    states.push_back(to);
  }
  void clear_accesses() {
    if (access_count > inline_accesses) more_accesses.clear();
    access_count = 0;
  }
  void add_access(TaskAccess access) {
    if (access_count < inline_accesses)
      accesses[access_count] = access;
    else
      more_accesses.push_back(access);
    ++access_count;
  }
};

/// Gives a task the failure of one before it, or of a child of it. In the end it has the failure of
/// the task that was submitted first, whichever finished first.
void inherit(Task& task, FailurePtr const& failure);
/// Returns the state with which a task ends whose body has returned, and whose children are over.
[[nodiscard]] TaskState state_of_parent(Task const& task);

/// Returns what an edge between two tasks waits for.
[[nodiscard]] Trigger trigger_between(Task const& before, Task const& after);

/// Takes an edge off a task's count, see Task. `ready` gets the task when that was the last.
inline void trigger(Task& successor, FailurePtr const& failure, Vector<Task*>& ready) {
  if (failure != nullptr) inherit(successor, failure);
  if (successor.count_down()) ready.push_back(&successor);
}

}  // namespace trellis::Impl

#endif
