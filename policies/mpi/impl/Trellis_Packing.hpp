// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PACKING_HPP
#define TRELLIS_IMPL_PACKING_HPP

#include <annotations/Trellis_ResourcePolicy.hpp>
#include <common/Trellis_RunOn.hpp>
#include <annotations/impl/Trellis_Submit.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Received.hpp>
#include <mpi/impl/Trellis_MessageBuffer.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <patterns/Trellis_DeepCopy.hpp>
#include <patterns/Trellis_ParallelFor.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

/// This header turns a View into a piece of memory that MPI takes, and back.
///
/// The elements of a message are in the order of their indices. A communicator has one order for
/// all its messages (WireOrder). A receiver does not know the sender's layout, and MPI reports only
/// a number of bytes. If each side keeps to that order, each element keeps its indices, whatever
/// the two layouts are. A View that lies in memory in just that order is sent as it is.
namespace trellis::Impl {

/// True if MPI on the host reads and writes this memory itself.
template <class V>
inline constexpr bool is_host_memory_v =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename V::memory_space>::accessible;

/// True if each View of this type is one piece of memory that MPI takes.
template <class V>
inline constexpr bool is_always_one_piece =
    is_host_memory_v<V> &&
    (V::rank() == 0 ||
     (V::rank() == 1 && (std::is_same_v<typename V::array_layout, Kokkos::LayoutLeft> ||
                         std::is_same_v<typename V::array_layout, Kokkos::LayoutRight>)));

/// True if the elements lie one after the other in this order of their indices. Dimensions with
/// one index do not matter. Only the strides decide: `span` of Kokkos 4.5 is too small if they
/// interleave.
template <class V>
bool lies_in_order(V const& view, WireOrder order) {
  if (view.size() == 0) return true;
  std::size_t next = 1;
  for (std::size_t k = 0; k < V::rank(); ++k) {
    std::size_t const direction = order == WireOrder::right ? V::rank() - 1 - k : k;
    if (view.extent(direction) == 1) continue;
    if (static_cast<std::size_t>(view.stride(direction)) != next) return false;
    next *= view.extent(direction);
  }
  return true;
}
/// True if the View is sent as it is. Only this function decides that.
template <class V>
bool goes_as_it_is(V const& view, WireOrder order) {
  return lies_in_order(view, order) && (is_host_memory_v<V> || mpi_reaches_devices());
}

/// The dimensions of a View in the order of the wire, the fastest last, without those that have one
/// index.
template <std::size_t rank>
struct IndexOrder {
  int directions = 0;
  std::int64_t extents[rank > 0 ? rank : 1]{};
  std::int64_t strides[rank > 0 ? rank : 1]{};

  template <class V>
  IndexOrder(V const& view, WireOrder order) {
    for (std::size_t k = 0; k < rank; ++k) {
      std::size_t const direction = order == WireOrder::right ? k : rank - 1 - k;
      if (view.extent(direction) == 1) continue;
      strides[directions] = static_cast<std::int64_t>(view.stride(direction));
      extents[directions] = static_cast<std::int64_t>(view.extent(direction));
      ++directions;
    }
  }
  /// Returns the distance between the first element and the one with this number in that order.
  KOKKOS_FUNCTION std::int64_t offset(std::int64_t number) const {
    std::int64_t at = 0;
    for (int k = directions - 1; k >= 0; --k) {
      at += number % extents[k] * strides[k];
      number /= extents[k];
    }
    return at;
  }
};

/// Copies elements of a View to a buffer, or from it. An index of the range is a row in the fastest
/// dimension on the host, and an element on a device.
template <class V, class Buffer, bool packs>
struct Packer {
  using Value = typename V::non_const_value_type;
  static constexpr bool by_rows = is_host_memory_v<V>;
  V view;
  Buffer buffer;
  IndexOrder<V::rank()> order;
  std::int64_t row;
  std::int64_t stride;
  std::int64_t rows;

  Packer(V const& view_, Buffer const& buffer_, WireOrder wire_order)
      : view(view_), buffer(buffer_), order(view_, wire_order) {
    row = 1;
    stride = 1;
    if (by_rows && order.directions > 0) {
      --order.directions;
      row = order.extents[order.directions];
      stride = order.strides[order.directions];
    }
    rows = row > 0 ? static_cast<std::int64_t>(view.size()) / row : 0;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { copy(k, row); }
  /// Unpacks no more than what has been received.
  template <class... Views>
  KOKKOS_FUNCTION void operator()(std::int64_t k, mpi::Received const& received,
                                  Views const&...) const {
    std::int64_t const left = received.count - k * row;
    if (left > 0) copy(k, left < row ? left : row);
  }
  KOKKOS_FUNCTION void copy(std::int64_t k, std::int64_t count) const {
    Value* const packed = reinterpret_cast<Value*>(buffer.data()) + k * row;
    auto* const first = view.data() + order.offset(k);
    for (std::int64_t j = 0; j < count; ++j) {
      if constexpr (packs)
        packed[j] = first[j * stride];
      else
        first[j * stride] = packed[j];
    }
  }
};

/// A View's elements in a buffer that MPI takes, and the tasks that copy them there and back.
///
/// INVARIANT (buffers are no resources). The tasks of one message hand its buffer on: each comes
/// `after` the one before, so no task declares an access to it. In a plan a task comes before the
/// next run of its predecessor, so a round packs when the message of the round before is over.
/// Other messages have other buffers, see MessageBuffers. So a part of a task may be packed though
/// its owner does not know the buffer. The failure of one message does not reach another one that
/// gets the buffer later.
template <class V>
struct Packed {
  using Value = typename V::non_const_value_type;
  using Space = HomeOf<V>;
  using Range = Kokkos::RangePolicy<typename RunOn<Space>::body_space>;
  using Home = MessageBuffer<typename V::memory_space>;
#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
  using StagingSpace = Kokkos::SharedHostPinnedSpace;
#else
  using StagingSpace = Kokkos::HostSpace;
#endif
  using Staging = MessageBuffer<StagingSpace>;

  Home home;        ///< in the memory space of the View
  Staging staging;  ///< in host memory, if MPI cannot reach `home`
  bool is_staged;
  WireOrder order;

  Packed(V const& view, WireOrder order_)
      : home(MessageBuffers<typename V::memory_space>::take(view.size() * sizeof(Value))),
        is_staged(!is_host_memory_v<V> && !mpi_reaches_devices()),
        order(order_) {
    if (is_staged) staging = MessageBuffers<StagingSpace>::take(view.size() * sizeof(Value));
  }
  [[nodiscard]] unsigned char* data() const { return is_staged ? staging.data() : home.data(); }

  /// Packs. The message comes after the task whose future this returns.
  template <class... Given>
  Future<void> pack(Label const& label, ResourcePolicy<Once, Given...> const& policy,
                    V const& view) const {
    Packer<V, Home, true> const packer(view, home, order);
    return with_given(with_number_if(false, policy), [&](auto const&... given) {
      Future<void> const packed = trellis::parallel_for(
          part_of(label, "pack"),
          ResourcePolicy(policy.target(), Range(0, packer.rows), on<Space>, read(view), given...),
          packer);
      if constexpr (!is_host_memory_v<V>)
        if (is_staged)
          return copy(part_of(label, "to the host"),
                      ResourcePolicy(policy.target(), after(packed), given...), part(staging, view),
                      part(home, view));
      return packed;
    });
  }
  /// Unpacks. `over` is the future of the message; its value, if it has one, says how much has
  /// come.
  template <class... Given, class Over>
  Future<void> unpack(Label const& label, ResourcePolicy<Once, Given...> const& policy,
                      V const& view, Future<Over> const& over) const {
    Packer<V, Home, false> const packer(view, home, order);
    auto const submit = [&](auto const&... before) {
      return with_given(policy, [&](auto const&... given) {
        return trellis::parallel_for(part_of(label, "unpack"),
                                     ResourcePolicy(policy.target(), Range(0, packer.rows),
                                                    on<Space>, before..., write(view), given...),
                                     packer);
      });
    };
    if constexpr (!is_host_memory_v<V>)
      if (is_staged)
        return submit(value(over),
                      after(with_given(with_number_if(false, policy), [&](auto const&... given) {
                        return copy(part_of(label, "to the device"),
                                    ResourcePolicy(policy.target(), after(over), given...),
                                    part(home, view), part(staging, view));
                      })));
    return submit(value(over));
  }

 private:
  template <class Policy, class F>
  static decltype(auto) with_given(Policy const& policy, F&& f) {
    return std::apply(std::forward<F>(f), policy.annotations());
  }
  /// Copies as `deep_copy` does, without accesses.
  template <class Policy, class To, class From>
  static Future<void> copy(Label&& label, Policy const& policy, To const& to, From const& from) {
    using Where = CopySpace<To, From>;
    using Body = CopyBodyOn<Where, To, From>;
    return FutureInternals::make(Impl::submit<Where>(std::move(label), policy, Body{to, from}));
  }
  static Label part_of(Label const& label, char const* what) {
    return Label(label.string() + ": " + what, label.site());
  }
  template <class Buffer>
  static auto part(Buffer const& buffer, V const& view) {
    return Kokkos::subview(buffer,
                           std::pair<std::size_t, std::size_t>(0, view.size() * sizeof(Value)));
  }
};

}  // namespace trellis::Impl

#endif
