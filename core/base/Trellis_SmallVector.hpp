// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SMALLVECTOR_HPP
#define TRELLIS_IMPL_SMALLVECTOR_HPP

#include <base/Trellis_ReserveMemory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace trellis::Impl {

/// A vector whose first `few` elements are in the object itself, so that reading them touches no
/// further cache line. After it has grown, their place holds the address of the elements.
template <class T, std::uint32_t few>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  SmallVector() noexcept {}  // not defaulted: the elements have no values yet
  SmallVector(SmallVector const&) = delete;
  SmallVector& operator=(SmallVector const&) = delete;
  ~SmallVector() {
    if (has_grown()) FromReserve<T>().deallocate(m_many, m_capacity);
  }

  [[nodiscard]] T* begin() { return has_grown() ? m_many : m_own; }
  [[nodiscard]] T* end() { return begin() + m_size; }
  [[nodiscard]] T const* begin() const { return has_grown() ? m_many : m_own; }
  [[nodiscard]] T const* end() const { return begin() + m_size; }
  [[nodiscard]] std::size_t size() const { return m_size; }
  [[nodiscard]] std::size_t capacity() const { return m_capacity; }
  [[nodiscard]] bool empty() const { return m_size == 0; }
  [[nodiscard]] T& operator[](std::size_t k) { return begin()[k]; }
  [[nodiscard]] T const& operator[](std::size_t k) const { return begin()[k]; }
  [[nodiscard]] T const& back() const { return begin()[m_size - 1]; }

  void clear() { m_size = 0; }
  void shrink(std::size_t size) { m_size = static_cast<std::uint32_t>(size); }
  void reserve(std::size_t capacity) {
    if (capacity <= m_capacity) return;
    T* const larger = FromReserve<T>().allocate(capacity);
    std::uninitialized_copy(begin(), end(), larger);
    if (has_grown()) FromReserve<T>().deallocate(m_many, m_capacity);
    m_many = larger;
    m_capacity = static_cast<std::uint32_t>(capacity);
  }
  void push_back(T const& element) {
    if (m_size == m_capacity) {
      T const copy = element;  // it may be one of ours
      reserve(2 * std::size_t{m_capacity});
      std::construct_at(m_many + m_size++, copy);
      return;
    }
    std::construct_at(begin() + m_size++, element);
  }
  template <class F>
  void erase_if(F&& gone) {
    shrink(static_cast<std::size_t>(std::remove_if(begin(), end(), gone) - begin()));
  }
  /// Takes the elements of another one, which is empty afterwards and gets the capacity of this
  /// one.
  void take(SmallVector& other) {
    if (other.has_grown() && has_grown()) {
      std::swap(m_many, other.m_many);
      std::swap(m_capacity, other.m_capacity);
    } else {
      clear();
      reserve(other.m_size);
      if (other.m_size == 1)  // the most frequent case: no call
        std::construct_at(begin(), *other.begin());
      else
        std::uninitialized_copy(other.begin(), other.end(), begin());
    }
    m_size = other.m_size;
    other.clear();
  }

 private:
  [[nodiscard]] bool has_grown() const { return m_capacity > few; }

  std::uint32_t m_size = 0;
  std::uint32_t m_capacity = few;
  union {
    T m_own[few];
    T* m_many;
  };
};

}  // namespace trellis::Impl

#endif
