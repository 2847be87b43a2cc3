// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ADMISSION_HPP
#define TRELLIS_IMPL_ADMISSION_HPP

#include <Trellis_Completion.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Keeps the memory of one model's fields within its limits, whatever a scheduling policy prefers.
///
/// Each task that needs new memory reserves it before it may start, and the tasks do so in the
/// order of their submission. A task that finds no room waits at a gate: a task of the graph with a
/// Completion, which the gated task comes after. Released memory opens the gates, in order, as far
/// as it suffices.
///
/// WHY NO TASK WAITS FOR EVER. In a model's order its tasks can run one by one within the limit
/// (otherwise the model is refused), and iterations follow each other in that order. Let u be the
/// first task that waits at a gate. All tasks of the model before u hold what they need. Each of
/// these depends only on tasks submitted earlier. If such a task belongs to the model, it is
/// through its gate. If it is another task of the graph, it waits at no gate of this model, and
/// again depends only on earlier tasks. So all of them end, and none of them waits for a gate. When
/// they have ended, exactly that memory is live which is live before u when tasks run one by one,
/// and then u fits. Only tasks of another model wait for a gate of that model. It opens when tasks
/// of that model end that were submitted before the gated task. So each task waits only for tasks
/// that were submitted earlier, and there is no cycle. A task that fails or is cancelled goes the
/// same way: it passes its gate, does not run, and releases.
///
/// WHY NO TASK OVERTAKES. A later task v that would fit while u waits must wait, too. The field
/// that v makes stays until its last reader w is over, and w comes after u. If w needs memory
/// itself, it waits behind u, and u waits for the bytes of v. An example has a limit of 3: u needs
/// 3, v and w need 1 each, and 2 are in use when v comes. To exclude this, one would have to know
/// all tasks between u and w. Only a task that needs no memory may pass: it holds nothing that
/// another task could wait for.
class Admission {
 public:
  class Gate {
   public:
    /// The body of the gate's task.
    void arm(Completion<> completion);

   private:
    friend class Admission;
    Gate(Admission& of, std::vector<std::size_t> needs) : m_of(of), m_needs(std::move(needs)) {}
    Admission& m_of;
    std::vector<std::size_t> m_needs;
    bool m_is_open = false;
    Completion<> m_completion;
  };

  /// `limits` are bytes, by place.
  explicit Admission(std::vector<std::size_t> limits)
      : m_limits(std::move(limits)), m_reserved(m_limits.size(), 0) {}

  [[nodiscard]] std::size_t limit(std::size_t place) const { return m_limits[place]; }
  /// Reserves this many bytes at each place. Returns null if there was room; else the gate to wait
  /// at.
  [[nodiscard]] std::shared_ptr<Gate> admit(std::vector<std::size_t> const& needs);
  /// Called if the submission of the gate's task has failed.
  void abandon(Gate& gate);
  void release(std::size_t place, std::size_t bytes);
  /// Reserves memory between iterations, which must be available at once. Returns false when
  /// iterations under way hold the rest, or when a task waits, as it might then never get what was
  /// promised.
  [[nodiscard]] bool keep(std::size_t place, std::size_t bytes);
  /// Returns the most that was reserved at one time.
  [[nodiscard]] std::size_t most_reserved() const;
  /// Returns the number of tasks that have waited.
  [[nodiscard]] std::size_t gates() const;

 private:
  [[nodiscard]] bool reserve(std::vector<std::size_t> const& needs);
  void note_most();
  /// A task that gives memory back cannot report a failure, so opening gates needs no memory.
  using Gates = std::list<std::shared_ptr<Gate>>;
  /// Moves the gates that can be opened, in order, to `opened`.
  void open(Gates& opened) noexcept;
  /// Completes the gates' tasks; called without the lock.
  static void tell(Gates const& opened);

  std::vector<std::size_t> const m_limits;
  mutable std::mutex m_mutex;
  std::vector<std::size_t> m_reserved;
  Gates m_waiting;
  std::size_t m_most = 0;
  std::size_t m_gates = 0;
};

}  // namespace trellis::Impl

#endif
