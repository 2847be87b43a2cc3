// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ANYSTATE_HPP
#define TRELLIS_IMPL_ANYSTATE_HPP

#include <Trellis_Access.hpp>

#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

namespace trellis::Impl {

/// An access state of a user's type, as the engine sees it. States of two types know nothing of
/// each other. So they count as dependent, and neither as a superset of the other. The user's
/// functions are called under the lock of a scope and must not throw.
class AnyState {
 public:
  virtual ~AnyState() = default;

  [[nodiscard]] virtual bool depends_on(AnyState const& other) const noexcept = 0;
  [[nodiscard]] virtual bool excludes(AnyState const& other) const noexcept = 0;
  [[nodiscard]] virtual bool covers(AnyState const& other) const noexcept = 0;
  /// True if the two disagree on whether they depend on (or exclude) each other.
  [[nodiscard]] virtual bool disagrees_with(AnyState const& other) const noexcept = 0;
  [[nodiscard]] virtual bool can_exclude() const noexcept = 0;
  [[nodiscard]] virtual std::string text() const = 0;
};
using StatePtr = std::shared_ptr<AnyState const>;

template <AccessState A>
class StateOf final : public AnyState {
 public:
  explicit StateOf(A state) : m_state(std::move(state)) {}

  [[nodiscard]] bool depends_on(AnyState const& other) const noexcept override {
    A const* const same = cast(other);
    return same == nullptr || m_state.is_dependent_of(*same);
  }
  [[nodiscard]] bool excludes(AnyState const& other) const noexcept override {
    A const* const same = cast(other);
    return same != nullptr && !m_state.is_dependent_of(*same) && excludes_state(m_state, *same);
  }
  [[nodiscard]] bool covers(AnyState const& other) const noexcept override {
    A const* const same = cast(other);
    return same != nullptr && m_state.is_superset_of(*same);
  }
  [[nodiscard]] bool disagrees_with(AnyState const& other) const noexcept override {
    A const* const same = cast(other);
    if (same == nullptr) return false;
    if (bool(m_state.is_dependent_of(*same)) != bool(same->is_dependent_of(m_state))) return true;
    return excludes_state(m_state, *same) != excludes_state(*same, m_state);
  }
  [[nodiscard]] bool can_exclude() const noexcept override { return ExcludingState<A>; }
  [[nodiscard]] std::string text() const override { return text_of_state(m_state); }

 private:
  static A const* cast(AnyState const& other) {
    return typeid(other) == typeid(StateOf) ? &static_cast<StateOf const&>(other).m_state : nullptr;
  }
  A m_state;
};

/// How a task touches an area: a built-in mode, or a user's state. With a state `mode` is `write`:
/// built-in modes know nothing of the state, so it depends on all of them.
struct AccessKind {
  Mode mode = Mode::none;
  AnyState const* state = nullptr;

  [[nodiscard]] bool depends_on(AccessKind const& other) const noexcept {
    if (state != nullptr && other.state != nullptr) return state->depends_on(*other.state);
    return MatrixAccess<IOMatrix>(mode).is_dependent_of(other.mode);
  }
  [[nodiscard]] bool excludes(AccessKind const& other) const noexcept {
    if (state != nullptr && other.state != nullptr) return state->excludes(*other.state);
    return MatrixAccess<IOMatrix>(mode).excludes(other.mode);
  }
  /// True when a task that holds this may go on with `other`. A mode that conflicts with everything
  /// covers any state.
  [[nodiscard]] bool covers(AccessKind const& other) const noexcept {
    if (other.mode == Mode::none) return true;
    if (state != nullptr) return other.state != nullptr && state->covers(*other.state);
    return MatrixAccess<IOMatrix>(mode).is_superset_of(other.mode);
  }
  [[nodiscard]] bool can_exclude() const noexcept {
    return state != nullptr ? state->can_exclude() : mode == Mode::exclusive;
  }
  [[nodiscard]] std::string text() const {
    return state != nullptr ? state->text() : std::string(to_string(mode));
  }
};

}  // namespace trellis::Impl

#endif
