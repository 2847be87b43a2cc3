// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VIEWACCESS_HPP
#define TRELLIS_IMPL_VIEWACCESS_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Area.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <common/Trellis_RunOn.hpp>
#include <annotations/Trellis_ViewList.hpp>
#include <task/Trellis_AccessRequest.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>
#include <annotations/impl/Trellis_Requests.hpp>
#include <annotations/impl/Trellis_ViewArea.hpp>
#include <base/Trellis_OneForAll.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header turns Views into what the engine compares: areas and resources.
namespace trellis::Impl {

inline Area area_of(Token const& token) {
  return token.area();
}
inline Area area_of(experimental::IndexBox const& box) {
  return box.area();
}
inline Area area_of(HostMemory const& memory) {
  return memory.area();
}

/// Tells the label and the allocation. An unmanaged View belongs to the allocation that has its
/// addresses.
template <class V>
void describe_view(void const* subject, ResourceInfo& info) {
  V const& view = *static_cast<V const*>(subject);
  info.begin = std::numeric_limits<std::uintptr_t>::max();
  if (auto const* const record = record_of(view)) {
    info.label = record->get_label();
    info.begin = reinterpret_cast<std::uintptr_t>(record->data());
    info.end = info.begin + record->size();
    info.is_on_host = std::is_same_v<typename V::memory_space, Kokkos::HostSpace>;
    info.shape.element_bytes = sizeof(typename V::value_type);
    info.shape.rank = static_cast<int>(V::rank());
    if constexpr (V::rank() > 0)
      for (std::size_t k = 0; k < V::rank(); ++k)
        info.shape.strides[k] = view.stride(k) * sizeof(typename V::value_type);
  }
}
template <class V>
bool view_may_have_label(void const* subject, std::string const& label) {
  V const& view = *static_cast<V const*>(subject);
  auto const* const record = record_of(view);
  if (record == nullptr) return true;
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                                           typename V::memory_space>::accessible) {
    // The label is in a header of 128 bytes, cut off if it is very long. The comparison includes
    // its terminating zero, so the length of the stored label is not needed.
    char const* const start = record->head()->label();
    return std::memcmp(start, label.c_str(), std::min<std::size_t>(label.size() + 1, 100)) == 0 ||
           *start == 0;
  } else {
    return record->get_label() == label;
  }
}
/// Kokkos puts a header before an allocation, with its label, which is filled up with zeros or cut
/// off before the last byte. If the host can write the header, Trellis uses its last bytes. They
/// hold a number that distinguishes this allocation from earlier and later ones at the same
/// address. A bit of the last byte, which a label leaves zero, says that the number is there. A
/// label that reaches so far is cut off before it from then on. Kokkos only prints this copy of the
/// label, in lists of records; it keeps the label itself elsewhere.
///
/// If the host cannot write the header, only the record that Kokkos keeps on the host, and its
/// label, distinguish the allocation. See `Identity::by_record`.
///
/// Memory order: the number says nothing about other memory, so all is relaxed. If two threads set
/// a number, the first one wins.
template <class Record>
std::uint64_t identity_of_allocation(Record const& record, bool is_on_host) {
  constexpr std::size_t at = Record::maximum_label_length - sizeof(std::uint64_t);
  constexpr std::uint64_t in_last_byte =
      std::endian::native == std::endian::little ? std::uint64_t{1} << 63 : 1;
  if (!is_on_host) {
    std::uint64_t const hash =
        std::hash<std::string>()(record.get_label()) ^ reinterpret_cast<std::uintptr_t>(&record);
    return hash | Identity::by_record;
  }
  char* const label = const_cast<char*>(record.head()->label());
  std::atomic_ref<std::uint64_t> const number(*reinterpret_cast<std::uint64_t*>(label + at));
  std::uint64_t found = number.load(std::memory_order_relaxed);
  while ((found & in_last_byte) == 0) {
    std::atomic_ref<char>(label[at - 1]).store(0, std::memory_order_relaxed);
    std::uint64_t const made = (Identity::next() << 1) | in_last_byte;
    if (number.compare_exchange_strong(found, made, std::memory_order_relaxed)) return made;
  }
  return found;
}
template <class V>
std::uint64_t identity_of_view(void const* subject) {
  V const& view = *static_cast<V const*>(subject);
  auto const* const record = record_of(view);
  if (record == nullptr) return Identity::within;
  return identity_of_allocation(
      *record, Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename V::memory_space>::accessible);
}
void describe_token(void const* subject, ResourceInfo& info);
void describe_box(void const* subject, ResourceInfo& info);
/// The memory may belong to any allocation.
void describe_memory(void const* subject, ResourceInfo& info);
template <class R>
bool may_have_label(void const* subject, std::string const& label) {
  return static_cast<R const*>(subject)->label() == label;
}
/// Finds the bytes of a View that its constructor leaves as they were. The accesses are volatile,
/// as the compiler may ignore memory contents from before an object's lifetime.
template <class V>
std::array<bool, sizeof(V)> find_padding() {
  std::array<bool, sizeof(V)> padding{};
  alignas(V) unsigned char place[sizeof(V)];
  unsigned char volatile* const bytes = place;
  std::array<unsigned char, sizeof(V)> first{};
  for (unsigned char const fill : {0x00, 0xFF}) {
    for (std::size_t k = 0; k < sizeof(V); ++k) bytes[k] = fill;
    V* const view = ::new (static_cast<void*>(place)) V;
    for (std::size_t k = 0; k < sizeof(V); ++k) {
      padding[k] = fill != 0 && bytes[k] != first[k];
      first[k] = bytes[k];
    }
    view->~V();
  }
  return padding;
}

template <class V>
class ViewHold final : public ResourceHold {
 public:
  explicit ViewHold(V const& view) : m_view(view) {}
  [[nodiscard]] long holders() const override { return static_cast<long>(m_view.use_count()); }
  [[nodiscard]] void const* record() const override { return record_of(m_view); }
  [[nodiscard]] std::pair<std::uintptr_t, std::uintptr_t> addresses() const override {
    auto const* const record = record_of(m_view);
    auto const begin = reinterpret_cast<std::uintptr_t>(record->data());
    return {begin, begin + record->size()};
  }
  [[nodiscard]] std::span<bool const> padding() const override {
    static std::array<bool, sizeof(V)> const found = find_padding<V>();
    return found;
  }

 private:
  V m_view;
};
template <class V>
std::unique_ptr<ResourceHold> hold_view(void const* subject) {
  V const& view = *static_cast<V const*>(subject);
  if (record_of(view) == nullptr) return nullptr;
  return std::make_unique<ViewHold<V>>(view);
}

template <class V>
inline constexpr SubjectOps view_ops{&describe_view<V>, &view_may_have_label<V>, &hold_view<V>,
                                     &identity_of_view<V>, V::memory_traits::is_atomic};
template <class R>
inline constexpr SubjectOps subject_ops = view_ops<R>;
template <>
inline constexpr SubjectOps subject_ops<Token>{&describe_token, &may_have_label<Token>};
template <>
inline constexpr SubjectOps subject_ops<experimental::IndexBox>{
    &describe_box, &may_have_label<experimental::IndexBox>};
template <>
inline constexpr SubjectOps subject_ops<HostMemory>{
    &describe_memory, &may_have_label<HostMemory>, nullptr,
    [](void const*) { return Identity::of_program; }};

/// A View without its type: tasks with such accesses are of one type, whatever Views they have. It
/// refers to the View, which must live until the task has been submitted. It is no argument of a
/// functor.
class ErasedView {
 public:
  template <class V>
    requires Kokkos::is_view_v<V>
  explicit ErasedView(V const& view) : m_area(area_of(view)), m_view(&view), m_ops(&view_ops<V>) {}
  [[nodiscard]] AccessRequest request(Mode mode, StatePtr const* state) const {
    return {m_area, mode, m_view, m_ops, state};
  }

 private:
  Area m_area;
  void const* m_view;
  SubjectOps const* m_ops;
};
/// Returns the access of one piece.
template <class R>
AccessRequest request_of(R const& piece, Mode mode, StatePtr const* state) {
  return {area_of(piece), mode, &piece, &subject_ops<R>, state};
}
inline AccessRequest request_of(ErasedView const& view, Mode mode, StatePtr const* state) {
  return view.request(mode, state);
}

/// Gives the space of `on<...>`, else void.
template <class... Annotations>
struct TargetSpace {
  using type = void;
};
template <class Space, class... Rest>
struct TargetSpace<On<Space>, Rest...> {
  using type = Space;
};
template <class First, class... Rest>
struct TargetSpace<First, Rest...> : TargetSpace<Rest...> {};

/// Says where a body written for instances of `Space` (void: a host task) runs: there, or where
/// `on<...>` says. It also says as which space the body touches memory.
template <class Space, class... Annotations>
struct PlaceOf {
  using space = Space;
  using Asked = typename TargetSpace<Annotations...>::type;
  using runs_on = std::conditional_t<!std::is_void_v<Space> && is_foreign_v<Asked>, Asked, Space>;
  using reached =
      std::conditional_t<std::is_void_v<Space>, Kokkos::DefaultHostExecutionSpace, runs_on>;
};

/// Calls `f` with each View and each Token that a resource stands for, in order.
template <class R, class F>
void for_each_single(R const& resource, F&& f) {
  if constexpr (IsGroup<R>::value)
    std::apply([&](auto const&... member) { (for_each_single(member, f), ...); }, resource.members);
  else if constexpr (ResourceRange<R const>)
    for (auto const& element : resource) for_each_single(element, f);
  else
    f(resource);
}
/// Returns their number.
template <class R>
std::size_t count_singles(R const& resource) {
  if constexpr (ResourceRange<R const> && SizedRange<R const>) {
    using Element = ElementOf<R const>;
    if constexpr (!IsGroup<Element>::value && !ResourceRange<Element const>)
      return static_cast<std::size_t>(std::size(resource));
  }
  std::size_t count = 0;
  for_each_single(resource, [&](auto const&) { ++count; });
  return count;
}

/// Adds an access for each piece that a resource stands for, in order.
template <class R>
void add_requests(Requests& to, R const& resource, Mode mode, StatePtr const* state) {
  if constexpr (IsGroup<R>::value) {
    std::apply([&](auto const&... member) { (add_requests(to, member, mode, state), ...); },
               resource.members);
  } else if constexpr (ResourceRange<R const>) {
    if constexpr (SizedRange<R const>)
      to.reserve(to.size() + static_cast<std::size_t>(std::size(resource)));
    for (auto const& element : resource) add_requests(to, element, mode, state);
  } else {
    ::new (to.next()) AccessRequest(request_of(resource, mode, state));
  }
}
/// Adds the accesses of an annotation. AccessList has overloads.
template <Mode mode, class Held>
void add_access(Requests& to, Access<mode, Held> const& access) {
  add_requests(to, access.resource, mode, nullptr);
}
template <class Held>
void add_access(Requests& to, StateAccess<Held> const& access) {
  add_requests(to, access.resource, access.mode_now,
               access.state != nullptr ? &access.state : nullptr);
}

/// Joins tuples of types. (Naming such a type costs nothing; std::tuple_cat instantiates all of it,
/// for each list of annotations.)
template <class... Tuples>
struct JoinTuples;
template <>
struct JoinTuples<> : std::type_identity<std::tuple<>> {};
template <class... A>
struct JoinTuples<std::tuple<A...>> : std::type_identity<std::tuple<A...>> {};
template <class... A, class... B>
struct JoinTuples<std::tuple<A...>, std::tuple<B...>> : std::type_identity<std::tuple<A..., B...>> {
};
template <class... A, class... B, class... C, class... Rest>
struct JoinTuples<std::tuple<A...>, std::tuple<B...>, std::tuple<C...>, Rest...>
    : JoinTuples<std::tuple<A..., B..., C...>, Rest...> {};

}  // namespace trellis::Impl

namespace trellis {

namespace Impl {

/// Gives the type in which a functor takes a View.
template <Mode mode, class V>
struct ArgumentAs {
  static constexpr bool is_atomic = mode == Mode::atomic_add || mode == Mode::atomic_mul;
  using type = std::conditional_t<
      mode == Mode::read || mode == Mode::none, typename V::const_type,
      typename std::conditional_t<is_atomic, std::type_identity<WithTrait<V, Kokkos::Atomic>>,
                                  std::type_identity<V>>::type>;
};

/// Stands for an atomic View in the check whether a functor keeps its updates atomic: it converts
/// only to an atomic View. Only its type is used.
template <class V>
struct OnlyAtomic : V {
  template <class T>
    requires(Kokkos::is_view_v<T> && !T::memory_traits::is_atomic)
  operator T() const = delete;
};
template <class T>
struct AsOnlyAtomic {
  using type = T;
};
template <class T>
  requires Kokkos::is_view_v<std::remove_cvref_t<T>>
struct AsOnlyAtomic<T&> {
  using V = std::remove_const_t<T>;
  using type = std::conditional_t<
      V::memory_traits::is_atomic,
      std::conditional_t<std::is_const_v<T>, OnlyAtomic<V> const&, OnlyAtomic<V>&>, T&>;
};

/// Calls `f` with each group of a range of groups, in order.
template <class R, class F>
void for_each_group(R const& range, F&& f) {
  if constexpr (IsGroup<R>::value)
    f(range);
  else
    for (auto const& element : range) for_each_group(element, f);
}
/// Returns the member at this place in a group, or in a group within it.
template <class R>
R const& member_at(R const& resource) {
  return resource;
}
template <std::size_t first, std::size_t... rest, class... Held>
auto const& member_at(Group<Held...> const& group) {
  return member_at<rest...>(std::get<first>(group.members));
}

/// The source of a `view_list`: the Views of a range or, for a range of groups, those of this
/// member of each group.
template <class R, std::size_t... member>
struct ViewsOf {
  R const& range;
  [[nodiscard]] std::size_t size() const {
    if constexpr (sizeof...(member) == 0) {
      return count_singles(range);
    } else {
      std::size_t count = 0;
      for_each_group(
          range, [&](auto const& group) { count += count_singles(member_at<member...>(group)); });
      return count;
    }
  }
  template <class F>
  void for_each(F&& f) const {
    if constexpr (sizeof...(member) == 0)
      for_each_single(range, f);
    else
      for_each_group(range,
                     [&](auto const& group) { for_each_single(member_at<member...>(group), f); });
  }
};
/// A range that consists of Views of one type.
template <class R>
concept ViewRange = ResourceRange<R> && Kokkos::is_view_v<typename LeafOf<R>::type>;
/// A range that consists of groups of one type.
template <class R>
concept GroupRange = ResourceRange<R> && IsGroup<typename LeafOf<R>::type>::value;

/// The lists that a functor takes for this member of the groups of a range.
template <Mode mode, class R, class Leaf, std::size_t... member>
struct MemberLists {
  using types = std::tuple<>;
  static std::tuple<> get(R const&) { return {}; }
};
template <Mode mode, class R, class Leaf, std::size_t... member>
  requires Kokkos::is_view_v<Leaf>
struct MemberLists<mode, R, Leaf, member...> {
  using types = std::tuple<view_list<typename ArgumentAs<mode, Leaf>::type>>;
  static std::tuple<ViewsOf<R, member...>> get(R const& range) {
    return {ViewsOf<R, member...>{range}};
  }
};
template <Mode mode, class R, class... Held, std::size_t... member>
struct MemberLists<mode, R, Group<Held...>, member...> {
  template <std::size_t k>
  using Of = MemberLists<
      mode, R,
      typename LeafOf<std::remove_cvref_t<std::tuple_element_t<k, std::tuple<Held...>>>>::type,
      member..., k>;
  template <std::size_t... k>
  static auto types_of(std::index_sequence<k...>) -> JoinTuples<typename Of<k>::types...>;
  using All = std::index_sequence_for<Held...>;
  using types = typename decltype(types_of(All()))::type;
  static auto get(R const& range) {
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return std::tuple_cat(Of<k>::get(range)...);
    }(All());
  }
};

/// The Views that a functor takes for a resource in this mode; none for Tokens. `types` is a tuple
/// of their types, and `get(resource)` returns what they are made from.
template <Mode mode, class R>
struct ArgumentsIn {
  using types = std::tuple<>;
  static std::tuple<> get(R const&) { return {}; }
};
template <Mode mode, class V>
  requires Kokkos::is_view_v<V>
struct ArgumentsIn<mode, V> {
  using types = std::tuple<typename ArgumentAs<mode, V>::type>;
  static std::tuple<V const&> get(V const& view) { return {view}; }
};
template <Mode mode, class R>
  requires ViewRange<R const>
struct ArgumentsIn<mode, R> {
  using types = std::tuple<view_list<typename ArgumentAs<mode, typename LeafOf<R>::type>::type>>;
  static std::tuple<ViewsOf<R>> get(R const& range) { return {ViewsOf<R>{range}}; }
};
template <Mode mode, class R>
  requires GroupRange<R const>
struct ArgumentsIn<mode, R> : MemberLists<mode, R, typename LeafOf<R>::type> {};
template <Mode mode, class... Members>
struct ArgumentsIn<mode, Group<Members...>> {
  using types =
      typename JoinTuples<typename ArgumentsIn<mode, std::remove_cvref_t<Members>>::types...>::type;
  static auto get(Group<Members...> const& group) {
    return std::apply(
        [](auto const&... member) {
          return std::tuple_cat(
              ArgumentsIn<mode, std::remove_cvref_t<decltype(member)>>::get(member)...);
        },
        group.members);
  }
};

/// The Views that a functor takes for one annotation; none for properties and lists of accesses.
template <class A>
struct ArgumentsOf {
  using types = std::tuple<>;
  static std::tuple<> get(A const&) { return {}; }
};
template <class Held>
struct ArgumentsOf<StateAccess<Held>> {
  using Of = ArgumentsIn<StateAccess<Held>::mode, std::remove_cvref_t<Held>>;
  using types = typename Of::types;
  static auto get(StateAccess<Held> const& access) { return Of::get(access.resource); }
};
template <Mode mode, class Held>
struct ArgumentsOf<Access<mode, Held>> {
  using Of = ArgumentsIn<mode, std::remove_cvref_t<Held>>;
  using types = typename Of::types;
  static auto get(Access<mode, Held> const& access) { return Of::get(access.resource); }
};

template <class V, unsigned traits>
struct TraitsArgument : std::type_identity<WithTrait<V, traits>> {};
template <class V, unsigned traits>
struct TraitsArgument<view_list<V>, traits> : std::type_identity<view_list<WithTrait<V, traits>>> {
};
template <class Views, unsigned traits>
struct TraitsArguments;
template <class... V, unsigned traits>
struct TraitsArguments<std::tuple<V...>, traits>
    : std::type_identity<std::tuple<typename TraitsArgument<V, traits>::type...>> {};
template <class Of, unsigned traits>
struct ArgumentsOf<TraitsAccess<Of, traits>> : ArgumentsOf<Of> {
  using types = typename TraitsArguments<typename ArgumentsOf<Of>::types, traits>::type;
};

/// A value is not known yet: the functor has a place for it.
template <class T>
struct ArgumentsOf<ValueOf<T>> {
  using types = std::tuple<KnownValue<T>>;
  static std::tuple<ValueOf<T> const&> get(ValueOf<T> const& annotation) { return {annotation}; }
};

/// The Views that a functor takes on `Space`, which the pieces of an open resource may depend on.
template <class A, class Space>
struct ArgumentsFor : ArgumentsOf<A> {};

/// All annotated Views of a policy, typed by their access, as a tuple.
template <class Space, class... Annotations>
using ArgumentsOfAll = typename JoinTuples<
    typename ArgumentsFor<std::remove_cvref_t<Annotations>, Space>::types...>::type;
/// Returns the Views themselves. Each is made in its final place, as copying a View is expensive.
template <class Space, class... Annotations>
ArgumentsOfAll<Space, Annotations...> arguments_of(std::tuple<Annotations...> const& annotations) {
  using Views = ArgumentsOfAll<Space, Annotations...>;
  return std::apply(
      [](auto const&... each) {
        return std::apply(
            [](auto const&... view) { return Views(view...); },
            std::tuple_cat(ArgumentsFor<std::remove_cvref_t<decltype(each)>, Space>::get(each)...));
      },
      annotations);
}

}  // namespace Impl
}  // namespace trellis

#endif
