// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SMALLVECTOR_HPP
#define TRELLIS_IMPL_SMALLVECTOR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace trellis::Impl {

/// A vector whose first `few` elements are in itself, so that looking at them touches no further
/// line of memory.
template <class T, std::uint32_t few>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  SmallVector() = default;
  SmallVector(SmallVector const&) = delete;
  SmallVector& operator=(SmallVector const&) = delete;
  ~SmallVector() {
    if (m_data != m_own) delete[] m_data;
  }

  [[nodiscard]] T* begin() { return m_data; }
  [[nodiscard]] T* end() { return m_data + m_size; }
  [[nodiscard]] T const* begin() const { return m_data; }
  [[nodiscard]] T const* end() const { return m_data + m_size; }
  [[nodiscard]] std::size_t size() const { return m_size; }
  [[nodiscard]] std::size_t capacity() const { return m_capacity; }
  [[nodiscard]] bool empty() const { return m_size == 0; }
  [[nodiscard]] T& operator[](std::size_t k) { return m_data[k]; }
  [[nodiscard]] T const& operator[](std::size_t k) const { return m_data[k]; }
  [[nodiscard]] T const& back() const { return m_data[m_size - 1]; }

  void clear() { m_size = 0; }
  /// Drops those beyond the first `size`.
  void shrink(std::size_t size) { m_size = static_cast<std::uint32_t>(size); }
  void reserve(std::size_t capacity) {
    if (capacity <= m_capacity) return;
    auto larger = std::make_unique<T[]>(capacity);
    std::copy(begin(), end(), larger.get());
    if (m_data != m_own) delete[] m_data;
    m_data = larger.release();
    m_capacity = static_cast<std::uint32_t>(capacity);
  }
  void push_back(T const& element) {
    if (m_size == m_capacity) {
      T const copy = element;  // which may be one of ours
      reserve(2 * std::size_t{m_capacity});
      m_data[m_size++] = copy;
      return;
    }
    m_data[m_size++] = element;
  }
  /// Those for which `gone(element)` is true.
  template <class F>
  void erase_if(F&& gone) {
    shrink(static_cast<std::size_t>(std::remove_if(begin(), end(), gone) - begin()));
  }
  /// Takes the elements of another one, which is empty afterwards and has the room of this one.
  template <std::uint32_t others>
  void take(SmallVector<T, others>& other) {
    clear();
    if (other.m_data == other.m_own || m_data == m_own) {
      reserve(other.m_size);
      if (other.m_size == 1)  // as most often: no call
        m_data[0] = other.m_data[0];
      else
        std::copy(other.begin(), other.end(), m_data);
      m_size = other.m_size;
    } else {
      std::swap(m_data, other.m_data);
      std::swap(m_capacity, other.m_capacity);
      m_size = other.m_size;
    }
    other.clear();
  }

 private:
  template <class, std::uint32_t>
  friend class SmallVector;

  T* m_data = m_own;
  std::uint32_t m_size = 0;
  std::uint32_t m_capacity = few;
  T m_own[few];
};

}  // namespace trellis::Impl

#endif
