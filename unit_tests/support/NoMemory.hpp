// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_NO_MEMORY_HPP
#define TRELLIS_TEST_NO_MEMORY_HPP

#include <Trellis_Error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "Sanitized.hpp"
#include "Watchdog.hpp"

/// Memory that runs out: an `operator new` that fails, and a fixture that makes each allocation of
/// a program fail in turn. This defines `operator new`, so only one source of a test program
/// includes it.
namespace trellis::Test {

/// Allocations fail between `begin` and `end`, on whatever thread they are made: first so many
/// succeed, then one fails, or all that follow do. There is one such shortage at a time.
class Shortage {
 public:
  /// Throws `std::bad_alloc` when this allocation is one that fails.
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    if (s_is_noted.load(std::memory_order_relaxed)) s_spared = bytes;
    if (bytes != s_spared.load(std::memory_order_relaxed) && fails()) throw std::bad_alloc();
    void* const memory =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(bytes != 0 ? bytes : 1)
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }

  static void prepare(long allocation, bool all) {
    s_succeed = allocation;
    s_all_that_follow = all;
    s_failed = 0;
  }
  static void begin() { s_is_short = true; }
  static void end() { s_is_short = false; }
  /// As long as one is there the allocations of this thread are not concerned: a driver's own.
  struct Exempt {
    Exempt() { ++s_exempt; }
    Exempt(Exempt const&) = delete;
    Exempt& operator=(Exempt const&) = delete;
    ~Exempt() { --s_exempt; }
  };
  /// Allocations as large as the one that `f` makes succeed: Kokkos makes a text for its tools when
  /// it frees a View, in a destructor, so that one without memory ends the process.
  template <class F>
  static void spare(F&& f) {
    s_spared = 0;
    s_is_noted = true;
    f();
    s_is_noted = false;
  }
  /// How many allocations have failed.
  static long failed() { return s_failed; }

 private:
  static bool fails() {
    if (!s_is_short.load(std::memory_order_relaxed) || s_exempt > 0) return false;
    long const left = s_succeed.fetch_sub(1);
    bool const here = left == 0 || (left < 0 && s_all_that_follow.load(std::memory_order_relaxed));
    if (here) s_failed.fetch_add(1);
    return here;
  }

  static constinit inline thread_local int s_exempt = 0;
  static constinit inline std::atomic<bool> s_is_short{false};
  static constinit inline std::atomic<long> s_succeed{0};
  static constinit inline std::atomic<bool> s_all_that_follow{false};
  static constinit inline std::atomic<long> s_failed{0};
  static constinit inline std::atomic<bool> s_is_noted{false};
  static constinit inline std::atomic<std::size_t> s_spared{0};
};

}  // namespace trellis::Test

void* operator new(std::size_t bytes) {
  return trellis::Test::Shortage::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return trellis::Test::Shortage::allocate(bytes, static_cast<std::size_t>(alignment));
}
// These would call the others, but a sanitizer has its own.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept try {
  return trellis::Test::Shortage::allocate(bytes, 1);
} catch (std::bad_alloc const&) {
  return nullptr;
}
void* operator new(std::size_t bytes, std::align_val_t alignment, std::nothrow_t const&) noexcept
    try {
  return trellis::Test::Shortage::allocate(bytes, static_cast<std::size_t>(alignment));
} catch (std::bad_alloc const&) {
  return nullptr;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::nothrow_t const&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t, std::nothrow_t const&) noexcept {
  std::free(memory);
}

namespace trellis::Test {

/// What a functor holds: counts how many there are.
class Held {
 public:
  Held() { live.fetch_add(1); }
  Held(Held const&) { live.fetch_add(1); }
  Held& operator=(Held const&) = default;
  ~Held() { live.fetch_sub(1); }
  static inline std::atomic<long> live{0};
};

/// Calls `f`, which may find no memory. False when it has found none. (Kokkos has an exception of
/// its own for that, as `Error` is one.)
template <class F>
bool has_memory(F&& f) {
  try {
    f();
    return true;
  } catch (std::bad_alloc const&) {
  } catch (std::runtime_error const&) {
  }
  return false;
}
/// A call that finds no memory has no effect: it is made again, when there is some, and does all
/// that it is for.
template <class F>
void call_until_done(F&& f) {
  if (has_memory(f)) return;
  Shortage::end();
  f();
  Shortage::begin();
}

/// Fails each allocation of an episode in turn; one that hangs or ends the process is named.
class NoMemoryTest : public testing::Test {
 protected:
  /// One allocation of `stride` fails, another one in each episode; fewer under sanitizers.
  explicit NoMemoryTest(unsigned stride = 1) : m_stride(sanitized ? 3 * stride : stride) {
    std::set_terminate(&tell_and_abort);
  }

  /// Calls `episode` for the first allocation, the second and so on, until none fails any more.
  /// What it does between `Shortage::begin` and `Shortage::end` may find no memory. Functors that
  /// are held afterwards are a failure.
  template <class F>
  void each_allocation(char const* name, bool all, F&& episode) {
    int const before = failures();
    auto const first =
        static_cast<long>((std::hash<std::string_view>()(name) + (all ? 1 : 0)) % m_stride);
    for (long k = first; k < 2000 && failures() == before; k += m_stride) {
      SCOPED_TRACE(std::string(name) + ", allocation " + std::to_string(k) +
                   (all ? " and all that follow" : ""));
      m_watchdog.beat();
      s_name = name;
      s_allocation = k;
      Held::live = 0;
      Shortage::prepare(k, all);
      {
        struct End {
          ~End() { Shortage::end(); }
        } const end;
        try {
          episode();
        } catch (std::exception const& exception) {
          Shortage::end();
          ADD_FAILURE() << exception.what();
        }
      }
      EXPECT_EQ(Held::live, 0);
      if (Shortage::failed() == 0) break;
    }
  }

 private:
  static int failures() {
    return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  }
  static std::string where() {
    return s_name + std::string(", allocation ") + std::to_string(s_allocation);
  }
  [[noreturn]] static void tell_and_abort() {
    Shortage::end();
    std::fprintf(stderr, "%s\n", where().c_str());
    std::abort();
  }

  unsigned const m_stride;
  static inline char const* s_name = "";
  static inline long s_allocation = 0;
  Watchdog m_watchdog{std::chrono::seconds(sanitized ? 100 : 30), [] {
                        Shortage::end();
                        return where();
                      }};
};

}  // namespace trellis::Test

#endif
