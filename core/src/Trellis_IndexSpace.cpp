// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_IndexSpace.hpp>
#include <base/Trellis_AddressPool.hpp>

#include <vector>

namespace trellis {

namespace Impl {
struct IndexAddresses {
  IndexAddresses(std::string&& name, std::span<std::int64_t const> lengths)
      : label(std::move(name)), extents(lengths.begin(), lengths.end()), strides(lengths.size()) {
    constexpr std::uint64_t most = std::uint64_t{1} << 60;
    for (std::size_t k = extents.size(); k-- > 0;) {
      if (extents[k] <= 0)
        throw Error(Error::Kind::bad_input, "Trellis: the extent " + std::to_string(k) +
                                                " of the index space \"" + label + "\" is " +
                                                std::to_string(extents[k]));
      strides[k] = bytes;
      auto const extent = static_cast<std::uint64_t>(extents[k]);
      if (extent > most / bytes) refuse();
      bytes *= extent;
    }
    begin = AddressPool::get().take(bytes);
    if (begin == 0) refuse();
  }
  IndexAddresses(IndexAddresses const&) = delete;
  IndexAddresses& operator=(IndexAddresses const&) = delete;
  ~IndexAddresses() { AddressPool::get().give_back(begin, bytes); }

  std::string label;
  std::vector<std::int64_t> extents;
  std::vector<std::uint64_t> strides;
  std::uint64_t bytes = 1;
  std::uint64_t begin = 0;

 private:
  [[noreturn]] void refuse() const {
    throw Error(Error::Kind::bad_input,
                "Trellis: the index space \"" + label + "\" has too many indices");
  }
};

std::shared_ptr<IndexAddresses const> make_index_addresses(std::string&& label,
                                                           std::span<std::int64_t const> extents) {
  return std::make_shared<IndexAddresses const>(std::move(label), extents);
}

}  // namespace Impl

namespace experimental {

IndexBox::IndexBox(std::shared_ptr<Impl::IndexAddresses const> space,
                   std::span<std::int64_t const> begin, std::span<std::int64_t const> end)
    : m_space(std::move(space)) {
  std::uint64_t address = m_space->begin;
  std::uint64_t extents[Impl::Area::max_rank];
  for (std::size_t k = 0; k < begin.size(); ++k) {
    if (begin[k] < 0 || end[k] < begin[k] || end[k] > m_space->extents[k])
      throw Error(Error::Kind::bad_input,
                  "Trellis: the index space \"" + label() + "\" has the indices from 0 to before " +
                      std::to_string(m_space->extents[k]) + " in direction " + std::to_string(k) +
                      "; there is no box from " + std::to_string(begin[k]) + " to before " +
                      std::to_string(end[k]));
    address += static_cast<std::uint64_t>(begin[k]) * m_space->strides[k];
    extents[k] = static_cast<std::uint64_t>(end[k] - begin[k]);
  }
  m_area = Impl::Area::strided(reinterpret_cast<void const*>(address), 1,
                               static_cast<int>(begin.size()), extents, m_space->strides.data());
}

std::string const& IndexBox::label() const {
  return m_space->label;
}

Impl::Area IndexBox::whole() const {
  return Impl::Area::contiguous(reinterpret_cast<void const*>(m_space->begin), m_space->bytes);
}

std::span<std::uint64_t const> IndexBox::strides() const {
  return m_space->strides;
}

}  // namespace experimental

}  // namespace trellis
