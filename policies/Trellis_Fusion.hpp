// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FUSION_HPP
#define TRELLIS_FUSION_HPP

/// With this header ready tasks run as one launch, and you advise a graph which and when.
#include <Trellis_Orchestration.hpp>
#include <Trellis_Properties.hpp>

namespace trellis {

/// When it is ready, the task may be held back, and run as one with others that have the same
/// functor type and space: as the graph's `Orchestration` advises, see there. It stays a task of
/// its own, with its accesses, future and failure. For `parallel_for` over a number, a `RangePolicy` or
/// an `MDRangePolicy`: such a batch is one launch, and a functor must not wait for other tasks. For
/// a `host_task` whose callable takes no `TaskScope` and no `Completion`: one thread runs the batch,
/// or the callable's class does, if it has
///
///     static void fused(std::span<Callable* const> all, std::size_t& at);
///
/// which runs all of them, and keeps `at` at the one that it runs: what it throws is the failure of
/// that one, those before it are done, and those behind it run by themselves.
///
/// Tasks that exclude others, are bound to the main thread, are synchronizing, or have `threads(n)`
/// are never held back.
inline constexpr Impl::Fusable fusable{};

namespace experimental {

/// `fusable`, for a `parallel_for` on a space of the host, whose functor is compiled for the
/// devices of `Space` as well: where the advice says so, a batch goes to one of them, as one launch there.
/// Its members are complete when the device is done with it. A launch that cannot be made there is
/// made at home.
///
///     parallel_for("cell", ResourcePolicy(graph, Kokkos::RangePolicy<Kokkos::Serial>(0, n),
///                                         experimental::fusable_on<Kokkos::Cuda>, read_write(x)),
///                  Cell{x});
///
/// Host and device touch the Views at the same time, so these are in memory that both can access,
/// such as `Kokkos::SharedSpace` or `Kokkos::SharedHostPinnedSpace`; those that are annotated are
/// checked when it is compiled. The functor is host-device code. What is no device, or the space on
/// which the task runs anyway, says no more than `fusable`.
template <class ExecutionSpace>
inline constexpr Impl::FusableOn<ExecutionSpace> fusable_on{};

}  // namespace experimental

}  // namespace trellis

#endif
