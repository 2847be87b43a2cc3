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

/// With this header you advise a graph: how its `fork_join` sections run, which of its `fusable`
/// tasks are held back while they are ready, and when several of these run as one.
namespace trellis {

namespace Impl {
struct FusionOps;
class SpaceAdapter;
}  // namespace Impl

/// What fusable tasks have in common that may run as one: the type of the functor and the space
/// (and the stream, if the user gave one). A plain value; `TaskKind()` stands for none.
class TaskKind {
 public:
  TaskKind() = default;
  TaskKind(Impl::FusionOps const* ops, Impl::SpaceAdapter const* space, int stream)
      : m_ops(ops), m_space(space), m_stream(stream) {}

  [[nodiscard]] explicit operator bool() const { return m_ops != nullptr; }
  /// The functor's type and the space, for people; "none".
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

/// How a section runs.
enum class SectionPolicy {
  serial,             ///< part after part, on the thread that waits: for small sections
  parallel,           ///< then what is held back is looked at: it may be released or fused
  parallel_keep_held  ///< without that look
};

/// What to do with the tasks of one kind that are held back.
struct FuseInstruction {
  /// Who looks: the thread by which a task becomes ready, one that has nothing else to do, or also
  /// that one but not before the section is over (as long as something else goes on).
  enum class When { at_spawn, when_idle, section_end };
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  static constexpr int home = -1;

  std::size_t min = never;  ///< no batch has fewer tasks; those that are left run one by one
  std::size_t max = never;  ///< no batch has more; at least `min`
  /// `home`: where the tasks are to run. Or a device, by its number: of tasks on a device another
  /// one of their space, if the two can wait for each other; of a batch of tasks of the host that
  /// are `fusable_on<Space>` one of that space. Their Views must be reachable from all devices that
  /// the advice names. Where there is no such device, and of other tasks of the host, it says no
  /// more than `home`.
  int device = home;
  When when = When::when_idle;
};

/// A batch, and what goes on around it.
struct FusionSample {
  std::size_t batch = 0;         ///< tasks in it; 1: it goes by itself
  std::size_t held = 0;          ///< of the kind, now; when it is formed with the batch
  double mean_held = 0;          ///< when batches of the kind were formed, as a moving average
  double done_when_awaited = 0;  ///< 0 to 1: how often a wait for a number found it done already
  int device = FuseInstruction::home;  ///< where it went
  std::chrono::nanoseconds time{};     ///< that it took on a thread of the host
};

/// Advice. It owns no task, and whatever it answers changes neither results nor whether the program
/// ends: what is held back is released when a thread waits for it, or has nothing else to do, when
/// the cap is reached, or the graph ends.
///
/// Any function may be called by several threads at once, without locks, but must not use the
/// graph. What one throws ends the program. An object may serve several graphs.
class Orchestration {
 public:
  Orchestration() = default;
  Orchestration(Orchestration const&) = delete;
  Orchestration& operator=(Orchestration const&) = delete;
  virtual ~Orchestration() = default;

  /// As `make_orchestration` takes it: "native", "fuse_late:16".
  [[nodiscard]] virtual std::string name() const = 0;

  /// A section begins, and ends: always in pairs, on one object, and `section` comes between.
  /// `depth`: in how many sections it is, 0 for one that is in none.
  virtual void section_starts(int /*depth*/) {}
  virtual void section_ends(int /*depth*/) {}
  /// How it is to run. `parts`: how many it has; `kind`: of all of them, if they have one.
  [[nodiscard]] virtual SectionPolicy section(int depth, std::size_t /*parts*/, TaskKind /*kind*/) {
    return depth == 0 ? SectionPolicy::parallel : SectionPolicy::serial;
  }
  /// How many tasks of this kind may be held back; one more is released at once. With `TaskKind()`:
  /// how many of all kinds may be when a section has ended.
  [[nodiscard]] virtual std::size_t hold_back(TaskKind /*kind*/) { return 0; }
  /// Asked when tasks of this kind are held back, and when some are to be released.
  [[nodiscard]] virtual FuseInstruction fuse(TaskKind /*kind*/) { return {}; }
  /// Tasks have been released as the last answer of `fuse` said: a batch, or one by itself.
  virtual void formed(TaskKind /*kind*/, FusionSample const& /*sample*/) {}
  /// A batch of two or more has run on a thread of the host.
  virtual void observed(TaskKind /*kind*/, FusionSample const& /*sample*/) {}
};

/// Holds nothing back, and runs sections in parallel, those within others serially: the default.
[[nodiscard]] std::shared_ptr<Orchestration> make_native();
/// Holds all fusable tasks back until the section has ended: sections first, one after the other.
[[nodiscard]] std::shared_ptr<Orchestration> make_bsp();
/// Holds all fusable tasks back for threads that have nothing else to do: they fill the gaps of
/// sections.
[[nodiscard]] std::shared_ptr<Orchestration> make_backfill();
/// Batches of `n` as soon as so many are ready, by the thread that makes the last one ready.
[[nodiscard]] std::shared_ptr<Orchestration> make_fuse_immediately(std::size_t n);
/// Batches of `n` by threads that have nothing else to do.
[[nodiscard]] std::shared_ptr<Orchestration> make_fuse_late(std::size_t n);
/// Within a section all fusable tasks are held back; when it ends they go as one batch for each
/// kind, those that may go to this device to it. Outside of sections nothing is held back.
[[nodiscard]] std::shared_ptr<Orchestration> make_all_on_device(int device);
/// Batches of all tasks of a kind, as soon as `n` are ready: the first batch at home, the next ones
/// on the devices 0, 1, ... `devices` - 1, and so on in turn, if they may go there.
[[nodiscard]] std::shared_ptr<Orchestration> make_round_robin(std::size_t n, int devices = 1);
/// Runs 16 sections with each of the strategies above, then goes on with one of them at random, in
/// turns of 16 sections, each the likelier the faster its sections were.
[[nodiscard]] std::shared_ptr<Orchestration> make_learning(std::uint64_t seed = 1);

/// "native", "bsp", "backfill", "fuse_immediately:N", "fuse_late:N", "all_on_device:D",
/// "round_robin:N", "round_robin:N:DEVICES", "learning", "learning:SEED". Throws `Error` for
/// anything else.
[[nodiscard]] std::shared_ptr<Orchestration> make_orchestration(std::string_view text);

}  // namespace trellis

template <>
struct std::hash<trellis::TaskKind> {
  std::size_t operator()(trellis::TaskKind const& kind) const { return kind.hash(); }
};

#endif
