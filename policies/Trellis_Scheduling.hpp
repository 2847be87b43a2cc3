// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SCHEDULING_HPP
#define TRELLIS_SCHEDULING_HPP

/// With this header you control the order of tasks: by scheduling policies, and by rules between
/// tasks that have tags.
#include <Trellis_PriorityPolicy.hpp>
#include <annotations/Trellis_Properties.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskGraph.hpp>

#include <utility>

namespace trellis {

/// Returns a property of your own, which the rules of the graph look at, see `TaskGraph::add_rule`.
template <TagValue T>
Impl::Tagged<T> tag(T value) {
  return {{}, std::move(value)};
}
template <class T>
  requires(!TagValue<T>)
Impl::Property tag(T const&) {
  static_assert(sizeof(T) == 0,
                "Trellis: the type of a tag has a default value, can be copied, and is compared "
                "with ==");
  return {};
}

}  // namespace trellis

#endif
