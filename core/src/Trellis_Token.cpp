// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Token.hpp>
#include <base/Trellis_AddressPool.hpp>

#include <cstdint>
#include <utility>

namespace trellis {

struct Token::Whole {
  Whole(std::string&& name, std::size_t parts) : label(std::move(name)), count(parts) {
    if (count == 0)
      throw Error(Error::Kind::bad_input, "Trellis: token \"" + label + "\" has no parts");
    begin = Impl::AddressPool::get().take(count);
    if (begin == 0)
      throw Error(Error::Kind::bad_input, "Trellis: token \"" + label + "\" has too many parts");
  }
  Whole(Whole const&) = delete;
  Whole& operator=(Whole const&) = delete;
  ~Whole() { Impl::AddressPool::get().give_back(begin, count); }

  [[nodiscard]] Impl::Area part(std::size_t first, std::size_t parts) const {
    return Impl::Area::contiguous(reinterpret_cast<void const*>(begin + first), parts);
  }

  std::string label;
  std::uint64_t begin = 0;
  std::uint64_t count;
};

Token::Token(std::string label, std::size_t parts)
    : m_whole(std::make_shared<Whole>(std::move(label), parts)), m_count(parts) {}

std::string const& Token::label() const {
  return m_whole->label;
}

Token Token::part(std::size_t first, std::size_t last) const {
  if (first >= last || last > m_count)
    throw Error(Error::Kind::bad_input,
                "Trellis: token \"" + label() + "\" has " + std::to_string(m_count) +
                    " parts; there are no parts from " + std::to_string(first) + " to before " +
                    std::to_string(last));
  Token part = *this;
  part.m_first += first;
  part.m_count = last - first;
  return part;
}

Impl::Area Token::area() const {
  return m_whole->part(m_first, m_count);
}

Impl::Area Token::whole() const {
  return m_whole->part(0, m_whole->count);
}

}  // namespace trellis
