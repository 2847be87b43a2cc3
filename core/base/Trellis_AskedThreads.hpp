// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ASKEDTHREADS_HPP
#define TRELLIS_IMPL_ASKEDTHREADS_HPP

namespace trellis::Impl {

/// The number of threads that a task asks for: exactly `count`, or if `is_most`, as many as its
/// graph has, up to `count`.
struct AskedThreads {
  constexpr AskedThreads(int count_, bool is_most_ = false) : count(count_), is_most(is_most_) {}
  int count;
  bool is_most;
  friend bool operator==(AskedThreads const&, AskedThreads const&) = default;
};

}  // namespace trellis::Impl

#endif
