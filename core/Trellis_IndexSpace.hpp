// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_INDEXSPACE_HPP
#define TRELLIS_INDEXSPACE_HPP

#include <Trellis_Area.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace trellis {

namespace Impl {
struct IndexAddresses;
std::shared_ptr<IndexAddresses const> make_index_addresses(std::string&& label,
                                                           std::span<std::int64_t const> extents);
}  // namespace Impl

namespace experimental {

/// A box of indices of an `IndexSpace`. Copies are the same resource.
class IndexBox {
 public:
  [[nodiscard]] std::string const& label() const;
  /// Returns a box of addresses that no other resource has or will have: one byte for each index.
  [[nodiscard]] Impl::Area const& area() const { return m_area; }
  /// The addresses of the whole space.
  [[nodiscard]] Impl::Area whole() const;
  /// Bytes from one index to the next, for each direction.
  [[nodiscard]] std::span<std::uint64_t const> strides() const;

 private:
  template <std::size_t N>
  friend class IndexSpace;
  IndexBox(std::shared_ptr<Impl::IndexAddresses const> space, std::span<std::int64_t const> begin,
           std::span<std::int64_t const> end);
  std::shared_ptr<Impl::IndexAddresses const> m_space;
  Impl::Area m_area;
};

/// A resource in coordinates of the program's own, which is no memory that Trellis could see: cells
/// of a mesh, rows of a file, blocks of a distributed matrix. It has a name and extents. It uses no
/// memory, so there may be up to 2^60 indices.
///
///     trellis::experimental::IndexSpace<2> mesh("mesh", {nx, ny});
///     trellis::host_task("sweep", trellis::ResourcePolicy(graph,
///                        trellis::read_write(mesh.box({0, 0}, {nx / 2, ny})),
///                        trellis::read(mesh.box({nx / 2, 0}, {nx / 2 + 1, ny}))), ...);
///
/// An annotation of the space itself covers all of it. Copies are the same resource.
template <std::size_t N>
class IndexSpace {
  static_assert(0 < N && N <= Impl::Area::max_rank, "Trellis: an IndexSpace has 1 to 8 directions");

 public:
  using Index = std::array<std::int64_t, N>;

  /// Throws `Error` when an extent is not positive, or there are too many indices.
  IndexSpace(std::string label, Index const& extents)
      : m_space(Impl::make_index_addresses(std::move(label), extents)), m_extents(extents) {}

  [[nodiscard]] std::string const& label() const { return all().label(); }
  [[nodiscard]] Index const& extents() const { return m_extents; }
  /// The indices from `begin` up to, but not including, `end`, in each direction. Throws `Error`
  /// when the box is not within the space.
  [[nodiscard]] IndexBox box(Index const& begin, Index const& end) const {
    return IndexBox(m_space, begin, end);
  }
  /// All indices.
  [[nodiscard]] IndexBox all() const { return box(Index{}, m_extents); }

 private:
  std::shared_ptr<Impl::IndexAddresses const> m_space;
  Index m_extents;
};

}  // namespace experimental

}  // namespace trellis

#endif
