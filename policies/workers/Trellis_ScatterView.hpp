// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SCATTERVIEW_HPP
#define TRELLIS_SCATTERVIEW_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Error.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <Trellis_Spaces.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <workers/Trellis_PerWorker.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_ScatterView.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header tasks that run at the same time scatter into one View, as with
/// `Kokkos::Experimental::ScatterView`: forces of pairs, contributions of finite elements.
namespace trellis {

namespace Impl {

/// Says what one of Kokkos' operations does, and its initial value.
template <class Op>
struct ScatterOp;
template <>
struct ScatterOp<Kokkos::Experimental::ScatterSum> {
  template <class T>
  KOKKOS_FUNCTION static T identity() {
    return Kokkos::reduction_identity<T>::sum();
  }
  template <class T>
  KOKKOS_FUNCTION static void join(T& value, T const& other) {
    value += other;
  }
};
template <>
struct ScatterOp<Kokkos::Experimental::ScatterProd> {
  template <class T>
  KOKKOS_FUNCTION static T identity() {
    return Kokkos::reduction_identity<T>::prod();
  }
  template <class T>
  KOKKOS_FUNCTION static void join(T& value, T const& other) {
    value *= other;
  }
};
template <>
struct ScatterOp<Kokkos::Experimental::ScatterMin> {
  template <class T>
  KOKKOS_FUNCTION static T identity() {
    return Kokkos::reduction_identity<T>::min();
  }
  template <class T>
  KOKKOS_FUNCTION static void join(T& value, T const& other) {
    if (other < value) value = other;
  }
};
template <>
struct ScatterOp<Kokkos::Experimental::ScatterMax> {
  template <class T>
  KOKKOS_FUNCTION static T identity() {
    return Kokkos::reduction_identity<T>::max();
  }
  template <class T>
  KOKKOS_FUNCTION static void join(T& value, T const& other) {
    if (value < other) value = other;
  }
};

/// All elements of a View, or of one like it, as one piece of memory.
template <class V>
using ElementsOf = Kokkos::View<typename V::value_type*, typename V::device_type,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Holds the updates of a View. On the host each thread has a duplicate, which it makes itself, so
/// that the memory is near.
template <class V, class Op, bool on_device>
class Duplicates {
  using Value = typename V::value_type;
  using Scatter = Kokkos::Experimental::ScatterView<
      typename V::data_type, typename V::array_layout, typename V::device_type, Op,
      Kokkos::Experimental::ScatterNonDuplicated, Kokkos::Experimental::ScatterNonAtomic>;
  struct Duplicate {
    std::unique_ptr<Value[]> memory;
    Scatter scatter;
  };

 public:
  /// An index of a kernel that contributes takes this many elements.
  static constexpr std::size_t elements_each = 512;

  explicit Duplicates(V const& target)
      : m_duplicates(target.label(), [layout = target.layout(), span = target.size()] {
          std::unique_ptr<Value[]> memory(new Value[span]);
          std::fill_n(memory.get(), span, ScatterOp<Op>::template identity<Value>());
          typename Scatter::original_view_type const view(memory.get(), layout);
          return Duplicate{std::move(memory), Scatter(view)};
        }) {}

  [[nodiscard]] Token const& token() const { return m_duplicates.token(); }
  [[nodiscard]] KOKKOS_FUNCTION auto access() const {
    return m_duplicates.local().scatter.access();
  }
  /// Adds the duplicates to the elements in [begin, end), and resets them there.
  KOKKOS_FUNCTION void contribute(ElementsOf<V> const& elements, std::size_t begin,
                                  std::size_t end) const {
    KOKKOS_IF_ON_HOST((contribute_here(elements.data(), begin, end);))
    KOKKOS_IF_ON_DEVICE(
        (static_cast<void>(elements); static_cast<void>(begin); static_cast<void>(end);))
  }

 private:
  void contribute_here(Value* elements, std::size_t begin, std::size_t end) const {
    m_duplicates.for_each([=](Duplicate const& each) {
      for (std::size_t k = begin; k < end; ++k) {
        ScatterOp<Op>::join(elements[k], each.memory[k]);
        each.memory[k] = ScatterOp<Op>::template identity<Value>();
      }
    });
  }

  PerWorker<Duplicate> m_duplicates;
};

/// Holds the updates on a device: all threads share one duplicate, and update it atomically.
template <class V, class Op>
class Duplicates<V, Op, true> {
  using Value = typename V::value_type;
  using Scatter = Kokkos::Experimental::ScatterView<
      typename V::data_type, typename V::array_layout, typename V::device_type, Op,
      Kokkos::Experimental::ScatterNonDuplicated, Kokkos::Experimental::ScatterAtomic>;
  using Memory = Kokkos::View<Value*, typename V::device_type>;

 public:
  static constexpr std::size_t elements_each = 1;

  explicit Duplicates(V const& target)
      : m_token(target.label()),
        m_memory(Kokkos::view_alloc(Kokkos::WithoutInitializing, target.label()), target.size()),
        m_scatter(typename Scatter::original_view_type(m_memory.data(), target.layout())) {
    Kokkos::deep_copy(m_memory, ScatterOp<Op>::template identity<Value>());
  }

  [[nodiscard]] Token const& token() const { return m_token; }
  [[nodiscard]] KOKKOS_FUNCTION auto access() const { return m_scatter.access(); }
  KOKKOS_FUNCTION void contribute(ElementsOf<V> const& elements, std::size_t begin,
                                  std::size_t end) const {
    for (std::size_t k = begin; k < end; ++k) {
      ScatterOp<Op>::join(elements(k), m_memory(k));
      m_memory(k) = ScatterOp<Op>::template identity<Value>();
    }
  }

 private:
  Token m_token;
  Memory m_memory;
  Scatter m_scatter;
};

}  // namespace Impl

/// Lets tasks that run at the same time add to a View, each thread in a duplicate of its own:
///
///     trellis::ScatterView forces(f);
///     for (auto const& pairs : lists)
///       trellis::parallel_for("forces", trellis::ResourcePolicy(graph, pairs.size(),
///                             trellis::read(x), trellis::atomic_add(forces)),
///                             KOKKOS_LAMBDA(int k) {
///                               auto access = forces.access();
///                               access(pairs.first(k)) += force(k);
///                               access(pairs.second(k)) -= force(k);
///                             });
///     trellis::contribute(graph, f, forces);    // a task, which adds the duplicates to f
///
/// Kokkos' own ScatterView chooses the duplicate by the number of a thread in its own instance.
/// This is 0 on every worker of one thread, and on Serial there are no duplicates. So tasks that
/// run at the same time would overwrite each other's updates.
///
/// `Op` is one of Kokkos' operations: `ScatterSum`, `ScatterProd`, `ScatterMin`, `ScatterMax` (in
/// Kokkos::Experimental). `access()` returns Kokkos' `ScatterAccess`. `token()` stands for the
/// duplicates: a task that updates names the ScatterView in `atomic_add`. The View itself does not
/// change before `contribute`, and the update tasks need not name it. The order of a sum is not
/// deterministic.
///
/// A duplicate is made when a thread first calls `access()`, and kept. On a device all threads
/// share one, and update it atomically. Copies are the same object.
template <class V, class Op = Kokkos::Experimental::ScatterSum,
          bool on_device = Impl::DeviceSpace<typename V::execution_space>>
class ScatterView {
  static_assert(Kokkos::is_view_v<V> && !std::is_const_v<typename V::value_type>,
                "Trellis: a ScatterView is made for a View whose elements are not const");

 public:
  using view_type = V;

  /// Throws `Error` when the View's elements do not lie in one piece of memory.
  explicit ScatterView(V const& target, Op = {})
      : m_duplicates(require_contiguous(target)),
        m_span(target.size()),
        m_layout(target.layout()) {}

  /// Returns the token that annotations name.
  [[nodiscard]] Token const& token() const { return m_duplicates.token(); }
  /// Returns the calling thread's access to its duplicate, as with Kokkos: `access(i, j) += value`.
  [[nodiscard]] KOKKOS_FUNCTION auto access() const { return m_duplicates.access(); }
  /// Returns the number of elements.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t span() const { return m_span; }
  /// True if the View is laid out like the one that this was made for.
  [[nodiscard]] bool fits(V const& target) const {
    if (!Impl::lies_in_one_piece(target)) return false;
    for (std::size_t k = 0; k < V::rank(); ++k) {
      if (target.extent(k) != m_layout.dimension[k]) return false;
      if constexpr (std::is_same_v<typename V::array_layout, Kokkos::LayoutStride>)
        if (target.extent(k) > 1 && target.stride(k) != m_layout.stride[k]) return false;
    }
    return true;
  }

  /// Use the task `trellis::contribute` instead.
  KOKKOS_FUNCTION void contribute(Impl::ElementsOf<V> const& elements, std::size_t begin,
                                  std::size_t end) const {
    m_duplicates.contribute(elements, begin, end);
  }
  static constexpr std::size_t elements_each = Impl::Duplicates<V, Op, on_device>::elements_each;

 private:
  static V const& require_contiguous(V const& target) {
    if (!Impl::lies_in_one_piece(target))
      throw Error(Error::Kind::bad_input,
                  "Trellis: the View \"" + target.label() +
                      "\" is to have a ScatterView, but its elements do not lie in one piece of "
                      "memory");
    return target;
  }

  Impl::Duplicates<V, Op, on_device> m_duplicates;
  std::size_t m_span;
  typename V::array_layout m_layout;
};

namespace Impl {

template <class V, class Scatter>
struct Contribution {
  V target;  ///< keeps the View
  Scatter scatter;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    std::size_t const begin = static_cast<std::size_t>(k) * Scatter::elements_each;
    std::size_t const end = begin + Scatter::elements_each;
    scatter.contribute(ElementsOf<V>(target.data(), scatter.span()), begin,
                       end < scatter.span() ? end : scatter.span());
  }
};

}  // namespace Impl

/// Submits a task that adds (multiplies, ...) the duplicates to the View, and resets them for
/// further updates; returns at once. It comes after the updates that were submitted before, and
/// those that are submitted later come after it. The policy has the graph, and may have properties.
/// Throws `Error` when `target` is not like the View that the ScatterView was made for.
template <class... Annotations, class V, class Op, bool on_device>
Future<void> contribute(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy,
                        V const& target, ScatterView<V, Op, on_device> const& scatter) {
  using Scatter = ScatterView<V, Op, on_device>;
  if (!scatter.fits(target))
    throw Error(
        Error::Kind::bad_input,
        "Trellis: task " + label.text() + " contributes to the View \"" + target.label() +
            "\", whose extents or strides are not those of the View that the ScatterView \"" +
            scatter.token().label() + "\" was made for");
  using Range = Kokkos::RangePolicy<typename V::execution_space, Kokkos::IndexType<std::int64_t>>;
  std::size_t const count = (scatter.span() + Scatter::elements_each - 1) / Scatter::elements_each;
  return std::apply(
      [&](auto const&... annotation) {
        return parallel_for(
            std::move(label),
            ResourcePolicy(policy.target(), Range(0, static_cast<std::int64_t>(count)),
                           read_write(target), read_write(scatter.token()), annotation...),
            Impl::Contribution<V, Scatter>{target, scatter});
      },
      policy.annotations());
}
/// Contributes with the label "contribute"; `graph` is a TaskGraph, or the TaskScope of a running
/// task.
template <class Target, class V, class Op, bool on_device>
  requires Impl::is_target_v<Target>
Future<void> contribute(Target& graph, V const& target,
                        ScatterView<V, Op, on_device> const& scatter,
                        std::source_location site = std::source_location::current()) {
  return contribute(Label(std::string("contribute"), site), ResourcePolicy(graph), target, scatter);
}

}  // namespace trellis

#endif
