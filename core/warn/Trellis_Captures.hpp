// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CAPTURES_HPP
#define TRELLIS_IMPL_CAPTURES_HPP

#include <task/Trellis_AccessRequest.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace trellis::Impl {

/// Memory for a body that is in no task, and the body, once it is made.
class BodyRoom {
 public:
  explicit BodyRoom(TaskSpec const& spec);
  BodyRoom(BodyRoom const&) = delete;
  BodyRoom& operator=(BodyRoom const&) = delete;
  ~BodyRoom();
  /// `construct(memory)` makes the body.
  void make(FunctionRef<void(void* memory)> construct) {
    construct(m_memory);
    m_is_made = true;
  }
  [[nodiscard]] void const* body() const { return m_memory; }

 private:
  TaskOps const& m_ops;
  std::size_t const m_alignment;
  void* const m_memory;
  bool m_is_made = false;
};

/// Finds the Views that the functor or the callable of a task holds.
///
/// A functor that Kokkos copies holds the Views whose allocations have more references while copies
/// of it exist, wherever in it they are. Other threads make and drop references meanwhile, perhaps
/// in step with the copies. So the functor is copied in rounds, each with another number of copies
/// alive at the same time. In each undisturbed round, a held View gains and loses as many
/// references as there are copies, times a constant. References of other threads are not in
/// proportion to the copies. A View is held after three such rounds, or after one if its reference
/// is seen in the functor. A View that neither gains nor loses a reference for half of the copies
/// of a round is not held. A View that no round decides counts as not held. While another thread
/// examines a functor, one of this thread is only checked for the Views that its task declares.
///
/// The callable of a host task may have no copy, or an expensive one. A move changes no count, and
/// other threads may count when it is destroyed, too. So its bytes in memory are only read: it
/// holds the Views found there. If it has an address behind which others may lie, everything else
/// is unknown.
class Captures {
 public:
  /// Beyond this number of known Views only some of the tasks are examined, so that on average a
  /// task costs no more.
  static constexpr std::size_t most_known = 1024;

  /// `known`: Views some of which the body may hold.
  Captures(TaskSpec const& spec, std::vector<std::shared_ptr<ResourceHold>> const& known)
      : m_spec(spec), m_known(known) {
    find_declared();
  }
  Captures(Captures const&) = delete;
  Captures& operator=(Captures const&) = delete;

  /// True if there is a View that the body may hold, or should.
  [[nodiscard]] bool has_candidates() const { return !m_declared.empty() || !m_known.empty(); }
  /// Examines a functor that Kokkos copies. Calls the user's copy constructors and destructors.
  void look_at_copies(void const* body);
  /// Examines a callable, without calling user code. Requires that all bytes of the body that are
  /// not part of its values were zero before it was made.
  void look_at_bytes(void const* body);

  /// The known Views that it holds.
  [[nodiscard]] std::vector<ResourceHold const*> const& held() const { return m_held; }
  /// The accesses that update a View atomically while the callable holds a reference to it that is
  /// not known to be an atomic View. A callable that takes its Views as arguments holds none.
  [[nodiscard]] std::vector<AccessRequest const*> const& updated() const { return m_updated; }
  /// The accesses to Views of which it holds neither a reference nor an address.
  [[nodiscard]] std::vector<AccessRequest const*> const& missing() const { return m_missing; }
  /// True for a callable that holds Views and knows of nothing else: no other task, and no graph.
  [[nodiscard]] bool knows_only_views() const { return m_knows_only_views; }

 private:
  static constexpr std::array<long, 6> alive_in_round{2, 4, 8, 3, 5, 7};  ///< copies
  static constexpr int most_to_agree = 3;                                 ///< rounds
  struct Declared {
    AccessRequest const* request;
    std::unique_ptr<ResourceHold> hold;
    bool only_updates = false;  ///< all accesses to it are atomic, to plain Views
    bool is_held = false;
  };
  void find_declared();
  void compare_declared(void const* body);
  [[nodiscard]] std::span<std::byte const> bytes_of(void const* body) const;
  [[nodiscard]] bool holds_any() const;
  [[nodiscard]] bool is_seen(void const* body, ResourceHold const& hold) const;
  [[nodiscard]] bool may_hide(void const* body, std::vector<Declared const*> const& missing) const;
  [[nodiscard]] bool knows_more(std::span<std::byte const> bytes) const;

  TaskSpec const& m_spec;
  std::vector<std::shared_ptr<ResourceHold>> const& m_known;
  std::vector<Declared> m_declared;
  std::vector<ResourceHold const*> m_held;
  std::vector<AccessRequest const*> m_updated;
  std::vector<AccessRequest const*> m_missing;
  bool m_knows_only_views = false;
};

}  // namespace trellis::Impl

#endif
