// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PLACEMENTPOLICY_HPP
#define TRELLIS_PLACEMENTPOLICY_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// With this header you pick, or write, the object that says where the tasks of a model run.
namespace trellis {

/// A model as far as placement is concerned: the tasks of a pass, with positions as names.
struct PlacementGraph {
  struct Target {
    std::string name;
    int type;  ///< targets of one type take the same time for a task
    bool is_host;
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
  };
  std::vector<Target> targets;
  std::vector<Task> tasks;
  std::vector<Field> fields;
};

/// How long a task ran at a target, without transfers: on a device its kernel, not its launch.
struct PlacementTime {
  std::size_t task;  ///< its number
  int target;
  std::int64_t nanoseconds;
  bool found_new_memory;  ///< which it may have been the first to touch
  bool is_lost;           ///< it has failed, or has never run: there is no time
};
struct TransferTime {
  int from;  ///< targets
  int to;
  std::size_t bytes;
  std::int64_t nanoseconds;
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
  virtual void prepare(PlacementGraph const& graph, std::span<int> places) = 0;
  /// A pass with the places of the last `prepare` is being submitted; each of its tasks is going to
  /// be told to `ran` if the pass is measured.
  virtual void submitted() {}
  /// Is the pass that is being submitted to be measured?
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

struct HybridOptions {
  Balance balance = Balance::least_loaded;
};
/// Measures, then decides. Each task that may run at targets of several types does so at each of
/// them, in a pass to warm up and in one that counts (in more, where its memory was new); what
/// copies take is measured on the way, as a latency and a bandwidth where fields differ in size.
/// Then tasks that follow each other are taken together as chains, and each chain goes where the
/// tasks and the copies at its ends take least; chains of device tasks are spread over the devices
/// of that type. From then on the places are fixed, and nothing is measured.
[[nodiscard]] std::shared_ptr<PlacementPolicy> make_hybrid_placement(
    HybridOptions const& options = {});

}  // namespace trellis

#endif
