// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TOKEN_HPP
#define TRELLIS_TOKEN_HPP

#include <Trellis_Area.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace trellis {

/// A resource that is no memory: a communicator, a file, a random stream. Annotate tasks with `read(token)`,
/// `write(token)` and so on; Trellis orders them, what the token stands for is the program's business. Copies
/// are the same resource.
class Token {
 public:
  explicit Token(std::string label) : m_label(std::make_shared<std::string>(std::move(label))) {}

  [[nodiscard]] std::string const& label() const { return *m_label; }
  /// The token's place in the address space, which nothing else can have while the token lives.
  [[nodiscard]] Area area() const { return Area::contiguous(m_label.get(), sizeof(std::string)); }
  friend bool operator==(Token const&, Token const&) = default;

 private:
  std::shared_ptr<std::string> m_label;
};

}  // namespace trellis

#endif
