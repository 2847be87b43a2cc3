// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <OpenMP/Trellis_SpaceOpenMP.hpp>
#include <common/Trellis_RunHostLoop.hpp>

#ifdef KOKKOS_ENABLE_OPENMP

#include <omp.h>

#ifdef __linux__
#include <sched.h>

#include <vector>
#endif

namespace trellis::Impl {

namespace {

// If OMP_PROC_BIND is set, the runtime binds the initial thread to its place. Every thread that
// this one makes inherits the place, so all workers would share one core. This function gives a
// worker the whole list of places back, and the operating system spreads the workers.
void widen_affinity() {
#ifdef __linux__
  if (omp_get_proc_bind() == omp_proc_bind_false || omp_get_num_places() == 0) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (int const id : ids)
      if (id >= 0 && id < CPU_SETSIZE) CPU_SET(id, &cpus);
  }
  if (CPU_COUNT(&cpus) > 0) sched_setaffinity(0, sizeof cpus, &cpus);
#endif
}

}  // namespace

void* OpenMPAdapter::make_instance(int threads) {
  if (threads == 1) widen_affinity();  // the OpenMP runtime places a larger pool
  return new Kokkos::OpenMP(threads);
}

void AdapterOf<Kokkos::OpenMP>::run(HostLoop const& loop, Kokkos::OpenMP const& instance,
                                    Label const& label) {
  run_host_loop(loop, instance, label);
}

SpaceAdapter& AdapterOf<Kokkos::OpenMP>::get() {
  static OpenMPAdapter adapter;
  return adapter;
}

}  // namespace trellis::Impl

#endif
