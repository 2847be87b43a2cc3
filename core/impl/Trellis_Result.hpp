// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RESULT_HPP
#define TRELLIS_IMPL_RESULT_HPP

#include <Trellis_TaskId.hpp>
#include <impl/Trellis_FailurePtr.hpp>
#include <base/Trellis_OneForAll.hpp>
#include <base/Trellis_ReserveMemory.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace trellis::Impl {

/// Memory of small results that the calling thread has freed, for its next ones. Where tasks fork
/// and join, a result has a shorter life than the allocation of its memory takes.
namespace ResultMemory {

inline constexpr std::size_t block = 64;

struct Kept {
  void* first = nullptr;
  int count = 0;
  int room = 0;  ///< 0: this thread has never taken any, or is ending
};
TRELLIS_IMPL_ONE_FOR_ALL inline constinit thread_local Kept t_kept{};

void* take_new();
inline void* take() {
  Kept& kept = t_kept;
  if (kept.count == 0) return take_new();
  --kept.count;
  return std::exchange(kept.first, *static_cast<void**>(kept.first));
}
inline void give(void* memory) noexcept {
  Kept& kept = t_kept;
  if (kept.count >= kept.room) return ::operator delete(memory);
  ++kept.count;
  *static_cast<void**>(memory) = std::exchange(kept.first, memory);
}

}  // namespace ResultMemory

/// A task's name if there is no memory for more; it fits into a string itself.
inline constexpr char short_text[] = "a task";

/// Where a task's body leaves its result. Written before the task is complete, read after.
template <class T>
struct Result {
  std::optional<T> value;
  struct Missing : NewFromReserve {
    Missing(TaskId which, std::string const& text, FailurePtr const& why)
        : task(which), task_text(text), failure(why) {}
    TaskId task;
    std::string task_text;
    FailurePtr failure;
  };
  std::unique_ptr<Missing const> missing;  ///< why there will be no value
  std::atomic<std::uint32_t> uses;

  void fail(TaskId task, std::string const& text, FailurePtr const& failure) {
    missing.reset();
    if (failure == nullptr) return;
    try {
      missing = std::make_unique<Missing const>(task, text, failure);
    } catch (std::bad_alloc const&) {  // then without the long name
      missing = std::make_unique<Missing const>(task, short_text, failure);
    }
  }
};

/// A pointer to the result that the body of a task and its futures share.
///
/// INVARIANT. `uses` counts the pointers to a result. It is decremented with release order. The
/// thread that destroys the result has read, with acquire order, that there is no other pointer. A
/// pointer that reads 1 is the only one. It need not decrement the count, as no thread can copy it
/// meanwhile.
template <class T>
class ResultPtr {
 public:
  ResultPtr() = default;
  ResultPtr(ResultPtr const& other) noexcept : m_result(other.m_result) {
    if (m_result != nullptr) m_result->uses.fetch_add(1, std::memory_order_relaxed);
  }
  ResultPtr(ResultPtr&& other) noexcept : m_result(std::exchange(other.m_result, nullptr)) {}
  ResultPtr& operator=(ResultPtr other) noexcept {
    std::swap(m_result, other.m_result);
    return *this;
  }
  ~ResultPtr() {
    if (m_result == nullptr) return;
    if (m_result->uses.load(std::memory_order_acquire) != 1 &&
        m_result->uses.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    if constexpr (is_small) {
      std::destroy_at(m_result);
      ResultMemory::give(m_result);
    } else {
      delete m_result;
    }
  }
  Result<T>* operator->() const { return m_result; }
  Result<T>& operator*() const { return *m_result; }

  /// Makes a new result, with a pointer for the body and one for the future.
  static std::array<ResultPtr, 2> make() {
    Result<T>* result = nullptr;
    if constexpr (is_small)
      result = ::new (ResultMemory::take()) Result<T>{{}, {}, 2};
    else
      result = new Result<T>{{}, {}, 2};
    return {ResultPtr(result), ResultPtr(result)};
  }

 private:
  static constexpr bool is_small = sizeof(Result<T>) <= ResultMemory::block &&
                                   alignof(Result<T>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  explicit ResultPtr(Result<T>* result) : m_result(result) {}

  Result<T>* m_result = nullptr;
};
/// For a task without a result.
template <>
class ResultPtr<void> {};

}  // namespace trellis::Impl

#endif
