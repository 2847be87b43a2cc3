// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PLACEMENTPOLICY_HPP
#define TRELLIS_PLACEMENTPOLICY_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// With this header you choose, or write, the object that decides where the tasks of a model run.
namespace trellis {

/// Describes a model for placement: the tasks of an iteration. Positions stand for names.
struct PlacementGraph {
  static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
  struct Target {
    std::string name;
    int type;  ///< a task takes the same time on targets of one type
    bool is_host;
    int lanes = 1;  ///< tasks that it runs at a time; on the host its workers
    int group = 0;  ///< devices of one group copy to each other directly, others over the host
    /// Bytes that it has for fields, and copies of fields, that exist only during an iteration.
    std::size_t room = any_number;
  };
  struct Task {
    std::string label;
    std::size_t number;         ///< does not change between iterations
    std::vector<int> eligible;  ///< targets where it may run, in the model's order; at least one
    std::vector<int> before;    ///< tasks whose fields it needs
    std::vector<int> reads;     ///< fields
    std::vector<int> makes;
    int unit;  ///< tasks of one unit compute one field, in parts, and go to one target
  };
  struct Field {
    std::size_t bytes;
    int home;  ///< target where it has memory between iterations; -1: none
    // The second target of a field that the program has at two; one or both are up to date.
    int second_home = -1;
    bool is_valid_at_home = true;
    bool is_valid_at_second = false;
    bool is_covered = true;  ///< the tasks compute all of it; else the rest keeps its values
  };
  std::vector<Target> targets;
  std::vector<Task> tasks;
  std::vector<Field> fields;
  std::uint64_t version = 0;  ///< changes when something in the graph changes
};

/// Says how long a task ran at a target, without transfers. On a device this is the time of its
/// kernel, without the launch.
struct PlacementTime {
  std::size_t task;  ///< number of the task
  int target;
  std::int64_t nanoseconds;
  bool found_new_memory;  ///< the task may have been the first to touch it
  bool is_lost;           ///< it has failed, or has never run, so there is no time
};
/// A copy that a policy requests in an iteration only to measure its time.
struct TransferProbe {
  int from;  ///< targets
  int to;
  std::size_t bytes;
  std::size_t memory = 0;  ///< bytes that it takes at each end, if more
  friend bool operator==(TransferProbe const&, TransferProbe const&) = default;
};
struct TransferTime {
  int from;  ///< targets
  int to;
  std::size_t bytes;
  std::int64_t nanoseconds;
  bool is_probe;  ///< a probe has all links for itself; another copy may have waited for them
  bool found_new_memory;
  bool is_lost;
};

/// Decides before each iteration of a model at which target each task runs. It serves one model.
/// The submitting thread calls `prepare` and `submitted`; any thread may call `ran` and `copied`.
class PlacementPolicy {
 public:
  PlacementPolicy() = default;
  PlacementPolicy(PlacementPolicy const&) = delete;
  PlacementPolicy& operator=(PlacementPolicy const&) = delete;
  virtual ~PlacementPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Sets `places`, which has the present target of each task, to one of the task's `eligible`. If
  /// targets have a `room`, places that do not fit are refused.
  virtual void prepare(PlacementGraph const& graph, std::span<int> places) = 0;
  /// Returns copies for the iteration of the last `prepare`, between the host and a device, or
  /// between devices of one group. They come first, one after the other, in memory of their own.
  [[nodiscard]] virtual std::vector<TransferProbe> probes() const { return {}; }
  /// Called when an iteration with the places of the last `prepare` is submitted. If the iteration
  /// is measured, `ran` is later called for each of its tasks.
  virtual void submitted() {}
  /// True if the iteration that is being submitted must be measured. Then a device runs one of its
  /// tasks at a time.
  [[nodiscard]] virtual bool wants_times() const { return false; }
  virtual void ran(PlacementTime const&) {}
  virtual void copied(TransferTime const&) {}
  /// Drops all measurements.
  virtual void forget() {}

  // Called by models. `take` returns false when another model has the policy.
  [[nodiscard]] bool take() { return !m_is_taken.exchange(true, std::memory_order_acquire); }
  void give_back() { m_is_taken.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> m_is_taken{false};
};

/// Returns a policy that places each task on the host if that is allowed, else at the first target
/// that the task is eligible for.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_host_placement();
/// Returns a policy that places each task at the first target that the task is eligible for, in the
/// order of the model's `targets`.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_order_placement();

/// Says how chains of tasks are spread over devices of one type.
enum class Balance : unsigned char {
  round_robin,   ///< in turn, beginning with the second device
  least_loaded,  ///< to the device with the fewest tasks; the last of several
};

/// Says how a hybrid placement chooses between host and devices.
struct HybridOptions {
  Balance balance = Balance::least_loaded;
};
/// Returns a policy that measures, and then decides. Each task that may run at targets of several
/// types runs at each of them, in an iteration to warm up and in one that counts (in more, if its
/// memory was new). For each link that may be needed, a small and a large copy tell latency and
/// bandwidth. Then tasks that follow each other are joined to chains, and each chain is assigned to
/// a type of targets. The assignment has the shortest iteration when tasks and copies run as a list
/// schedule; among equally short ones it has the least work. Chains of device tasks are spread over
/// the devices of a type. From then on the places are fixed, and nothing is measured.
///
/// Places that do not fit into the room of a target are not chosen, neither for measurements nor in
/// the end, if others are found that fit. If there are at most 4096 ways to place the tasks, all of
/// them are considered.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_hybrid_placement(
    HybridOptions const& options = {});

}  // namespace trellis

#endif
