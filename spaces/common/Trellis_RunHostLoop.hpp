// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RUNHOSTLOOP_HPP
#define TRELLIS_RUNHOSTLOOP_HPP

#include <common/Trellis_HostLoop.hpp>
#include <common/Trellis_KernelName.hpp>
#include <common/Trellis_KokkosInternals.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

/// The sources of host spaces use this header to run a loop.
namespace trellis::Impl {

/// On one thread this runs the loop alone. Kokkos would do more: it takes the instance's mutex, and
/// on OpenMP opens a parallel region, which takes as long as all the rest of a task. On several
/// threads Kokkos launches the blocks, which are those that it would make itself.
template <class Space>
void run_host_loop(HostLoop const& loop, Space const& instance, Label const& label) {
  if (may_loop(instance)) return loop.all();
  auto const launch = [&]<class Schedule>(std::uint64_t blocks, Schedule, auto const& run_block) {
    using Policy = Kokkos::RangePolicy<Space, Schedule, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(
        kernel_name(label),
        Policy(instance, 0, static_cast<std::int64_t>(blocks), Kokkos::ChunkSize(1)), run_block);
  };
  if (loop.chunk == 0) {
    auto const threads = static_cast<std::uint64_t>(concurrency_of(instance));
    std::uint64_t const blocks = std::min(loop.count, threads);
    std::uint64_t const size = blocks > 0 ? loop.count / blocks : 0;
    std::uint64_t const larger = loop.count - size * blocks;  // blocks with one index more
    launch(blocks, Kokkos::Schedule<Kokkos::Static>(), [=](std::int64_t number) {
      auto const k = static_cast<std::uint64_t>(number);
      loop.run(loop.functor, loop.begin + k * size + std::min(k, larger), size + (k < larger));
    });
  } else {
    std::uint64_t const blocks = loop.count / loop.chunk + (loop.count % loop.chunk > 0);
    launch(blocks, Kokkos::Schedule<Kokkos::Dynamic>(), [=](std::int64_t number) {
      std::uint64_t const at = static_cast<std::uint64_t>(number) * loop.chunk;
      loop.run(loop.functor, loop.begin + at, std::min(loop.chunk, loop.count - at));
    });
  }
}

}  // namespace trellis::Impl

#endif
