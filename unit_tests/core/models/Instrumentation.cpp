// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the compiler and the standard library call in a program that is compiled with
// `-fsanitize=thread`: accesses to memory, threads, mutexes and condition variables, the clock.
// Within an execution of a model they are steps of the Search; elsewhere they are what they say.
#include "Search.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <new>
#include <pthread.h>
#include <sched.h>

namespace trellis::model {
namespace {

/// Null: it has not been made yet. Programs allocate memory before that.
Search* s_search = nullptr;

Search& search() {
  return *s_search;
}
bool in_program() {
  return s_search != nullptr && s_search->is_running();
}

std::uint64_t widened(std::uint64_t value) {
  return value;
}

template <class T>
void prepare(Step& step, T volatile const* address, char const* operation, int order,
             void const* place) {
  order &= 7;  // above are hints
  auto* const memory = const_cast<void*>(static_cast<void const volatile*>(address));
  search().reached(place, operation, order);
  step.order = search().order_at(place, order);
  step.operation = operation;
  step.place = place;
  step.variable = search().variable_at(memory, sizeof(T));
}

template <class T>
T load(T volatile const* address, int order, void const* place) {
  if (!in_program()) return __atomic_load_n(address, __ATOMIC_SEQ_CST);
  Step step;
  step.kind = Step::Kind::load;
  prepare(step, address, "load", order, place);
  search().perform(step);
  return static_cast<T>(step.result);
}

template <class T>
void store(T volatile* address, T value, int order, void const* place) {
  if (!in_program()) return __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
  Step step;
  step.kind = Step::Kind::store;
  prepare(step, address, "store", order, place);
  if (step.order == dropped) return;
  step.operand = widened(value);
  search().perform(step);
}

template <class T>
T modify(T volatile* address, T value, int order, void const* place, char const* operation,
         std::uint64_t (*change)(std::uint64_t, std::uint64_t)) {
  Step step;
  step.kind = Step::Kind::modify;
  prepare(step, address, operation, order, place);
  step.operand = widened(value);
  step.change = change;
  step.awaits = sizeof(T) == 1 && value == 1 && operation[0] == 'e' && !search().spins();
  if (step.order == dropped) {
    step.kind = Step::Kind::load;
    step.awaits = false;
    step.order = Memory::acquires(order & 7) ? order & 7 : 0;
  }
  search().perform(step);
  return static_cast<T>(step.result);
}

template <class T>
bool compare_exchange(T volatile* address, T* expected, T value, int order, int failure_order,
                      void const* place) {
  if (!in_program())
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
  Step step;
  step.kind = Step::Kind::exchange;
  prepare(step, address, "compare_exchange", order, place);
  step.failure_order = failure_order & 7;
  if (step.order != (order & 7)) step.failure_order = std::min(step.failure_order, step.order);
  step.operand = widened(value);
  step.expected = widened(*expected);
  search().perform(step);
  if (!step.succeeds) *expected = static_cast<T>(step.result);
  return step.succeeds;
}

void plain(void const* address, std::size_t size, bool writes, void const* place) {
  if (in_program()) search().plain_access(address, size, writes, place);
}

/// The function of this name that the next library has.
template <class F>
F next(F, char const* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

int mutex_step(Step::Kind kind, char const* operation, pthread_mutex_t* mutex, void const* place) {
  Step step;
  step.kind = kind;
  step.operation = operation;
  step.place = place;
  step.object = search().mutex_at(mutex);
  search().perform(step);
  return kind == Step::Kind::try_lock && !step.succeeds ? EBUSY : 0;
}

int wait(pthread_cond_t* condition, pthread_mutex_t* mutex, void const* place) {
  Step step;
  step.kind = Step::Kind::wait;
  step.operation = "waits:";
  step.place = place;
  step.object = search().mutex_at(mutex);
  step.condition = search().condition_at(condition);
  search().perform(step);
  step.kind = Step::Kind::wake;
  step.operation = "wakes:";
  search().perform(step);
  return 0;
}

int notify(pthread_cond_t* condition, bool all, void const* place) {
  Step step;
  step.kind = Step::Kind::notify;
  step.operation = all ? "notifies all:" : "notifies:";
  step.place = place;
  step.condition = search().condition_at(condition);
  step.all = all;
  search().perform(step);
  return 0;
}

void* allocate(std::size_t bytes, std::size_t alignment, void const* place) {
  if (in_program()) return search().allocate(bytes, alignment, place);
  std::size_t const size = (std::max<std::size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
  void* const memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                           ? std::malloc(size)
                           : std::aligned_alloc(alignment, size);
  if (memory == nullptr) std::abort();
  return memory;
}

void release(void* memory, void const* place) {
  if (memory == nullptr || (s_search != nullptr && search().free(memory, place))) return;
  std::free(memory);
}

}  // namespace

void Search::serve() {
  s_search = this;
}

}  // namespace trellis::model

#define HERE __builtin_return_address(0)

using namespace trellis::model;  // NOLINT

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {
  if (in_program()) search().enter(__builtin_frame_address(0));
}
void __tsan_func_exit() {
  if (in_program()) search().leave_function(HERE);
}
void __tsan_vptr_update(void** address, void*) {
  plain(address, sizeof(void*), true, HERE);
}
void __tsan_vptr_read(void** address) {
  plain(address, sizeof(void*), false, HERE);
}
void __tsan_read_range(void* address, unsigned long size) {
  plain(address, size, false, HERE);
}
void __tsan_write_range(void* address, unsigned long size) {
  plain(address, size, true, HERE);
}

#define TRELLIS_PLAIN(size)                          \
  void __tsan_read##size(void* address) {            \
    plain(address, size, false, HERE);               \
  }                                                  \
  void __tsan_write##size(void* address) {           \
    plain(address, size, true, HERE);                \
  }                                                  \
  void __tsan_unaligned_read##size(void* address) {  \
    plain(address, size, false, HERE);               \
  }                                                  \
  void __tsan_unaligned_write##size(void* address) { \
    plain(address, size, true, HERE);                \
  }                                                  \
  void __tsan_volatile_read##size(void* address) {   \
    plain(address, size, false, HERE);               \
  }                                                  \
  void __tsan_volatile_write##size(void* address) {  \
    plain(address, size, true, HERE);                \
  }
// Clang has calls of these, GCC has none.
void* __tsan_memset(void* to, int value, unsigned long size) {
  plain(to, size, true, HERE);
  return std::memset(to, value, size);
}
void* __tsan_memmove(void* to, void const* from, unsigned long size) {
  plain(from, size, false, HERE);
  plain(to, size, true, HERE);
  return std::memmove(to, from, size);
}
void* __tsan_memcpy(void* to, void const* from, unsigned long size) {
  plain(from, size, false, HERE);
  plain(to, size, true, HERE);
  return std::memcpy(to, from, size);
}
TRELLIS_PLAIN(1)
TRELLIS_PLAIN(2)
TRELLIS_PLAIN(4)
TRELLIS_PLAIN(8)
TRELLIS_PLAIN(16)
#undef TRELLIS_PLAIN

#define TRELLIS_MODIFY(bits, T, name, text, builtin, expression)                        \
  T __tsan_atomic##bits##_##name(T volatile* address, T value, int order) {             \
    if (!in_program()) return builtin(address, value, __ATOMIC_SEQ_CST);                \
    return modify<T>(address, value, order, HERE, text,                                 \
                     [](std::uint64_t before, std::uint64_t operand) -> std::uint64_t { \
                       return static_cast<T>(expression);                               \
                     });                                                                \
  }
#define TRELLIS_ATOMIC(bits, T)                                                                \
  T __tsan_atomic##bits##_load(T volatile const* address, int order) {                         \
    return load<T>(address, order, HERE);                                                      \
  }                                                                                            \
  void __tsan_atomic##bits##_store(T volatile* address, T value, int order) {                  \
    store<T>(address, value, order, HERE);                                                     \
  }                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(T volatile* address, T* expected, T value, \
                                                    int order, int failure) {                  \
    return compare_exchange<T>(address, expected, value, order, failure, HERE) ? 1 : 0;        \
  }                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_weak(T volatile* address, T* expected, T value,   \
                                                  int order, int failure) {                    \
    return compare_exchange<T>(address, expected, value, order, failure, HERE) ? 1 : 0;        \
  }                                                                                            \
  T __tsan_atomic##bits##_compare_exchange_val(T volatile* address, T expected, T value,       \
                                               int order, int failure) {                       \
    compare_exchange<T>(address, &expected, value, order, failure, HERE);                      \
    return expected;                                                                           \
  }                                                                                            \
  TRELLIS_MODIFY(bits, T, exchange, "exchange", __atomic_exchange_n, ((void)before, operand))  \
  TRELLIS_MODIFY(bits, T, fetch_add, "fetch_add", __atomic_fetch_add, before + operand)        \
  TRELLIS_MODIFY(bits, T, fetch_sub, "fetch_sub", __atomic_fetch_sub, before - operand)        \
  TRELLIS_MODIFY(bits, T, fetch_and, "fetch_and", __atomic_fetch_and, before& operand)         \
  TRELLIS_MODIFY(bits, T, fetch_or, "fetch_or", __atomic_fetch_or, before | operand)           \
  TRELLIS_MODIFY(bits, T, fetch_xor, "fetch_xor", __atomic_fetch_xor, before ^ operand)
TRELLIS_ATOMIC(8, unsigned char)
TRELLIS_ATOMIC(16, unsigned short)
TRELLIS_ATOMIC(32, unsigned int)
TRELLIS_ATOMIC(64, unsigned long)
#undef TRELLIS_ATOMIC
#undef TRELLIS_MODIFY

void __tsan_atomic_thread_fence(int order) {
  if (!in_program()) return __atomic_thread_fence(__ATOMIC_SEQ_CST);
  search().reached(HERE, "fence", order & 7);
  Step step;
  step.kind = Step::Kind::fence;
  step.order = search().order_at(HERE, order & 7);
  step.operation = "fence";
  step.place = HERE;
  search().perform(step);
}
void __tsan_atomic_signal_fence(int) {}

// --- threads -------------------------------------------------------------------------------------

int pthread_create(pthread_t* thread, pthread_attr_t const* attributes, void* (*function)(void*),
                   void* argument) {
  if (!in_program())
    return next(&pthread_create, "pthread_create")(thread, attributes, function, argument);
  *thread = static_cast<pthread_t>(search().start_thread(function, argument, HERE) + 1);
  return 0;
}
int pthread_join(pthread_t thread, void** result) {
  if (!in_program()) return next(&pthread_join, "pthread_join")(thread, result);
  Step step;
  step.kind = Step::Kind::join;
  step.operation = "has waited for";
  step.object = static_cast<int>(thread) - 1;
  step.place = HERE;
  search().perform(step);
  return 0;
}
pthread_t pthread_self() noexcept {
  if (!in_program()) {
    static auto const real = next(&pthread_self, "pthread_self");
    return real();
  }
  return static_cast<pthread_t>(search().current() + 1);
}
int sched_yield() noexcept {
  if (!in_program()) return next(&sched_yield, "sched_yield")();
  search().relax();
  return 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!in_program()) {
    static auto const real = next(&pthread_mutex_lock, "pthread_mutex_lock");
    return real(mutex);
  }
  return mutex_step(Step::Kind::lock, "locks", mutex, HERE);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (!in_program()) return next(&pthread_mutex_trylock, "pthread_mutex_trylock")(mutex);
  return mutex_step(Step::Kind::try_lock, "tries to lock", mutex, HERE);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (!in_program()) {
    static auto const real = next(&pthread_mutex_unlock, "pthread_mutex_unlock");
    return real(mutex);
  }
  return mutex_step(Step::Kind::unlock, "unlocks", mutex, HERE);
}
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!in_program()) return next(&pthread_cond_wait, "pthread_cond_wait")(condition, mutex);
  return wait(condition, mutex, HERE);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           timespec const* time) {
  if (!in_program())
    return next(&pthread_cond_timedwait, "pthread_cond_timedwait")(condition, mutex, time);
  return wait(condition, mutex, HERE);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           timespec const* time) {
  if (!in_program())
    return next(&pthread_cond_clockwait, "pthread_cond_clockwait")(condition, mutex, clock, time);
  return wait(condition, mutex, HERE);
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (!in_program()) return next(&pthread_cond_signal, "pthread_cond_signal")(condition);
  return notify(condition, false, HERE);
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (!in_program()) return next(&pthread_cond_broadcast, "pthread_cond_broadcast")(condition);
  return notify(condition, true, HERE);
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!in_program()) {
    static auto const real = next(&clock_gettime, "clock_gettime");
    return real(clock, time);
  }
  *time = {0, static_cast<long>(search().now())};
  return 0;
}
}

// --- memory --------------------------------------------------------------------------------------

void* operator new(std::size_t bytes) {
  return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__, HERE);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), HERE);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__, HERE);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), HERE);
}
void operator delete(void* memory) noexcept {
  release(memory, HERE);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory, HERE);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory, HERE);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory, HERE);
}
void operator delete[](void* memory) noexcept {
  release(memory, HERE);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory, HERE);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory, HERE);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory, HERE);
}
