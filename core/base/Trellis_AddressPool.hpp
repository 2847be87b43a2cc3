// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ADDRESSPOOL_HPP
#define TRELLIS_IMPL_ADDRESSPOOL_HPP

#include <cstdint>
#include <mutex>
#include <vector>

namespace trellis::Impl {

/// Addresses that no memory can have, for resources that are no memory. Processors map up to 57
/// bits of address, and areas need addresses below 2^62.
///
/// A range is an identity: the access tables of graphs remember it after its resource is gone, with
/// the failures of the tasks that have used it. So it is not given out again. Huge ranges are the
/// exception: when no others are left, they are reused, the one that has been unused for longest
/// first.
class AddressPool {
 public:
  static AddressPool& get();

  /// Returns 0 if there are none left.
  [[nodiscard]] std::uint64_t take(std::uint64_t bytes);
  void give_back(std::uint64_t begin, std::uint64_t bytes);

 private:
  static constexpr std::uint64_t first = std::uint64_t{1} << 58;
  static constexpr std::uint64_t last = std::uint64_t{1} << 62;
  /// There are more smaller ranges than any program makes.
  static constexpr std::uint64_t huge = std::uint64_t{1} << 40;
  struct Range {
    std::uint64_t begin;
    std::uint64_t bytes;
  };

  std::mutex m_lock;
  std::uint64_t m_next = first;
  std::vector<Range> m_free;  ///< huge ones, oldest first
};

}  // namespace trellis::Impl

#endif
