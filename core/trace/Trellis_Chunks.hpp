// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CHUNKS_HPP
#define TRELLIS_IMPL_CHUNKS_HPP

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// An array that only grows. Its elements are not moved, so that growing takes no longer the more
/// there are.
template <class T>
class Chunks {
 public:
  [[nodiscard]] std::size_t size() const { return m_size; }
  [[nodiscard]] T& operator[](std::size_t k) { return m_chunks[k / chunk][k % chunk]; }
  [[nodiscard]] T const& operator[](std::size_t k) const { return m_chunks[k / chunk][k % chunk]; }
  void push_back(T element) {
    if (m_size == chunk * m_chunks.size()) m_chunks.push_back(std::make_unique<T[]>(chunk));
    (*this)[m_size++] = std::move(element);
  }
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t k = 0; k < m_size; ++k) f((*this)[k]);
  }

 private:
  static constexpr std::size_t chunk = 1024;
  std::vector<std::unique_ptr<T[]>> m_chunks;
  std::size_t m_size = 0;
};

}  // namespace trellis::Impl

#endif
