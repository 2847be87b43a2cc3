// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_BODYTRAITS_HPP
#define TRELLIS_BODYTRAITS_HPP

#include <string_view>

namespace trellis::Impl {

/// What a pattern says of its bodies: each has such a `static constexpr` member `traits`.
///
/// A body has `run(void* instance, Label const&)`; a `result` when its future has a value; and
/// `finish()` when that comes after what `run` has launched.
struct BodyTraits {
  std::string_view pattern;  ///< "parallel_for", ...
  /// Its first member is `functor`, which Kokkos runs. Kokkos copies its functors, so it has copies.
  bool has_functor = false;
  /// Its first members are `callable` and `views`, with which that is called. (Whether a callable
  /// has copies its type need not tell.)
  bool has_callable = false;
  bool may_wait = false;     ///< it is code of the user's, which may wait for other tasks
  bool may_give_up = false;  ///< the same code may give up accesses
  bool is_section = false;   ///< the callable is a SectionCall
  bool copies_between_spaces = false;
  /// On a device, `run` calls nothing of the user's on the host, so a plan may launch what it has
  /// launched once.
  bool launches_only = false;
  /// What it calls its functor with may have Views, which are not known before it runs.
  bool hides_captures = false;
};

}  // namespace trellis::Impl

#endif
