// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TAG_HPP
#define TRELLIS_TAG_HPP

#include <base/Trellis_SharedObject.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>

/// With this header you give tasks properties of your own, and graphs the rules that follow from
/// them:
///
///     enum class Kind { other, input, output };  // a task without a tag has Kind{}
///
///     graph.add_rule<Kind>("input first", trellis::Constraint::ordered,
///         [](Kind earlier, Kind later) {
///           return earlier == Kind::input && later == Kind::output;
///         });
///     trellis::host_task("read", trellis::ResourcePolicy(graph, trellis::tag(Kind::input)), f);
namespace trellis {

/// A user-defined property type. Each task has a value of it, by default `T{}`, constant for the
/// task's life.
template <class T>
concept TagValue = std::default_initializable<T> && std::copyable<T> && std::equality_comparable<T>;

/// What a rule demands of two tasks for which it is true.
enum class Constraint {
  ordered,    ///< they keep the order in which they were submitted
  exclusive,  ///< they never run at the same time; either may go first
};

namespace Impl {

class AnyTag {
 public:
  virtual ~AnyTag() = default;
  [[nodiscard]] virtual std::type_index type() const = 0;
  [[nodiscard]] virtual bool equals(AnyTag const& other) const = 0;  ///< both of one type
};
using TagPtr = std::shared_ptr<AnyTag const>;

template <TagValue T>
class TagOf final : public AnyTag {
 public:
  explicit TagOf(T tag) : value(std::move(tag)) {}
  [[nodiscard]] std::type_index type() const override { return typeid(T); }
  [[nodiscard]] bool equals(AnyTag const& other) const override {
    return value == static_cast<TagOf const&>(other).value;
  }
  T const value;
};

/// Compares two tasks of one graph, or two children of one task. The one submitted first is on the
/// left.
struct TagRule {
  std::string name;
  Constraint constraint;
  std::type_index type;
  TagPtr by_default;
  std::function<bool(AnyTag const&, AnyTag const&)> holds;
};

template <TagValue T, class F>
TagRule make_rule(std::string name, Constraint constraint, F rule) {
  static_assert(std::is_invocable_r_v<bool, F&, T const&, T const&>,
                "Trellis: a rule is a function of two values of the tag, the earlier task's and "
                "the later one's, "
                "that returns bool");
  return {std::move(name), constraint, typeid(T), make_shared_unlocked<TagOf<T>>(T{}),
          [rule = std::move(rule)](AnyTag const& a, AnyTag const& b) mutable -> bool {
            return rule(static_cast<TagOf<T> const&>(a).value,
                        static_cast<TagOf<T> const&>(b).value);
          }};
}

}  // namespace Impl

}  // namespace trellis

#endif
