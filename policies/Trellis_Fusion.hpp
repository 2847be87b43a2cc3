// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FUSION_HPP
#define TRELLIS_FUSION_HPP

/// With this header ready tasks run as one launch, and you advise a graph which tasks, and when.
#include <Trellis_Orchestration.hpp>
#include <annotations/Trellis_Properties.hpp>

namespace trellis {

/// When the task is ready, it may be held back, and run as one with others of the same functor type
/// and space, as the graph's `Orchestration` advises, see there. It remains a task of its own, with
/// its accesses, future and failure. It is for a `parallel_for` over a number, a `RangePolicy` or
/// an `MDRangePolicy`: such a batch is one launch, and a functor must not wait for other tasks. It
/// is also for a `host_task` whose callable takes no `TaskScope` and no `Completion`. One thread
/// runs such a batch, or the callable's class does if it has
///
///     static void fused(std::span<Callable* const> all, std::size_t& at);
///
/// which runs all of them, and keeps `at` at the current one. If it throws, that one fails; those
/// before it are done, and those after it run by themselves.
///
/// Tasks that exclude others, are bound to the main thread, are synchronizing, or have `threads(n)`
/// are never held back.
inline constexpr Impl::Fusable fusable{};

namespace experimental {

/// This is `fusable` for a `parallel_for` on a host space whose functor is compiled for the devices
/// of `Space` as well. If the advice says so, a batch goes to one of them, as one launch. Its
/// members are complete when the device is done with it. If that launch cannot be made, the batch
/// is launched on the host.
///
///     parallel_for("cell", ResourcePolicy(graph, Kokkos::RangePolicy<Kokkos::Serial>(0, n),
///                                         experimental::fusable_on<Kokkos::Cuda>, read_write(x)),
///                  Cell{x});
///
/// Host and device touch the Views at the same time, so these must be in memory that both can
/// access, such as `Kokkos::SharedSpace` or `Kokkos::SharedHostPinnedSpace`. Annotated Views are
/// checked at compile time. The functor must be host-device code. With a space that has no devices,
/// or the task's own space, this means `fusable`.
template <class ExecutionSpace>
inline constexpr Impl::FusableOn<ExecutionSpace> fusable_on{};

}  // namespace experimental

}  // namespace trellis

#endif
