// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CONTROLBINDINGS_HPP
#define TRELLIS_IMPL_CONTROLBINDINGS_HPP

#include <Trellis_Area.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <common/Trellis_RunOn.hpp>
#include <annotations/Trellis_TaskScope.hpp>
#include <Trellis_Token.hpp>
#include <annotations/impl/Trellis_Submit.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <annotations/impl/Trellis_ViewArea.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <worklets/Trellis_BindArgument.hpp>
#include <worklets/impl/Trellis_AgreedCount.hpp>
#include <worklets/impl/Trellis_ItemRange.hpp>
#include <worklets/impl/Trellis_WorkletChecks.hpp>
#include <worklets/impl/Trellis_WorkletErrors.hpp>
#include <worklets/impl/Trellis_WorkletFunctor.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// This header binds the arguments of a call to the parameters of the worklet's control signature.
namespace trellis::worklets::Impl {

template <class P, class A>
std::string name_of(std::size_t position, A const& argument) {
  std::string text = "argument " + std::to_string(position + 1);
  if constexpr (requires { BindArgument<P, A>::label(argument); })
    text += " (\"" + BindArgument<P, A>::label(argument) + "\")";
  return text;
}

/// Returns the accesses of an argument, as a tuple of annotations.
template <class P, class A>
auto accesses_of(A const& argument) {
  if constexpr (!requires { BindArgument<P, A>::access(argument); }) {
    return std::tuple<>();
  } else {
    using Said = decltype(BindArgument<P, A>::access(argument));
    if constexpr (trellis::Impl::is_tuple_v<Said>)
      return BindArgument<P, A>::access(argument);
    else
      return std::tuple<Said>(BindArgument<P, A>::access(argument));
  }
}
template <class P, class A, class Domain, int rank>
inline constexpr bool counts_items =
    requires(A const& argument) { BindArgument<P, A>::length(argument, Over<Domain, rank>()); };

template <class P, class A, class Domain, int rank>
inline constexpr bool counts_late = requires(A const& argument) {
  BindArgument<P, A>::late_length(argument, Over<Domain, rank>());
};

template <class P, class A>
inline constexpr int rank_of = 1;
template <class P, class A>
  requires requires { BindArgument<P, A>::rank; }
inline constexpr int rank_of<P, A> = BindArgument<P, A>::rank;

/// Gives the spaces that a task with these annotations is written for, runs on, and reaches memory
/// from.
template <class Policy>
struct SpacesOf;
template <class Base, class... Annotations>
struct SpacesOf<ResourcePolicy<Base, Annotations...>> {
  using Asked = typename trellis::Impl::TargetSpace<Annotations...>::type;
  using runs_on = std::conditional_t<std::is_void_v<Asked>, Kokkos::DefaultExecutionSpace, Asked>;
  using body_space = typename trellis::Impl::RunOn<runs_on>::body_space;
};

/// Returns the label of one of several tasks that a call submits, such as "threshold: count", with
/// the same call site.
inline Label step_of(Label const& call, char const* step) {
  return Label(call.string() + ": " + step, call.site());
}

/// Notes a resource that a call makes in the body of a task as local to that task, so that its
/// children may use it.
template <class R>
void made_here(trellis::Impl::Target const& target, R const& resource) {
  if (TaskScope* const scope = target.scope()) {
    scope->local(resource);
    if constexpr (requires { resource.shape(); }) scope->local(Token(resource.shape()));
  }
}

/// Returns those annotations that satisfy `Is`.
template <template <class> class Is, class... Annotations>
auto annotations_that(std::tuple<Annotations...> const& annotations) {
  auto const one = []<class A>(A const& annotation) {
    if constexpr (Is<A>::value)
      return std::tuple<A>(annotation);
    else
      return std::tuple<>();
  };
  return std::apply([&](auto const&... each) { return std::tuple_cat(one(each)...); }, annotations);
}
template <class A>
struct NamesTasksBefore
    : std::bool_constant<trellis::Impl::waits_for_tasks_v<A> && !trellis::Impl::is_value_v<A>> {};
template <class... Annotations>
auto tasks_before(std::tuple<Annotations...> const& annotations) {
  return annotations_that<NamesTasksBefore>(annotations);
}
/// True if a task of its own makes room in the argument.
template <class P, class A>
inline constexpr bool is_allocated_by_task =
    requires(ResourcePolicy<trellis::Impl::Once> const& policy, A const& of) {
      BindArgument<P, A>::allocate(Label(), policy, of, std::int64_t{});
    };

/// True if the kind makes new items.
template <class Kind>
inline constexpr bool generates = false;
template <class Kind>
  requires requires { Kind::generates; }
inline constexpr bool generates<Kind> = Kind::generates;

/// The index type, once for each dimension.
template <std::size_t>
using IndexOf = std::int64_t;
/// Lists what a functor is called with: indices, and what it gets for accesses.
template <class Space, class Accesses, class Dimensions>
struct GivenFor;
template <class Space, class Accesses, std::size_t... d>
struct GivenFor<Space, Accesses, std::index_sequence<d...>> {
  template <class... V>
  static auto all(std::type_identity<std::tuple<V...>>)
      -> std::tuple<IndexOf<d> const&..., typename trellis::Impl::SeenAs<V>::type const&...>;
  template <class... A>
  static auto arguments(std::type_identity<std::tuple<A...>>)
      -> std::type_identity<trellis::Impl::ArgumentsOfAll<Space, A...>>;
  using type = decltype(all(arguments(std::type_identity<Accesses>())));
};

/// True if the last index is the fastest in a View of the argument.
template <class A>
inline constexpr bool is_right = false;
template <class A>
  requires Kokkos::is_view_v<A>
inline constexpr bool is_right<A> =
    A::rank() > 1 && std::is_same_v<typename A::array_layout, Kokkos::LayoutRight>;

/// The elements of a View, to find out whether two arguments share some.
class MemoryRange {
 public:
  template <class V>
  explicit MemoryRange(V const& view) : m_area(trellis::Impl::area_of(view)) {}
  [[nodiscard]] bool overlaps(MemoryRange const& other) const {
    return trellis::Impl::overlaps(m_area, other.m_area);
  }
  [[nodiscard]] bool equals(MemoryRange const& other) const { return m_area == other.m_area; }

 private:
  trellis::Impl::Area m_area;
};

/// The types of a call. `Arguments` are without references.
template <class Worklet, class Policy, class... Arguments>
struct CallTypes {
  using kind = typename Worklet::kind;
  using domain = typename kind::domain;
  using parameters = typename ParametersOf<typename Worklet::ControlSignature, domain>::type;
  using execution = ExecutionOf<typename ExecutionSignatureOf<Worklet, sizeof...(Arguments)>::type>;
  using spaces = SpacesOf<Policy>;
  using all = std::index_sequence_for<Arguments...>;
  /// The types of the k-th parameter and argument, from 0 on.
  template <std::size_t k>
  using parameter = typename At<k, parameters>::type;
  template <std::size_t k>
  using argument = std::tuple_element_t<k, std::tuple<Arguments...>>;
  template <std::size_t k>
  using bind = BindArgument<parameter<k>, argument<k>>;
  /// The number of dimensions of the items.
  static constexpr int rank = []<std::size_t... k>(std::index_sequence<k...>) {
    int most = 1;
    ((most = rank_of<parameter<k>, argument<k>> > most ? rank_of<parameter<k>, argument<k>> : most),
     ...);
    return most;
  }(all());
  using item_type = std::conditional_t<generates<kind>, GeneratedItem<rank>, WorkItem<rank>>;

  template <std::size_t k>
  using accesses_of =
      decltype(Impl::accesses_of<parameter<k>, argument<k>>(std::declval<argument<k> const&>()));
  template <class... A>
  static auto arguments(std::type_identity<std::tuple<A...>>)
      -> trellis::Impl::ArgumentsOfAll<typename spaces::runs_on, A...>;
  template <std::size_t k>
  static constexpr std::size_t view_count =
      std::tuple_size_v<decltype(arguments(std::type_identity<accesses_of<k>>()))>;
  template <std::size_t... k>
  static auto functor_type(std::index_sequence<k...>) -> WorkletFunctor<
      kind, Worklet, parameters, execution, rank, std::index_sequence<view_count<k>...>,
      std::remove_cvref_t<decltype(bind<k>::exec(std::declval<argument<k> const&>()))>...>;
  template <std::size_t... k>
  static auto accesses_type(std::index_sequence<k...>)
      -> decltype(std::tuple_cat(std::declval<accesses_of<k>>()...));
  using functor = decltype(functor_type(all()));
  /// Lists what the functor is called with.
  using given_type =
      typename GivenFor<typename spaces::runs_on, decltype(accesses_type(all())),
                        std::make_index_sequence<static_cast<std::size_t>(rank)>>::type;
};

/// A scheduler works with this. `Arguments` are references.
template <class Worklet, class Policy, class... Arguments>
class ControlBindings {
 public:
  using types = CallTypes<Worklet, Policy, std::remove_cvref_t<Arguments>...>;
  using kind = typename types::kind;
  using domain = typename types::domain;
  using Functor = typename types::functor;
  template <std::size_t k>
  using parameter = typename types::template parameter<k>;
  template <std::size_t k>
  using argument = typename types::template argument<k>;
  template <std::size_t k>
  using bind = typename types::template bind<k>;
  static constexpr std::size_t size = sizeof...(Arguments);
  static constexpr int rank = types::rank;

  explicit ControlBindings(Arguments... arguments) : m_arguments(arguments...) {}

  template <std::size_t k>
  [[nodiscard]] auto& get() const {
    return std::get<k>(m_arguments);
  }

  /// The domain that a parameter counts for: field maps have only one.
  template <std::size_t k>
  using domain_of =
      std::conditional_t<std::is_same_v<domain, Item>, domain, typename parameter<k>::domain_type>;

  /// Returns how many items the domain has, after a look at all arguments. Throws `Error` if they
  /// disagree.
  template <class Domain>
  [[nodiscard]] Extents count(Label const& task) const {
    Extents agreed{0, {0, 0, 0}};
    std::size_t from = 0;
    // Outputs are asked last, as they may have no items yet.
    for (bool const outputs : {false, true})
      each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
        if constexpr (counts<k, Domain>()) {
          constexpr bool is_output = std::is_same_v<typename parameter<k>::access_type, Out>;
          if (is_output != outputs) return;
          Extents const own = length<k, Domain>();
          if (own.rank == 0) return;
          // An output without items will be allocated if the number is known here.
          if (is_output && own.count() == 0 && (!is_late() || agreed.rank > 0)) return;
          if (agreed.rank == 0) {
            agreed = own;
            from = k;
          } else if (!agreed.agrees_with(own)) {
            refuse_extents(task, Domain::name, name(from), agreed, name(k), own);
          } else if (agreed.rank < own.rank) {
            agreed = own;
          }
        }
      });
    return agreed;
  }

  /// True if the number of items of an argument is known only when the worklet's task is launched.
  /// Arguments that a task allocates for this worklet do not count.
  static consteval bool is_late() { return any_is_late(std::index_sequence_for<Arguments...>()); }

  /// Checks all arguments, and allocates outputs. Returns how many items there are, with rank 0 if
  /// that is known later. Throws `Error`, see `invoke`.
  Extents prepare(Label const& task, Policy const& policy) const {
    Extents const extents = count<domain>(task);
    if (!is_late() && extents.rank == 0) refuse_uncounted(task, domain::name);
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      using Own = domain_of<k>;
      constexpr bool is_first = first_of<Own>() == k;
      if constexpr (!std::is_same_v<Own, domain> && is_first) {
        Extents const others = count<Own>(task);
        prepare_outputs<Own>(task, others, policy);
      }
    });
    prepare_outputs<domain>(task, extents, policy);
    check_memory(task);
    return extents;
  }

  /// Returns the number, from 1 on, of the first parameter with this concept and access; 0 if there
  /// is none.
  template <class Concept, class Access_>
  static consteval int find() {
    int number = 0;
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      if (number == 0 && std::is_same_v<typename parameter<k>::concept_type, Concept> &&
          std::is_same_v<typename parameter<k>::access_type, Access_>)
        number = static_cast<int>(k) + 1;
    });
    return number;
  }
  /// Returns how many items of the domain an argument has, as an extent to allocate.
  template <std::size_t k, class Domain>
  [[nodiscard]] auto count_of() const {
    if constexpr (Impl::counts_late<parameter<k>, argument<k>, Domain, rank>) {
      auto source = bind<k>::late_length(get<k>(), Over<Domain, rank>());
      return trellis::Impl::LateCount<decltype(source)>{std::move(source)};
    } else {
      return bind<k>::length(get<k>(), Over<Domain, rank>()).count();
    }
  }
  /// Returns the number of items for `allocate` and for the base of a task. It includes what such a
  /// task must wait for.
  [[nodiscard]] auto late_count(Label const& task, Extents const& extents) const {
    if constexpr (!is_late()) {
      return Items{extents.count()};
    } else {
      using Agreed = AgreedCountThat<all_stay(std::index_sequence_for<Arguments...>())>;
      Agreed agreed{{{}, task, domain::name, {}}};
      if (extents.rank > 0) agreed.counts.push_back({known_name(), domain::name, extents, {}, {}});
      each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
        if constexpr (!is_allocated_late<k>()) {
          if constexpr (counts_several<k>()) {
            add_late<k, Cell>(agreed);
            add_late<k, Point>(agreed);
            add_late<k, Key>(agreed);
            add_late<k, Item>(agreed);
          } else {
            add_late<k, domain_of<k>>(agreed);
          }
        }
      });
      return trellis::Impl::LateCount<Agreed>{std::move(agreed)};
    }
  }
  /// Gives outputs without extents those of the other arguments, as soon as they are known.
  template <class Agreed>
  void follow(Policy const& policy, Agreed const& agreed) const {
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      using Own = Over<typename parameter<k>::domain_type, rank>;
      using Find = std::function<std::optional<Extents>()>;
      if constexpr (requires { bind<k>::follow(policy.target(), get<k>(), Own(), Find()); })
        bind<k>::follow(policy.target(), get<k>(), Own(),
                        [agreed] { return agreed.early(domain_of<k>::name); });
    });
  }
  /// Submits the tasks that make room for `n` items in outputs.
  template <class N>
  void allocate(Label const& task, Policy const& policy, N const& n) const {
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      if constexpr (is_allocated_late<k>()) {
        auto const submit = [&](auto const&... annotation) {
          bind<k>::allocate(step_of(task, "memory"), ResourcePolicy(policy.target(), annotation...),
                            get<k>(), n);
        };
        std::apply(submit, of_allocation(policy));
      }
    });
  }
  /// Submits the task that makes room for `n` items, a number from `late_count`, in another array.
  template <class Array, class N>
  void allocate_for(Label const& task, Policy const& policy, Array const& array, N const& n) const {
    auto const submit = [&](auto const&... annotation) {
      trellis::allocate(step_of(task, "memory"), ResourcePolicy(policy.target(), annotation...),
                        array, n);
    };
    std::apply(submit, of_allocation(policy));
  }

  /// Returns the accesses of all arguments, as a tuple of annotations.
  [[nodiscard]] auto accesses() const {
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return std::tuple_cat(Impl::accesses_of<parameter<k>, argument<k>>(get<k>())...);
    }(std::index_sequence_for<Arguments...>());
  }

  /// Returns the accesses of one argument.
  template <std::size_t k>
  [[nodiscard]] auto accesses_of() const {
    return Impl::accesses_of<parameter<k>, argument<k>>(get<k>());
  }

  /// Returns the worklet as a functor for items of these extents.
  [[nodiscard]] auto functor(Worklet const& worklet, Extents const& extents) const {
    Kokkos::Array<std::int64_t, static_cast<std::size_t>(rank)> along;
    for (int d = 0; d < rank; ++d) along[static_cast<std::size_t>(d)] = extents.along[d];
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return Functor{worklet, {bind<k>::exec(get<k>())...}, along};
    }(std::index_sequence_for<Arguments...>());
  }
  /// Returns the base policy for these items.
  [[nodiscard]] static auto base(Extents const& extents) {
    if constexpr (rank == 1) {
      return Items{extents.count()};
    } else {
      using Space = typename types::spaces::body_space;
      using Index = Kokkos::IndexType<std::int64_t>;
      constexpr bool right = (is_right<std::remove_cvref_t<Arguments>> || ...);
      constexpr auto order = right ? Kokkos::Iterate::Right : Kokkos::Iterate::Left;
      using Grid = Kokkos::MDRangePolicy<Space, Kokkos::Rank<rank, order, order>, Index>;
      typename Grid::point_type begin{}, end{};
      for (int d = 0; d < rank; ++d) end[d] = extents.along[d];
      return Grid(begin, end);
    }
  }

  /// Submits the task that runs the worklet for all items, and before it the tasks that make room
  /// for its outputs.
  Future<void> submit(Label&& label, Policy const& policy, Worklet const& worklet,
                      Extents const& extents) const {
    auto const send = [&](auto const& range, auto&& by) {
      auto const task = [&](auto&&... annotation) {
        return parallel_for(std::move(label),
                            ResourcePolicy(policy.target(), range,
                                           std::forward<decltype(annotation)>(annotation)...),
                            std::forward<decltype(by)>(by));
      };
      return std::apply(task, std::tuple_cat(accesses(), point_shapes(), policy.annotations()));
    };
    if constexpr (is_late()) {
      auto const n = late_count(label, extents);
      follow(policy, n.source);
      allocate(label, policy, n);
      if constexpr (rank == 1)
        return send(n, functor(worklet, extents));
      else
        return send(n, ByNumber<Functor, rank>{functor(worklet, extents)});
    } else {
      allocate(label, policy, extents.count());
      return send(base(extents), functor(worklet, extents));
    }
  }

 private:
  /// Calls `f` with the number of each parameter, from 0 on.
  template <class F>
  static constexpr void each(F&& f) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      (f(std::integral_constant<std::size_t, k>()), ...);
    }(std::index_sequence_for<Arguments...>());
  }
  /// True if it has items of several domains: cells have points, and keys have items.
  template <std::size_t k>
  static consteval bool counts_several() {
    using P = parameter<k>;
    return std::is_same_v<typename P::access_type, In> &&
           (std::is_same_v<typename P::concept_type, Topology> ||
            std::is_same_v<typename P::concept_type, Keys>);
  }
  /// True if the argument counts items of this domain.
  template <std::size_t k, class Domain>
  static consteval bool counts() {
    using P = parameter<k>;
    using A = argument<k>;
    if constexpr (counts_several<k>())
      return counts_items<P, A, Domain, rank>;
    else
      return std::is_same_v<domain_of<k>, Domain> &&
             counts_items<P, A, typename P::domain_type, rank>;
  }
  template <std::size_t k, class Domain>
  [[nodiscard]] Extents length() const {
    using P = parameter<k>;
    if constexpr (counts_several<k>())
      return bind<k>::length(get<k>(), Over<Domain, rank>());
    else
      return bind<k>::length(get<k>(), Over<typename P::domain_type, rank>());
  }
  template <std::size_t k>
  static consteval bool counts_late() {
    using P = parameter<k>;
    using A = argument<k>;
    return Impl::counts_late<P, A, typename P::domain_type, rank>;
  }
  /// True if a task of its own makes room in it.
  template <std::size_t k>
  static consteval bool is_allocated_late() {
    return is_allocated_by_task<parameter<k>, argument<k>>;
  }
  template <std::size_t... k>
  static consteval bool any_is_late(std::index_sequence<k...>) {
    return (... || (counts_late<k>() && !is_allocated_late<k>()));
  }
  template <std::size_t... k>
  static consteval bool all_stay(std::index_sequence<k...>) {
    return (... && stays<k>());
  }
  template <std::size_t k>
  static consteval bool stays() {
    using Own = Over<typename parameter<k>::domain_type, rank>;
    if constexpr (counts_late<k>() && !is_allocated_late<k>())
      return trellis::Impl::source_stays<decltype(bind<k>::late_length(
          std::declval<argument<k> const&>(), Own()))>;
    else
      return true;
  }
  template <std::size_t k, class Domain>
  void add_late(AgreedCount& agreed) const {
    using Own =
        Over<std::conditional_t<counts_several<k>(), Domain, typename parameter<k>::domain_type>,
             rank>;
    if constexpr (Impl::counts_late<parameter<k>, argument<k>, typename Own::domain, rank>) {
      auto const source = bind<k>::late_length(get<k>(), Own());
      std::function<std::optional<Extents>()> early;
      if constexpr (requires { source.known(); }) early = [source] { return source.known(); };
      agreed.counts.push_back({name_of<parameter<k>>(k, get<k>()),
                               Domain::name,
                               {},
                               [source] { return source.resolve(); },
                               std::move(early)});
    } else if constexpr (!std::is_same_v<Domain, domain> && counts<k, Domain>()) {
      Extents const own = length<k, Domain>();
      if (own.rank > 0)
        agreed.counts.push_back({name_of<parameter<k>>(k, get<k>()), Domain::name, own, {}, {}});
    }
  }
  /// Returns what a task that makes room reads, and the tasks that the call comes after: when one
  /// of them fails, the arrays stay as they are.
  [[nodiscard]] auto of_allocation(Policy const& policy) const {
    return std::tuple_cat(late_shapes(), tasks_before(policy.annotations()));
  }
  /// Returns what a task reads that needs only the late numbers.
  [[nodiscard]] auto late_shapes() const {
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return std::tuple_cat(late_shape<k>()...);
    }(std::index_sequence_for<Arguments...>());
  }
  template <std::size_t k>
  [[nodiscard]] auto late_shape() const {
    using Own = Over<typename parameter<k>::domain_type, rank>;
    if constexpr (!is_late() || !counts_late<k>() || is_allocated_late<k>())
      return std::tuple<>();
    else if constexpr (counts_several<k>())
      return std::tuple_cat(domain_shape<k, Cell>(), domain_shape<k, Point>(),
                            domain_shape<k, Key>(), domain_shape<k, Item>());
    else
      return bind<k>::late_length(get<k>(), Own()).annotations();
  }
  template <std::size_t k, class Domain>
  [[nodiscard]] auto domain_shape() const {
    if constexpr (!counts_several<k>())
      return std::tuple<>();
    else if constexpr (Impl::counts_late<parameter<k>, argument<k>, Domain, rank>)
      return bind<k>::late_length(get<k>(), Over<Domain, rank>()).annotations();
    else
      return std::tuple<>();
  }
  /// Returns what the task reads to know how many points the cells have. Reading the cells does not
  /// order it with the task that makes room for the points.
  [[nodiscard]] auto point_shapes() const {
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return std::tuple_cat(domain_shape<k, Point>()...);
    }(std::index_sequence_for<Arguments...>());
  }
  /// Returns the name of the first argument whose number of items is known.
  [[nodiscard]] std::string known_name() const {
    std::string text = "the others";
    bool found = false;
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      if constexpr (counts<k, domain>())
        if (!found && length<k, domain>().rank > 0) {
          text = name_of<parameter<k>>(k, get<k>());
          found = true;
        }
    });
    return text;
  }
  /// Returns the first parameter that counts for this domain.
  template <class Domain>
  static consteval std::size_t first_of() {
    std::size_t first = size;
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      if (std::is_same_v<domain_of<k>, Domain> && first == size) first = k;
    });
    return first;
  }
  template <class Domain>
  void prepare_outputs(Label const& task, Extents const& extents, Policy const& policy) const {
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      using Own = Over<typename parameter<k>::domain_type, rank>;
      if constexpr (std::is_same_v<domain_of<k>, Domain> &&
                    requires { bind<k>::prepare(get<k>(), Own(), extents, std::string()); }) {
        if constexpr (Kokkos::is_view_v<argument<k>>) {
          void const* const before = get<k>().data();
          bind<k>::prepare(get<k>(), Own(), extents, "output " + std::to_string(k + 1));
          if (get<k>().data() != before) made_here(policy.target(), get<k>());
        } else {
          bind<k>::prepare(get<k>(), Own(), extents, "output " + std::to_string(k + 1));
        }
      }
      // Constants, temporaries, unmanaged memory and vectors of any length cannot be allocated.
      if constexpr (counts<k, Domain>() &&
                    std::is_same_v<typename parameter<k>::access_type, Out>) {
        Extents const own = length<k, Domain>();
        if (own.rank > 0 && extents.rank > 0 && !extents.agrees_with(own))
          refuse_allocation(task, Domain::name, name(k), extents);
      }
    });
  }

  /// Checks each written argument against the others, which must be the same memory, or must not
  /// share any with it.
  void check_memory(Label const& task) const {
    each([&]<std::size_t w>(std::integral_constant<std::size_t, w>) {
      if constexpr (parameter<w>::writes && has_identity<w>())
        each([&]<std::size_t r>(std::integral_constant<std::size_t, r>) {
          // An array that is overwritten is allocated before, so not even its own item is
          // available.
          if constexpr (r != w && has_identity<r>() && !shares<r, w>())
            if (bind<w>::identity(get<w>()) == bind<r>::identity(get<r>()) &&
                (is_gathered<r, w>() || parameter<r>::writes || is_allocated_late<w>()))
              refuse_memory(task, name(r), name(w), true);
        });
      if constexpr (parameter<w>::writes && has_memory<w>())
        each([&]<std::size_t r>(std::integral_constant<std::size_t, r>) {
          if constexpr (r != w && has_memory<r>() && !shares<r, w>())
            for_memory<w>([&](MemoryRange const& written) {
              for_memory<r>([&](MemoryRange const& other) {
                if (!written.overlaps(other)) return;
                if (is_gathered<r, w>() || parameter<r>::writes || !written.equals(other))
                  refuse_memory(task, name(r), name(w), is_gathered<r, w>());
              });
            });
        });
    });
  }
  /// True if both add (multiply) atomically.
  template <std::size_t r, std::size_t w>
  static consteval bool shares() {
    return parameter<r>::is_atomic && parameter<r>::mode == parameter<w>::mode;
  }
  /// True if the call for one item touches memory of other items there.
  template <std::size_t r, std::size_t w>
  static consteval bool is_gathered() {
    using R = parameter<r>;
    return is_at_points<kind, R> || is_at_points<kind, parameter<w>> || generates<kind> ||
           std::is_same_v<typename R::concept_type, Topology> ||
           std::is_same_v<typename R::concept_type, Whole> ||
           std::is_same_v<typename R::concept_type, Values>;
  }
  template <std::size_t k>
  static consteval bool has_identity() {
    return requires(argument<k> const& of) { bind<k>::identity(of); };
  }
  template <std::size_t k>
  static consteval bool has_memory() {
    return requires(argument<k> const& of) { bind<k>::memory(of); };
  }
  template <std::size_t k, class F>
  void for_memory(F&& f) const {
    auto const& memory = bind<k>::memory(get<k>());
    auto const each_view = [&](auto const& view) { f(MemoryRange(view)); };
    if constexpr (trellis::Impl::is_tuple_v<std::remove_cvref_t<decltype(memory)>>)
      std::apply([&](auto const&... views) { (each_view(views), ...); }, memory);
    else
      each_view(memory);
  }
  [[nodiscard]] std::string name(std::size_t position) const {
    std::string text;
    each([&]<std::size_t k>(std::integral_constant<std::size_t, k>) {
      if (k == position) text = name_of<parameter<k>>(k, get<k>());
    });
    return text;
  }

  std::tuple<Arguments...> m_arguments;
};

}  // namespace trellis::worklets::Impl

#endif
