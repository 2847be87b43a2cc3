// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_OPENACCESS_HPP
#define TRELLIS_IMPL_OPENACCESS_HPP

#include <annotations/Trellis_AccessList.hpp>
#include <annotations/Trellis_Annotations.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// This header turns annotations of resources that specialise `ResourceTraits` into annotations of
/// pieces.
namespace trellis::Impl {

/// Returns what `ResourceTraits` says, as a tuple of annotations.
template <class Space, class T, class How>
auto accesses_of(T const& resource, How const& how) {
  using Traits = ResourceTraits<T>;
  auto const ask = [&] {
    if constexpr (requires { Traits::accesses(resource, how, On<Space>()); })
      return Traits::accesses(resource, how, On<Space>());
    else
      return Traits::accesses(resource, how);
  };
  using Said = decltype(ask());
  if constexpr (is_tuple_v<Said>) {
    return ask();
  } else {
    static_assert(is_access_v<Said>,
                  "Trellis: ResourceTraits<T>::accesses returns an access, a tuple of accesses or "
                  "an AccessList");  // accesses that depend on a space
    return std::tuple<Said>(ask());
  }
}

template <class Space, class T, class How>
inline constexpr bool has_hooks_v = requires(T const& resource, How const& how) {
  ResourceTraits<T>::submitted(resource, how, On<Space>());
} || requires(T const& resource, How const& how, Target target) {
  ResourceTraits<T>::prepare(resource, how, On<Space>(), target);
};

/// Says how to treat resources that do something when they are used.
enum class Hooks {
  call,    ///< a task is being submitted
  refuse,  ///< for a list, which belongs to no task
  skip,    ///< a task that has the access changes it
};

/// Replaces the annotations of open resources by those of their pieces, for a task on `Space`. The
/// pieces live on the stack, while `f` is called with all annotations.
template <class Space, Hooks hooks>
class Opening {
 public:
  explicit Opening(Target const* target = nullptr) : m_target(target) {}
  /// Calls `f(annotation...)`, which returns a value.
  template <class F, class... Annotations>
  decltype(auto) open(F&& f, Annotations&... annotations) {
    return next(f, std::tuple<>(), annotations...);
  }
  /// Called when the task has been submitted.
  void submitted() const {
    for (auto const& each : m_submitted) each();
  }

 private:
  template <class F, class... Done>
  decltype(auto) next(F& f, std::tuple<Done&...> const& done) {
    return std::apply(f, done);
  }
  template <class F, class... Done, class First, class... Rest>
  decltype(auto) next(F& f, std::tuple<Done&...> const& done, First& first, Rest&... rest) {
    if constexpr (is_open_access_v<std::remove_const_t<First>>)
      return open_one(f, done, first.resource, first.how, rest...);
    else
      return next(f, std::tuple_cat(done, std::tuple<First&>(first)), rest...);
  }

  template <class F, class... Done, class T, class How, class... Rest>
  decltype(auto) open_one(F& f, std::tuple<Done&...> const& done, T const& resource, How const& how,
                          Rest&... rest) {
    if constexpr (IsGroup<T>::value || OpenResource<T>) {
      auto pieces = pieces_of(resource, how);
      return std::apply(
          [&](auto&... piece) -> decltype(auto) {
            // With mode `none` a task gets no access, whatever the traits say.
            if constexpr (std::is_same_v<How, ModeConstant<Mode::none>>)
              return with(f, done, std::tuple(without_mode(piece)...), rest...);
            else
              return next(f, done, piece..., rest...);
          },
          pieces);
    } else {
      // A range has as many pieces as its elements say at run time.
      AccessList all;
      add_elements(all, resource, how);
      return next(f, done, all, rest...);
    }
  }
  template <class F, class... Done, class Pieces, class... Rest>
  decltype(auto) with(F& f, std::tuple<Done&...> const& done, Pieces&& pieces, Rest&... rest) {
    return std::apply(
        [&](auto&... piece) -> decltype(auto) { return next(f, done, piece..., rest...); }, pieces);
  }
  template <class Piece>
  static auto without_mode(Piece& piece) {
    if constexpr (is_list_v<Piece>)
      return AccessListInternals::without_modes(piece);
    else
      return none(std::as_const(piece.resource));
  }
  template <class T, class How>
  auto pieces_of(T const& resource, How const& how) {
    if constexpr (IsGroup<T>::value) {
      return std::apply([&](auto const&... member) { return std::tuple(access(member, how)...); },
                        resource.members);
    } else {
      begin(resource, how);
      return accesses_of<Space>(resource, how);
    }
  }
  template <class T, class How>
  void add_elements(AccessList& all, T const& resource, How const& how) {
    if constexpr (ResourceRange<T const>) {
      for (auto const& element : resource) add_elements(all, element, how);
    } else {
      auto const add = [&](auto&... annotation) {
        (AccessListInternals::append(all, annotation), ...);
        return true;
      };
      auto element = access(resource, how);
      next(add, std::tuple<>(), element);
    }
  }

  template <class T, class How>
  void begin(T const& resource, How const& how) {
    if constexpr (has_hooks_v<Space, T, How>) {
      static_assert(hooks != Hooks::refuse,
                    "Trellis: this resource does something when a task uses it, so it can stand "
                    "among the annotations of a task, not in an AccessList");
      if constexpr (hooks == Hooks::call) {
        if constexpr (requires {
                        ResourceTraits<T>::prepare(resource, how, On<Space>(), *m_target);
                      })
          ResourceTraits<T>::prepare(resource, how, On<Space>(), *m_target);
        if constexpr (requires { ResourceTraits<T>::submitted(resource, how, On<Space>()); })
          m_submitted.push_back(
              [resource, how] { ResourceTraits<T>::submitted(resource, how, On<Space>()); });
      }
    }
  }

  Target const* m_target;
  std::vector<std::function<void()>> m_submitted;
};

/// Gives what a functor gets for an open resource: what `ResourceTraits` says, or the Views of its
/// pieces. It is a tuple of values.
template <class Space>
struct OpenArguments {
  template <class T, class How>
  static auto of(T const& resource, How const& how) {
    using Traits = ResourceTraits<T>;
    if constexpr (IsGroup<T>::value) {
      return std::apply(
          [&](auto const&... member) { return std::tuple_cat(of_access(access(member, how))...); },
          resource.members);
    } else if constexpr (!OpenResource<T>) {
      using Leaf = ResourceTraits<typename LeafOf<T>::type>;
      if constexpr (requires { Leaf::list_argument(how); })
        return std::tuple(Leaf::list_argument(how));
      else
        return std::tuple<>();  // their number is not known
    } else if constexpr (requires { Traits::argument(resource, how, On<Space>()); }) {
      return std::tuple<std::decay_t<decltype(Traits::argument(resource, how, On<Space>()))>>(
          Traits::argument(resource, how, On<Space>()));
    } else if constexpr (requires { Traits::argument(resource, how); }) {
      return std::tuple<std::decay_t<decltype(Traits::argument(resource, how))>>(
          Traits::argument(resource, how));
    } else {
      return std::apply([](auto const&... piece) { return std::tuple_cat(of_access(piece)...); },
                        accesses_of<Space>(resource, how));
    }
  }
  template <class A>
  static auto of_access(A const& access) {
    if constexpr (is_open_access_v<A>) {
      return of(access.resource, access.how);
    } else {
      using Views = typename ArgumentsOf<A>::types;
      return std::apply([](auto const&... view) { return Views(view...); },
                        ArgumentsOf<A>::get(access));
    }
  }
};

template <class How, class Held, class Space>
struct ArgumentsFor<OpenAccess<How, Held>, Space> {
  static auto get(OpenAccess<How, Held> const& access) {
    return OpenArguments<Space>::of(access.resource, access.how);
  }
  using types = decltype(get(std::declval<OpenAccess<How, Held> const&>()));
};

/// True if the annotation adds arguments that are bound late. (Only values do, and open resources
/// that say so.)
template <class A, class Space>
inline constexpr bool has_late_arguments_v = is_value_v<A>;
template <class How, class Held, class Space>
inline constexpr bool has_late_arguments_v<OpenAccess<How, Held>, Space> =
    count_places<typename ArgumentsFor<OpenAccess<How, Held>, Space>::types>() > 0;

/// Gives the sources of these arguments, in the order of OpenArguments.
template <class Space>
struct LateSources {
  template <class T, class How>
  static auto of(T const& resource, How const& how, Target const& target) {
    using Traits = ResourceTraits<T>;
    if constexpr (IsGroup<T>::value) {
      return std::apply(
          [&](auto const&... member) { return std::tuple_cat(in(access(member, how), target)...); },
          resource.members);
    } else if constexpr (requires { Traits::late(resource, how, target); }) {
      return std::tuple(Traits::late(resource, how, target));
    } else if constexpr (!OpenResource<T>) {
      using Leaf = ResourceTraits<typename LeafOf<T>::type>;
      if constexpr (requires { Leaf::late_list(resource, how, target); })
        return std::tuple(Leaf::late_list(resource, how, target));
      else
        return std::tuple<>();
    } else if constexpr (
        requires { Traits::argument(resource, how); } ||
        requires { Traits::argument(resource, how, On<Space>()); }) {
      return std::tuple<>();
    } else {
      return std::apply([&](auto const&... piece) { return std::tuple_cat(in(piece, target)...); },
                        accesses_of<Space>(resource, how));
    }
  }
  template <class A>
  static auto in(A const& annotation, Target const& target) {
    if constexpr (is_value_v<A>)
      return std::tuple(annotation.result);
    else if constexpr (is_open_access_v<A>)
      return of(annotation.resource, annotation.how, target);
    else
      return std::tuple<>();
  }
};
template <class Space, class... Annotations>
auto sources_in(std::tuple<Annotations...> const& annotations, Target const& target) {
  return std::apply(
      [&](auto const&... each) { return std::tuple_cat(LateSources<Space>::in(each, target)...); },
      annotations);
}

}  // namespace trellis::Impl

namespace trellis {

template <class Annotation>
AccessList& AccessList::add(Annotation const& annotation) {
  static_assert(Impl::is_access_v<Annotation> && !Impl::is_list_v<Annotation>,
                "Trellis: a list of accesses takes accesses: read(x), write(y), ...");
  if constexpr (Impl::is_open_access_v<Annotation>) {
    using Leaf = typename Impl::LeafOf<typename Annotation::resource_type>::type;
    constexpr bool does_nothing =
        !Impl::has_hooks_v<Kokkos::DefaultHostExecutionSpace, Leaf, decltype(annotation.how)>;
    static_assert(does_nothing,
                  "Trellis: this resource does something when a task uses it, so it can stand "
                  "among the annotations of a task, not in an AccessList");
    if constexpr (does_nothing) {
      Impl::Opening<Kokkos::DefaultHostExecutionSpace, Impl::Hooks::refuse> opening;
      auto const add_pieces = [&](auto&... piece) {
        (append(piece), ...);
        return true;
      };
      opening.open(add_pieces, annotation);
    }
  } else {
    append(annotation);
  }
  return *this;
}

}  // namespace trellis

#endif
