// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_BODYTRAITS_HPP
#define TRELLIS_BODYTRAITS_HPP

#include <string_view>

namespace trellis::Impl {

/// The properties of a pattern's bodies: each has such a `static constexpr` member `traits`.
///
/// A body has `run(void* instance, Label const&)`; a `result` if its future has a value; and
/// `finish()` if that must be called after the work that `run` has launched.
struct BodyTraits {
  std::string_view pattern;  ///< "parallel_for", ...
  /// Its first member is `functor`, which Kokkos runs. Kokkos copies its functors, so it has
  /// copies.
  bool has_functor = false;
  /// Its first members are `callable` and the `views` that this is called with. (The type of a
  /// callable need not tell whether it has copies.)
  bool has_callable = false;
  bool may_wait = false;      ///< it is user code, which may wait for other tasks
  bool may_give_up = false;   ///< it is user code, which may give up accesses
  bool is_fork_join = false;  ///< the callable is a ForkJoinCall
  bool copies_between_spaces = false;
  /// On a device, `run` calls no user code on the host, so a plan may launch again what `run` has
  /// launched once.
  bool launches_only = false;
  /// It calls its functor with arguments that may have Views, and these are not known before it
  /// runs.
  bool hides_captures = false;
};

}  // namespace trellis::Impl

#endif
