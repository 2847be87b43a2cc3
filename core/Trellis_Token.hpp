// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TOKEN_HPP
#define TRELLIS_TOKEN_HPP

#include <Trellis_Area.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace trellis {

/// A resource that is not memory: a communicator, a file, a device, a random stream. Annotate tasks
/// with `read(token)`, `write(token)` and so on; Trellis orders them. What the token stands for is
/// up to the program. Copies are the same resource.
///
/// A token may have parts, e.g. the two halves of a double buffer: `Token halves("halves", 2)`. The
/// parts are independent of each other, and each conflicts with the whole.
class Token {
 public:
  /// Throws `Error` when `parts` is 0.
  explicit Token(std::string label, std::size_t parts = 1);

  [[nodiscard]] std::string const& label() const;
  /// How many parts this one has.
  [[nodiscard]] std::size_t parts() const { return m_count; }
  /// The part with this number, from 0. Throws `Error` when there is none.
  [[nodiscard]] Token part(std::size_t k) const { return part(k, k + 1); }
  /// The parts from `first` up to, but not including, `last`.
  [[nodiscard]] Token part(std::size_t first, std::size_t last) const;

  /// A range of addresses that no other resource has or will have: one byte for each part.
  [[nodiscard]] Impl::Area area() const;
  /// The range of addresses of the whole token that this one is a part of.
  [[nodiscard]] Impl::Area whole() const;
  friend bool operator==(Token const&, Token const&) = default;

 private:
  struct Whole;
  std::shared_ptr<Whole> m_whole;
  std::size_t m_first = 0;
  std::size_t m_count;
};

}  // namespace trellis

#endif
