// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACEOPENMP_HPP
#define TRELLIS_SPACEOPENMP_HPP

#include <common/Trellis_HostLoop.hpp>
#include <common/Trellis_HostSpaceAdapter.hpp>
#include <common/Trellis_KokkosInternals.hpp>

#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_OPENMP

namespace trellis::Impl {

/// Makes one OpenMP pool per worker, on the worker's own thread: pools of different threads are
/// independent.
class OpenMPAdapter final : public HostSpaceAdapter<Kokkos::OpenMP> {
 public:
  void* make_instance(int threads) override;
};

template <>
struct AdapterOf<Kokkos::OpenMP> {
  static constexpr bool exists = true;
  static SpaceAdapter& get();
  static bool has_one_thread(Kokkos::OpenMP const& instance) {
    return concurrency_of(instance) == 1;
  }
  static void run(HostLoop const& loop, Kokkos::OpenMP const& instance, Label const& label);
};

}  // namespace trellis::Impl

#endif

#endif
