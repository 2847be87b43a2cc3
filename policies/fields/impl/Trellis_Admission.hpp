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
/// order in which they are submitted. Who finds no room waits at a gate: a task of the graph with a
/// Completion, which the gated task comes after. Memory that is released opens the gates, in order,
/// as far as it reaches.
///
/// WHY NOBODY WAITS FOR EVER. A model's order is one in which its tasks can run one by one within
/// the limit (it is refused otherwise), and passes follow each other in that order. Let u be the
/// first task that waits at a gate. All tasks of the model before u hold what they need. Each
/// depends on tasks submitted earlier only: on tasks of the model before itself, which are through
/// their gates, and on other tasks of the graph, which wait at no gate of this model and depend on
/// earlier ones again. So all of them end, and no gate is among what they wait for. When they have
/// ended what is live is exactly what is live before u when tasks run one by one, and then u fits.
/// (A gate of another model is waited for by tasks of that model alone, and it opens when tasks of
/// that one end, which were submitted before the gated task. So all that anybody waits for was
/// submitted earlier, and that has no circle.) What fails or is cancelled goes the same way: it
/// passes its gate, does not run, and releases.
///
/// WHY NOBODY OVERTAKES. A later task v that would fit while u waits has to wait, too. What v makes
/// stays until its last reader w is over, and w comes after u: if w needs memory itself it waits
/// behind u, and u for the bytes of v. (With a limit of 3: u needs 3, v and w need 1 each, and 2 are
/// in use when v comes.) To know that this cannot be, one would have to know all that comes between
/// u and w. Only who needs no memory goes by: it holds nothing that anybody could wait for.
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

  /// Bytes, by place.
  explicit Admission(std::vector<std::size_t> limits)
      : m_limits(std::move(limits)), m_reserved(m_limits.size(), 0) {}

  [[nodiscard]] std::size_t limit(std::size_t place) const { return m_limits[place]; }
  /// Reserves so many bytes at each place. Null: there was room; else where to wait.
  [[nodiscard]] std::shared_ptr<Gate> admit(std::vector<std::size_t> const& needs);
  /// The task that was to wait there has not been submitted.
  void abandon(Gate& gate);
  void release(std::size_t place, std::size_t bytes);
  /// Of memory between passes, which is there at once. False when passes under way have what is
  /// left, or when somebody waits, who might then never get what was promised.
  [[nodiscard]] bool keep(std::size_t place, std::size_t bytes);
  /// The most that was reserved at one time.
  [[nodiscard]] std::size_t most_reserved() const;
  /// Tasks that have waited.
  [[nodiscard]] std::size_t gates() const;

 private:
  [[nodiscard]] bool reserve(std::vector<std::size_t> const& needs);
  void note_most();
  /// A task that gives memory back can report no failure, so opening gates needs no memory.
  using Gates = std::list<std::shared_ptr<Gate>>;
  /// Moves those whose turn it is.
  void open(Gates& opened) noexcept;
  /// Without the lock.
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
