// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PACKING_HPP
#define TRELLIS_IMPL_PACKING_HPP

#include <Trellis_ResourcePolicy.hpp>
#include <Trellis_RunOn.hpp>
#include <impl/Trellis_Submit.hpp>
#include <mpi/Trellis_Received.hpp>
#include <mpi/impl/Trellis_MessageBuffer.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <patterns/Trellis_DeepCopy.hpp>
#include <patterns/Trellis_ParallelFor.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

/// How a View becomes a piece of memory that MPI takes, and back.
///
/// The elements of a message are in the order in which they lie in memory: the direction with the
/// smallest stride is the fastest one. So a contiguous View goes as it is, and any other View of
/// the same layout and extents gives the same message.
namespace trellis::Impl {

/// Does MPI on the host read and write this memory itself?
template <class V>
inline constexpr bool is_host_memory_v =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename V::memory_space>::accessible;

/// Is each View of this type one piece of memory that MPI takes?
template <class V>
inline constexpr bool is_always_one_piece =
    is_host_memory_v<V> &&
    (V::rank() == 0 ||
     (V::rank() == 1 && (std::is_same_v<typename V::array_layout, Kokkos::LayoutLeft> ||
                         std::is_same_v<typename V::array_layout, Kokkos::LayoutRight>)));

template <class V>
bool is_one_piece(V const& view) {
  if constexpr (V::rank() == 0)
    return true;
  else
    return lies_in_one_piece(view);
}
/// Does it go as it is?
template <class V>
bool goes_as_it_is(V const& view) {
  return is_one_piece(view) && (is_host_memory_v<V> || mpi_reaches_devices());
}

/// Directions of a View by their strides, the fastest last; those of one index are left out.
template <std::size_t rank>
struct MemoryOrder {
  int directions = 0;
  std::int64_t extents[rank > 0 ? rank : 1]{};
  std::int64_t strides[rank > 0 ? rank : 1]{};

  template <class V>
  explicit MemoryOrder(V const& view) {
    if constexpr (rank > 0) {
      std::array<std::pair<std::int64_t, std::int64_t>, rank> all;
      std::size_t count = 0;
      for (std::size_t k = 0; k < rank; ++k)
        if (view.extent(k) != 1)
          all[count++] = {static_cast<std::int64_t>(view.stride(k)),
                          static_cast<std::int64_t>(view.extent(k))};
      std::stable_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count),
                       [](auto const& a, auto const& b) { return a.first > b.first; });
      directions = static_cast<int>(count);
      for (std::size_t k = 0; k < count; ++k) {
        strides[k] = all[k].first;
        extents[k] = all[k].second;
      }
    }
  }
  /// How far the element with this number in memory order is from the first one.
  KOKKOS_FUNCTION std::int64_t offset(std::int64_t number) const {
    std::int64_t at = 0;
    for (int k = directions - 1; k >= 0; --k) {
      at += number % extents[k] * strides[k];
      number /= extents[k];
    }
    return at;
  }
};

/// Copies elements of a View to a buffer, or from it. On the host one index of the range is a row
/// in the fastest direction, on a device an element.
template <class V, class Buffer, bool packs>
struct Packer {
  using Value = typename V::non_const_value_type;
  static constexpr bool by_rows = is_host_memory_v<V>;
  V view;
  Buffer buffer;
  MemoryOrder<V::rank()> order;
  std::int64_t row;
  std::int64_t stride;
  std::int64_t rows;

  Packer(V const& view_, Buffer const& buffer_) : view(view_), buffer(buffer_), order(view_) {
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
  /// No more than what has been received.
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

/// A View's elements in a buffer that MPI takes, and the tasks that bring them there and back.
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

  Home home;        ///< where the View is
  Staging staging;  ///< with the host, when MPI cannot reach that
  bool is_staged;

  explicit Packed(V const& view)
      : home(MessageBuffers<typename V::memory_space>::take(view.size() * sizeof(Value))),
        is_staged(!is_host_memory_v<V> && !mpi_reaches_devices()) {
    if (is_staged) staging = MessageBuffers<StagingSpace>::take(view.size() * sizeof(Value));
  }
  [[nodiscard]] unsigned char* data() const { return is_staged ? staging.data() : home.data(); }

  template <class... Given>
  void pack(Label const& label, ResourcePolicy<Once, Given...> const& policy, V const& view) const {
    Packer<V, Home, true> const packer(view, home);
    with_given(with_number_if(false, policy), [&](auto const&... given) {
      trellis::parallel_for(part_of(label, "pack"),
                            ResourcePolicy(policy.target(), Range(0, packer.rows), on<Space>,
                                           read(view), write(home), given...),
                            packer);
      if (is_staged)
        trellis::deep_copy(part_of(label, "to the host"), ResourcePolicy(policy.target(), given...),
                           part(staging, view), part(home, view));
    });
  }
  /// `received`: nothing, or the future of the receive.
  template <class... Given, class... Received>
  Future<void> unpack(Label const& label, ResourcePolicy<Once, Given...> const& policy,
                      V const& view, Received const&... received) const {
    Packer<V, Home, false> const packer(view, home);
    if (is_staged)
      with_given(with_number_if(false, policy), [&](auto const&... given) {
        trellis::deep_copy(part_of(label, "to the device"),
                           ResourcePolicy(policy.target(), given...), part(home, view),
                           part(staging, view));
      });
    return with_given(policy, [&](auto const&... given) {
      return trellis::parallel_for(
          part_of(label, "unpack"),
          ResourcePolicy(policy.target(), Range(0, packer.rows), on<Space>, value(received)...,
                         read(home), write(view), given...),
          packer);
    });
  }

 private:
  template <class Policy, class F>
  static decltype(auto) with_given(Policy const& policy, F&& f) {
    return std::apply(std::forward<F>(f), policy.annotations());
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
