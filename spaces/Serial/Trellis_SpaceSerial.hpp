// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACESERIAL_HPP
#define TRELLIS_SPACESERIAL_HPP

#include <common/Trellis_HostLoop.hpp>
#include <common/Trellis_HostSpaceAdapter.hpp>

#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_SERIAL

namespace trellis::Impl {

/// Makes one Serial instance per worker: two threads that share an instance wait for each other's
/// launches.
class SerialAdapter final : public HostSpaceAdapter<Kokkos::Serial> {
 public:
  void* make_instance(int /*threads*/) override {
    return new Kokkos::Serial(Kokkos::NewInstance{});
  }
  [[nodiscard]] bool is_parallel() const override { return false; }
};

template <>
struct AdapterOf<Kokkos::Serial> {
  static constexpr bool exists = true;
  static SpaceAdapter& get();
  static bool has_one_thread(Kokkos::Serial const&) { return true; }
  static void run(HostLoop const& loop, Kokkos::Serial const& instance, Label const& label);
};

}  // namespace trellis::Impl

#endif

#endif
