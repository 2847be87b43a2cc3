// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FIELDTRANSFER_HPP
#define TRELLIS_IMPL_FIELDTRANSFER_HPP

#include <common/Trellis_RunOn.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <patterns/Trellis_DeepCopy.hpp>
#include <task/Trellis_TaskOps.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <new>
#include <string>

/// This header has tasks that copy a field from one place to another. They are ordinary tasks of a
/// device: its stream does the copy, and the task's accesses order it.
namespace trellis::Impl {

struct FieldState;
[[nodiscard]] std::size_t bytes_of(FieldState const& field);
/// Returns the memory that the field has for the task that the calling thread launches.
[[nodiscard]] void* bound_memory(FieldState const& field);

/// The direction of a copy, seen from the device that does it.
enum class FieldWay : unsigned char { from_host, to_host, between_devices };

/// The functions that make and run the body of such a task.
struct TransferOps {
  TaskOps const* task;
  std::size_t size;
  std::size_t alignment;
  void (*construct)(void* storage, FieldState const& to, FieldState const& from);
  LateOps late;
};

template <class Memory>
using FieldBytes = Kokkos::View<unsigned char*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class Memory>
using ConstFieldBytes =
    Kokkos::View<unsigned char const*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Copies all bytes, as `deep_copy` does on this space.
template <class Space, class To, class From>
struct TransferBody : CopyBodyOn<Space, FieldBytes<To>, ConstFieldBytes<From>> {
  FieldState const* to = nullptr;
  FieldState const* from = nullptr;

  /// Binds the memory, which the task has when it is launched.
  void bind() {
    std::size_t const bytes = bytes_of(*to);
    this->destination = FieldBytes<To>(static_cast<unsigned char*>(bound_memory(*to)), bytes);
    this->source =
        ConstFieldBytes<From>(static_cast<unsigned char const*>(bound_memory(*from)), bytes);
  }
};

template <class Space, class Body>
struct TransferTask {
  static void bind(void* body, Label const&) { static_cast<Body*>(body)->bind(); }
  static void run_bound(void* body, void* instance, Label const& label) {
    RunOn<Space>::template run<Space>(*static_cast<Body*>(body), instance, label);
  }
  static void run(void* body, void* instance, Label const& label) {
    bind(body, label);
    run_bound(body, instance, label);
  }
  static void destroy(void* body) noexcept { static_cast<Body*>(body)->~Body(); }
  static void fail(void*, TaskId, std::string const&, FailurePtr const&) noexcept {}
  static void copy(void const* body, void* to) { ::new (to) Body(*static_cast<Body const*>(body)); }
  static void construct(void* storage, FieldState const& to, FieldState const& from) {
    auto* const body = ::new (storage) Body();
    body->to = &to;
    body->from = &from;
  }
  // (This is in a function, see host_field_memory.)
  static TransferOps const& ops() {
    static TaskOps const task = [] {
      TaskOps made{"deep_copy", &run, &destroy, &fail};
      made.copy = &copy;
      made.size = sizeof(Body);
      return made;
    }();
    static TransferOps const all{
        &task, sizeof(Body), alignof(Body), &construct, {&bind, &run_bound, true}};
    return all;
  }
};

/// Returns the functions for a device of this space.
template <class Space>
TransferOps const& transfer_ops(FieldWay way) {
  using Here = typename Space::memory_space;
  using Host = Kokkos::HostSpace;
  switch (way) {
    case FieldWay::from_host:
      return TransferTask<Space, TransferBody<Space, Here, Host>>::ops();
    case FieldWay::to_host:
      return TransferTask<Space, TransferBody<Space, Host, Here>>::ops();
    default:
      return TransferTask<Space, TransferBody<Space, Here, Here>>::ops();
  }
}

}  // namespace trellis::Impl

#endif
