// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CHUNKS_HPP
#define TRELLIS_IMPL_CHUNKS_HPP

#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace trellis::Impl {

/// An array that only grows. Its elements are not moved, so growing does not take longer when there
/// are more.
///
/// CONCURRENCY. One thread at a time may grow the array. A thread that learns of an element from
/// the thread that made it may use the element meanwhile: the pointers on the way to it were there
/// before, and growing writes others.
template <class T>
class Chunks {
 public:
  [[nodiscard]] std::size_t size() const { return m_size; }
  [[nodiscard]] T& operator[](std::size_t k) { return chunk_of(k)[k % chunk]; }
  [[nodiscard]] T const& operator[](std::size_t k) const { return chunk_of(k)[k % chunk]; }
  /// Adds an element with the value of `T{}`.
  T& grow() {
    require_room(1);
    return (*this)[m_size++];
  }
  /// Ensures that so many more elements find memory. Throws `std::bad_alloc` without any visible
  /// change.
  void require_room(std::size_t more) {
    while (m_room < m_size + more) add_chunk();
  }
  void push_back(T element) { grow() = std::move(element); }
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t k = 0; k < m_size; ++k) f((*this)[k]);
  }

 private:
  using Chunk = std::unique_ptr<T[]>;
  static constexpr std::size_t chunk = 1024;    ///< elements
  static constexpr std::size_t first_row = 64;  ///< chunks; each further row has twice as many
  static constexpr std::size_t rows = 40;

  struct Place {
    explicit Place(std::size_t k)
        : row(static_cast<std::size_t>(std::bit_width(k / chunk / first_row + 1)) - 1),
          column(k / chunk - first_row * ((std::size_t{1} << row) - 1)) {}
    std::size_t row;
    std::size_t column;
  };
  [[nodiscard]] Chunk const& chunk_of(std::size_t k) const {
    Place const place(k);
    return m_rows[place.row][place.column];
  }
  void add_chunk() {
    Place const place(m_room);
    if (place.column == 0) m_rows[place.row] = std::make_unique<Chunk[]>(first_row << place.row);
    m_rows[place.row][place.column] = std::make_unique<T[]>(chunk);
    m_room += chunk;
  }

  std::unique_ptr<Chunk[]> m_rows[rows];
  std::size_t m_size = 0;
  std::size_t m_room = 0;  ///< elements of the chunks that are there
};

}  // namespace trellis::Impl

#endif
