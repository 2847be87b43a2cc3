// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LATEPLACE_HPP
#define TRELLIS_IMPL_LATEPLACE_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <annotations/Trellis_ViewList.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <Kokkos_Core.hpp>

#include <iterator>
#include <vector>

/// This header has places for Views that get their memory when the task is launched, see
/// Trellis_KnownValue.hpp.
namespace trellis::Impl {

/// Gives the type in which a functor takes a View with this annotation.
template <class How, class V>
struct LateArgumentAs {
  using type = V;
};
template <Mode mode, class V>
struct LateArgumentAs<ModeConstant<mode>, V> : ArgumentAs<mode, V> {};

template <class V>
class LatePlace {
 public:
  using is_late_place = void;
  using seen_type = V;
  KOKKOS_DEFAULTED_FUNCTION LatePlace() = default;
  void set(V const& view) { m_view = view; }
  KOKKOS_FUNCTION V const& get() const { return m_view; }

 private:
  V m_view;
};

/// A place for a range of resources, whose number is known at run time.
template <class V>
class LateListPlace {
 public:
  using is_late_place = void;
  using seen_type = view_list<V> const;
  void set(view_list<V> const& views) { m_views = views; }
  KOKKOS_FUNCTION view_list<V> const& get() const { return m_views; }

 private:
  view_list<V> m_views;
};
template <class Source, class V>
struct LateListSource {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_an_iteration = source_stays<Source>;
  static constexpr bool may_come_later = requires { requires Source::may_come_later; };
  std::vector<Source> sources;
  [[nodiscard]] view_list<V> resolve() const {
    std::vector<V> views;
    views.reserve(sources.size());
    for (Source const& source : sources) views.push_back(source.resolve());
    return view_list<V>(ViewsOf<std::vector<V>>{views});
  }
};
/// Makes the source for a range. `Traits` are the ResourceTraits of its elements.
template <class Traits, class V, class Range, class How>
auto make_list_source(Range const& range, How const& how, Target const& target) {
  using Source = decltype(Traits::late(*std::begin(range), how, target));
  LateListSource<Source, V> list;
  for_each_single(
      range, [&](auto const& each) { list.sources.push_back(Traits::late(each, how, target)); });
  return list;
}

}  // namespace trellis::Impl

#endif
