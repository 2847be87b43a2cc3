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

/// With this header you pick, or write, the object that says where the tasks of a model run.
namespace trellis {

/// A model as far as placement is concerned: the tasks of a pass, with positions as names.
struct PlacementGraph {
  static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
  struct Target {
    std::string name;
    int type;  ///< targets of one type take the same time for a task
    bool is_host;
    int lanes = 1;  ///< tasks that it runs at a time: of the host its workers
    int group = 0;  ///< devices of one group copy to each other directly, others over the host
    /// Bytes that it has for fields, and copies of fields, that are there only during a pass.
    std::size_t room = any_number;
  };
  struct Task {
    std::string label;
    std::size_t number;         ///< the same in each pass
    std::vector<int> eligible;  ///< targets, in the model's order; at least one
    std::vector<int> before;    ///< tasks whose fields it needs
    std::vector<int> reads;     ///< fields
    std::vector<int> makes;
    int unit;  ///< tasks of one unit compute one field, in parts, and go to one target
  };
  struct Field {
    std::size_t bytes;
    int home;  ///< the target where it has memory between passes, -1: none
    // Of a field that the program has at two targets; both are up to date, or one of them.
    int second_home = -1;
    bool is_valid_at_home = true;
    bool is_valid_at_second = false;
    bool is_covered = true;  ///< the tasks compute all of it; else the rest keeps its values
  };
  std::vector<Target> targets;
  std::vector<Task> tasks;
  std::vector<Field> fields;
  std::uint64_t version = 0;  ///< another one than before: something is different
};

/// How long a task ran at a target, without transfers: on a device its kernel, not its launch.
struct PlacementTime {
  std::size_t task;  ///< its number
  int target;
  std::int64_t nanoseconds;
  bool found_new_memory;  ///< which it may have been the first to touch
  bool is_lost;           ///< it has failed, or has never run: there is no time
};
/// A copy that a policy wants to be made in a pass for its time alone.
struct TransferProbe {
  int from;  ///< targets
  int to;
  std::size_t bytes;
  std::size_t memory = 0;  ///< that it takes at each end, if that is more
  friend bool operator==(TransferProbe const&, TransferProbe const&) = default;
};
struct TransferTime {
  int from;  ///< targets
  int to;
  std::size_t bytes;
  std::int64_t nanoseconds;
  bool is_probe;  ///< it had all links for itself; any other one may have waited for them
  bool found_new_memory;
  bool is_lost;
};

/// Says before each pass of a model at which target each task runs. It serves one model. `prepare`
/// and `submitted` are called by the thread that submits; `ran` and `copied` by any.
class PlacementPolicy {
 public:
  PlacementPolicy() = default;
  PlacementPolicy(PlacementPolicy const&) = delete;
  PlacementPolicy& operator=(PlacementPolicy const&) = delete;
  virtual ~PlacementPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// `places`: of each task, one of its `eligible`; what it is so far, to be changed.
  /// Where targets have a `room`, what does not fit there is refused.
  virtual void prepare(PlacementGraph const& graph, std::span<int> places) = 0;
  /// Copies for the pass of the last `prepare`, between targets of which one is a device, or that
  /// are of one group. They come first, one after the other, in memory of their own.
  [[nodiscard]] virtual std::vector<TransferProbe> probes() const { return {}; }
  /// A pass with the places of the last `prepare` is being submitted; each of its tasks is going to
  /// be told to `ran` if the pass is measured.
  virtual void submitted() {}
  /// Is the pass that is being submitted to be measured? Then a device runs one of its tasks at a
  /// time.
  [[nodiscard]] virtual bool wants_times() const { return false; }
  virtual void ran(PlacementTime const&) {}
  virtual void copied(TransferTime const&) {}
  /// What has been measured holds no more.
  virtual void forget() {}

  // For models. `take` returns false when another one has it.
  [[nodiscard]] bool take() { return !m_is_taken.exchange(true, std::memory_order_acquire); }
  void give_back() { m_is_taken.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> m_is_taken{false};
};

/// Each task on the host where it may, else at the first target that it is eligible for.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_host_placement();
/// Each task at the first target that it is eligible for, in the order of the model's `targets`.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_order_placement();

/// How chains of tasks are spread over devices that are alike.
enum class Balance : unsigned char {
  round_robin,   ///< in turn, beginning with the second device
  least_loaded,  ///< to the device with the fewest tasks; of several the last one
};

/// How a hybrid placement chooses between host and devices.
struct HybridOptions {
  Balance balance = Balance::least_loaded;
};
/// Measures, then decides. Each task that may run at targets of several types does so at each of
/// them, in a pass to warm up and in one that counts (in more, where its memory was new). Of each
/// link that may be needed a small and a large copy tell latency and bandwidth. Then tasks that
/// follow each other are taken together as chains, and the chains go to types of targets so that a
/// pass is over soonest when they, and the copies between them, run as a list schedule; what is as
/// soon has the least work. Chains of device tasks are spread over the devices of that type. From
/// then on the places are fixed, and nothing is measured.
///
/// What does not fit into the room of a target is not chosen, neither to measure nor in the end,
/// as long as something else is found that does. While there are up to 4096 ways to place the tasks
/// all of them are looked at.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_hybrid_placement(
    HybridOptions const& options = {});

}  // namespace trellis

#endif
