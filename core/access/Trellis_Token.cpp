// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Token.hpp>

#include <utility>
#include <vector>

namespace trellis {

struct Token::Whole {
  Whole(std::string name, std::size_t parts) : label(std::move(name)), places(parts) {}
  std::string label;
  std::vector<char> places;
};

Token::Token(std::string label, std::size_t parts)
    : m_whole(std::make_shared<Whole>(std::move(label), parts)), m_count(parts) {
  if (parts == 0)
    throw Error(Error::Kind::bad_input, "Trellis: token \"" + this->label() + "\" has no parts");
}

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

Area Token::area() const {
  return Area::contiguous(m_whole->places.data() + m_first, m_count);
}

Area Token::whole() const {
  return Area::contiguous(m_whole->places.data(), m_whole->places.size());
}

}  // namespace trellis
