// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RANDOMSTREAMS_HPP
#define TRELLIS_RANDOMSTREAMS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

/// With this header random numbers are the same in every run, whatever the order of the tasks,
/// their threads and their space.
namespace trellis {

/// A sequence of random numbers, with the members of Kokkos' generators, so `Kokkos::rand<...>`
/// takes it. It is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
/// 1, 2, 3; SC 2011): a block of four numbers is a function of a key and a counter, which are the
/// only state. A sequence has 2^34 numbers of 32 bits, then it begins again.
class RandomStream {
 public:
  static constexpr std::uint32_t MAX_URAND = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t MAX_URAND64 = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::int32_t MAX_RAND = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int64_t MAX_RAND64 = std::numeric_limits<std::int64_t>::max();

  /// Sequences of different arguments have no block in common.
  KOKKOS_FUNCTION constexpr RandomStream(std::uint64_t seed, std::uint64_t index,
                                         std::uint32_t step)
      : m_key{low(seed), high(seed)}, m_counter{0, step, low(index), high(index)} {}

  /// Return a number uniform in [0, MAX_URAND], [0, range), [start, end).
  KOKKOS_FUNCTION constexpr std::uint32_t urand() {
    if (m_next == 4) {
      make_block(m_key, m_counter, m_block);
      ++m_counter[0];
      m_next = 0;
    }
    return m_block[m_next++];
  }
  KOKKOS_FUNCTION constexpr std::uint32_t urand(std::uint32_t range) {
    std::uint32_t const end = (MAX_URAND / range) * range;
    std::uint32_t drawn = urand();
    while (drawn >= end) drawn = urand();
    return drawn % range;
  }
  KOKKOS_FUNCTION constexpr std::uint32_t urand(std::uint32_t start, std::uint32_t end) {
    return urand(end - start) + start;
  }

  KOKKOS_FUNCTION constexpr std::uint64_t urand64() {
    std::uint64_t const upper = urand();
    return upper << 32 | urand();
  }
  KOKKOS_FUNCTION constexpr std::uint64_t urand64(std::uint64_t range) {
    std::uint64_t const end = (MAX_URAND64 / range) * range;
    std::uint64_t drawn = urand64();
    while (drawn >= end) drawn = urand64();
    return drawn % range;
  }
  KOKKOS_FUNCTION constexpr std::uint64_t urand64(std::uint64_t start, std::uint64_t end) {
    return urand64(end - start) + start;
  }

  /// Return a number uniform in [0, MAX_RAND], [0, range), [start, end).
  KOKKOS_FUNCTION constexpr int rand() { return static_cast<int>(urand() >> 1); }
  KOKKOS_FUNCTION constexpr int rand(int range) {
    return static_cast<int>(urand(static_cast<std::uint32_t>(range)));
  }
  KOKKOS_FUNCTION constexpr int rand(int start, int end) {
    auto const from = static_cast<std::uint32_t>(start);
    return static_cast<int>(urand(static_cast<std::uint32_t>(end) - from) + from);
  }
  KOKKOS_FUNCTION constexpr std::int64_t rand64() {
    return static_cast<std::int64_t>(urand64() >> 1);
  }
  KOKKOS_FUNCTION constexpr std::int64_t rand64(std::int64_t range) {
    return static_cast<std::int64_t>(urand64(static_cast<std::uint64_t>(range)));
  }
  KOKKOS_FUNCTION constexpr std::int64_t rand64(std::int64_t start, std::int64_t end) {
    auto const from = static_cast<std::uint64_t>(start);
    return static_cast<std::int64_t>(urand64(static_cast<std::uint64_t>(end) - from) + from);
  }

  /// Return a number uniform in [0, 1), [0, range), [start, end).
  KOKKOS_FUNCTION constexpr float frand() { return static_cast<float>(urand() >> 8) * 0x1p-24F; }
  KOKKOS_FUNCTION constexpr float frand(float range) { return range * frand(); }
  KOKKOS_FUNCTION constexpr float frand(float start, float end) {
    return frand(end - start) + start;
  }
  KOKKOS_FUNCTION constexpr double drand() {
    return static_cast<double>(urand64() >> 11) * 0x1p-53;
  }
  KOKKOS_FUNCTION constexpr double drand(double range) { return range * drand(); }
  KOKKOS_FUNCTION constexpr double drand(double start, double end) {
    return drand(end - start) + start;
  }

  /// Returns a normally distributed number (Box and Muller's method).
  KOKKOS_FUNCTION double normal() {
    double const radius = Kokkos::sqrt(-2 * Kokkos::log(1 - drand()));
    return radius * Kokkos::cos(2 * Kokkos::numbers::pi_v<double> * drand());
  }
  KOKKOS_FUNCTION double normal(double mean, double deviation = 1) {
    return mean + deviation * normal();
  }

  /// Computes the four numbers of a key and a counter.
  KOKKOS_FUNCTION static constexpr void make_block(std::uint32_t const (&key)[2],
                                                   std::uint32_t const (&counter)[4],
                                                   std::uint32_t (&block)[4]) {
    std::uint32_t k0 = key[0], k1 = key[1];
    for (int k = 0; k < 4; ++k) block[k] = counter[k];
    for (int round = 0; round < 10; ++round) {
      std::uint64_t const a = std::uint64_t{0xD2511F53} * block[0];
      std::uint64_t const b = std::uint64_t{0xCD9E8D57} * block[2];
      std::uint32_t const first = high(b) ^ block[1] ^ k0;
      std::uint32_t const third = high(a) ^ block[3] ^ k1;
      block[0] = first;
      block[1] = low(b);
      block[2] = third;
      block[3] = low(a);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

 private:
  KOKKOS_FUNCTION static constexpr std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
  }
  KOKKOS_FUNCTION static constexpr std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
  }

  std::uint32_t m_key[2];
  std::uint32_t m_counter[4];
  std::uint32_t m_block[4] = {};
  int m_next = 4;
};

/// Has random sequences by number: that of a particle, a cell or a sample, and that of a time step.
///
///     trellis::RandomStreams const random(seed);
///     trellis::parallel_for("walk", trellis::ResourcePolicy(graph, n, trellis::read_write(x)),
///                           KOKKOS_LAMBDA(int i) {
///                             auto generator = random(i, step);
///                             x(i) += generator.normal();
///                           });
///
/// Tasks share nothing here, so they need no annotation and no worker index. The result is that of
/// `TRELLIS_SERIAL=1`, on any space.
class RandomStreams {
 public:
  KOKKOS_FUNCTION explicit constexpr RandomStreams(std::uint64_t seed) : m_seed(seed) {}

  /// Returns the sequence with these numbers. The sequences of two pairs have nothing in common.
  [[nodiscard]] KOKKOS_FUNCTION constexpr RandomStream operator()(std::uint64_t index,
                                                                  std::uint32_t step = 0) const {
    return {m_seed, index, step};
  }

 private:
  std::uint64_t m_seed;
};

}  // namespace trellis

#endif
