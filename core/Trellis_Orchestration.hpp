// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ORCHESTRATION_HPP
#define TRELLIS_ORCHESTRATION_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

/// With this header you advise a graph: how its fork-joins run, which of its `fusable`
/// tasks are held back while they are ready, and when several of these run as one.
namespace trellis {

namespace Impl {
struct FusionOps;
class SpaceAdapter;
}  // namespace Impl

/// What fusable tasks that may run as one have in common: the type of the functor and the space
/// (and the stream, if the user gave one). A plain value; `TaskKind()` stands for none.
class TaskKind {
 public:
  TaskKind() = default;
  TaskKind(Impl::FusionOps const* ops, Impl::SpaceAdapter const* space, int stream)
      : m_ops(ops), m_space(space), m_stream(stream) {}

  [[nodiscard]] explicit operator bool() const { return m_ops != nullptr; }
  /// The functor's type and the space, for people to read; or "none".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t hash() const {
    return std::hash<void const*>()(m_ops) * 31 + std::hash<void const*>()(m_space) +
           static_cast<std::size_t>(m_stream);
  }
  friend bool operator==(TaskKind const&, TaskKind const&) = default;

  [[nodiscard]] Impl::FusionOps const* ops() const { return m_ops; }
  [[nodiscard]] Impl::SpaceAdapter const* space() const { return m_space; }

 private:
  Impl::FusionOps const* m_ops = nullptr;
  Impl::SpaceAdapter const* m_space = nullptr;
  int m_stream = -1;
};

/// How a fork-join runs.
enum class ForkJoinPolicy {
  serial,             ///< child after child, on the thread that waits: for small fork-joins
  parallel,           ///< then tasks held back are looked at, to be released or fused
  parallel_keep_held  ///< without that look
};

/// What to do with the tasks of one kind that are held back.
struct FuseInstruction {
  /// When tasks are looked at. `at_spawn`: by the thread that makes a task ready. `when_idle`: by a
  /// thread that has nothing else to do. `fork_join_end`: also by that one, but not before the
  /// fork-join is over (as long as other work goes on).
  enum class When { at_spawn, when_idle, fork_join_end };
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  static constexpr int home = -1;

  std::size_t min = never;  ///< no batch has fewer tasks; the rest run one by one
  std::size_t max = never;  ///< no batch has more; at least `min`
  /// `home`: where the tasks are meant to run. A number is a device. Tasks on a device go to
  /// another device of their space, if the two can wait for each other. A batch of host tasks that
  /// are `fusable_on<Space>` goes to a device of that space. Their Views must be reachable from all
  /// devices that the advice names. If there is no such device, and for other host tasks, it means
  /// `home`.
  int device = home;
  When when = When::when_idle;
};

/// A batch and its circumstances.
struct FusionSample {
  std::size_t batch = 0;         ///< tasks in it; 1: a task by itself
  std::size_t held = 0;          ///< of the kind, held back now; when formed, with the batch
  double mean_held = 0;          ///< moving average of that over the batches of the kind
  double done_when_awaited = 0;  ///< 0 to 1: how often a wait for a number found it already done
  int device = FuseInstruction::home;  ///< where it went
  std::chrono::nanoseconds time{};     ///< the time that it took on a host thread
};

/// Advice to a graph. It owns no task, and its answers change neither results nor whether the
/// program ends. Tasks held back are released when a thread waits for them or has nothing else to
/// do, when the cap is reached, or when the graph ends.
///
/// Any function may be called by several threads at once, without locks, but must not use the
/// graph. An exception ends the program. An object may serve several graphs.
class Orchestration {
 public:
  Orchestration() = default;
  Orchestration(Orchestration const&) = delete;
  Orchestration& operator=(Orchestration const&) = delete;
  virtual ~Orchestration() = default;

  /// The name as `make_orchestration` takes it: "native", "fuse_late:16".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Called when a fork-join begins and when it ends: always in pairs, on one object, with
  /// `fork_join` between. `depth`: in how many other fork-joins it is.
  virtual void fork_join_starts(int /*depth*/) {}
  virtual void fork_join_ends(int /*depth*/) {}
  /// Decides how the fork-join runs. `children`: how many it has; `kind`: the kind of all of them,
  /// if they share one.
  [[nodiscard]] virtual ForkJoinPolicy fork_join(int depth, std::size_t /*children*/,
                                                 TaskKind /*kind*/) {
    return depth == 0 ? ForkJoinPolicy::parallel : ForkJoinPolicy::serial;
  }
  /// How many tasks of this kind may be held back; one more is released at once. With `TaskKind()`:
  /// how many of all kinds may be held back when a fork-join has ended.
  [[nodiscard]] virtual std::size_t hold_back(TaskKind /*kind*/) { return 0; }
  /// Asked when tasks of this kind are held back, and when some are to be released.
  [[nodiscard]] virtual FuseInstruction fuse(TaskKind /*kind*/) { return {}; }
  /// Called when tasks have been released as the last answer of `fuse` asked: a batch, or a single
  /// one.
  virtual void formed(TaskKind /*kind*/, FusionSample const& /*sample*/) {}
  /// Called when a batch of two or more has run on a host thread.
  virtual void observed(TaskKind /*kind*/, FusionSample const& /*sample*/) {}
};

/// Holds nothing back, and runs fork-joins in parallel, nested ones serially. This is the default.
[[nodiscard]] std::shared_ptr<Orchestration> make_native();
/// Holds all fusable tasks back until the fork-join has ended, so fork-joins run first, one after
/// another.
[[nodiscard]] std::shared_ptr<Orchestration> make_bsp();
/// Holds all fusable tasks back for threads that have nothing else to do, so they fill the gaps of
/// fork-joins.
[[nodiscard]] std::shared_ptr<Orchestration> make_backfill();
/// Forms batches of `n` as soon as that many are ready, on the thread that makes the last one
/// ready.
[[nodiscard]] std::shared_ptr<Orchestration> make_fuse_immediately(std::size_t n);
/// Forms batches of `n` on threads that have nothing else to do.
[[nodiscard]] std::shared_ptr<Orchestration> make_fuse_late(std::size_t n);
/// Holds all fusable tasks back within a fork-join. When it ends they go as one batch for each
/// kind; the kinds that may run on this device go to it. Outside of fork-joins nothing is held
/// back.
[[nodiscard]] std::shared_ptr<Orchestration> make_all_on_device(int device);
/// Forms batches of all tasks of a kind, as soon as `n` are ready. The first batch runs at home,
/// the next ones on the devices 0, 1, ... `devices` - 1 in turn, if they may run there.
[[nodiscard]] std::shared_ptr<Orchestration> make_round_robin(std::size_t n, int devices = 1);
/// Runs 16 fork-joins with each of the strategies above. Then it picks one of them at random for
/// each 16 fork-joins; the faster the fork-joins of a strategy were, the likelier it is picked.
[[nodiscard]] std::shared_ptr<Orchestration> make_learning(std::uint64_t seed = 1);

/// Makes an object from its name: "native", "bsp", "backfill", "fuse_immediately:N", "fuse_late:N",
/// "all_on_device:D", "round_robin:N", "round_robin:N:DEVICES", "learning", "learning:SEED". Throws
/// `Error` for anything else.
[[nodiscard]] std::shared_ptr<Orchestration> make_orchestration(std::string_view text);

}  // namespace trellis

template <>
struct std::hash<trellis::TaskKind> {
  std::size_t operator()(trellis::TaskKind const& kind) const { return kind.hash(); }
};

#endif
