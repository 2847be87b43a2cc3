// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKOPS_HPP
#define TRELLIS_IMPL_TASKOPS_HPP

#include <Trellis_Label.hpp>
#include <Trellis_TaskId.hpp>
#include <impl/Trellis_FailurePtr.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace trellis::Impl {

struct FusionOps;

/// The operations of a task's body as plain functions, which the typed fronts provide. A body lives
/// in the task's storage.
struct TaskOps {
  std::string_view pattern;  ///< "parallel_for", ...
  /// Runs the body on an instance of the task's space (null for a host task). May throw.
  void (*run)(void* body, void* instance, Label const& label);
  void (*destroy)(void* body) noexcept;  ///< need not be called where `end` is nothing
  /// Tells the body's future, if it has one, that there will be no result. With a null failure
  /// there may be a result after all, as a recorded task runs again.
  void (*fail)(void* body, TaskId id, std::string const& text, FailurePtr const& failure) noexcept;
  /// Copies the body to other memory. Null: it may not be copied.
  void (*copy)(void const* body, void* to) = nullptr;
  std::size_t size = 0;  ///< of the body, if it has copies
  /// Called for a task on a device when the work that `run` launched is done. Puts a result where
  /// the future finds it. Null: there is nothing to do. May throw.
  void (*finish)(void* body) = nullptr;
  /// True if `run` only launches the same work each time. Then a graph that has captured that work
  /// may be launched instead.
  bool launches_only = false;
  /// True if two bodies with these operations may write their results to one place, from which the
  /// host fetches them when a task is over. So a later one is not launched before.
  bool shares_results = false;
  /// What the destruction of the body runs: nothing; code of Trellis alone; or code of the user's
  /// as well.
  enum class End : unsigned char { nothing, plain, of_user };
  End end = End::of_user;
  /// True if the body is a functor that Kokkos copies as it likes, with a destructor that does
  /// something. No program relies on when that happens, so it may happen after the task is done.
  /// See DeferredDeviceTasks.
  bool may_be_deferred = false;

  /// Not null: the task may be held back and run as one with others of its kind.
  FusionOps const* fusion = nullptr;

  /// Returns how many fork-joins enclose this one. Null: it is not the body of a fork-join.
  int (*fork_join_depth)(void const* body) = nullptr;

  // For warnings.
  static constexpr int not_known = -1;
  /// The number of bytes at the beginning of the body that the functor or callable has captured.
  /// For a callable that includes the Views that it is called with.
  int captured = not_known;
  bool takes_views = false;  ///< as arguments, so it need not capture them
  bool is_closure = false;   ///< it is a lambda that captures something
  /// True if the accesses are those of one call, and the body makes them all.
  bool is_tracked = false;
  bool may_wait = false;           ///< the body is code that may wait for other tasks
  bool leaves_only_views = false;  ///< the body has no result, and no code but kernels
};

/// The `TaskOps::fail` of a body without a result.
inline void no_result(void*, TaskId, std::string const&, FailurePtr const&) noexcept {}

}  // namespace trellis::Impl

#endif
