// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CAPTURES_HPP
#define TRELLIS_IMPL_CAPTURES_HPP

#include <access/Trellis_AccessRequest.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace trellis::Impl {

/// Which Views a functor holds: those whose allocations have more references once it is copied.
///
/// Others may make and drop references meanwhile, so a copy is made again until the answer is sure.
/// A reference that is held shows in every copy, and is gone with it; one that is not held may show
/// by chance, but not so many times in a row, there and gone again.
class Captures {
 public:
  /// Beyond so many known Views only some of the tasks are looked at, so that in the mean a task
  /// costs no more.
  static constexpr std::size_t most_known = 1024;

  /// Of a body in its place. `known`: Views of which it may hold some.
  Captures(TaskSpec const& spec, std::vector<std::shared_ptr<ResourceHold>> const& known)
      : m_spec(spec), m_known(known) {}
  Captures(Captures const&) = delete;
  Captures& operator=(Captures const&) = delete;

  /// May call the user's copy constructors and destructors.
  void look(void const* body);

  /// Of the known ones, those that it holds.
  [[nodiscard]] std::vector<ResourceHold const*> const& held() const { return m_held; }
  /// Of the accesses, those to Views that it does not hold, nor any address in them.
  [[nodiscard]] std::vector<AccessRequest const*> const& missing() const { return m_missing; }

 private:
  static constexpr int most = 8;
  static constexpr int most_unseen = 64;  ///< of a View that the functor does not hold in itself
  struct Declared {
    AccessRequest const* request;
    std::unique_ptr<ResourceHold> hold;
    bool is_held = false;
  };
  void find_declared();
  [[nodiscard]] bool is_seen(void const* body, ResourceHold const& hold) const;
  [[nodiscard]] bool may_hide(void const* body, std::vector<Declared const*> const& missing) const;

  TaskSpec const& m_spec;
  std::vector<std::shared_ptr<ResourceHold>> const& m_known;
  std::vector<Declared> m_declared;
  std::vector<ResourceHold const*> m_held;
  std::vector<AccessRequest const*> m_missing;
};

}  // namespace trellis::Impl

#endif
