// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace trellis::Impl {

namespace {

void set_shape(ViewShape& shape, std::uint64_t element_bytes,
               std::span<std::uint64_t const> strides) {
  shape.element_bytes = element_bytes;
  shape.rank = static_cast<int>(strides.size());
  std::copy(strides.begin(), strides.end(), shape.strides);
}

}  // namespace

void describe_token(void const* subject, ResourceInfo& info) {
  Token const& token = *static_cast<Token const*>(subject);
  info.label = token.label();
  info.begin = token.whole().begin();
  info.end = token.whole().end();
}

void describe_box(void const* subject, ResourceInfo& info) {
  experimental::IndexBox const& box = *static_cast<experimental::IndexBox const*>(subject);
  info.label = box.label();
  info.begin = box.whole().begin();
  info.end = box.whole().end();
  set_shape(info.shape, 1, box.strides());
}

void describe_memory(void const* subject, ResourceInfo& info) {
  HostMemory const& memory = *static_cast<HostMemory const*>(subject);
  info.label = memory.label();
  info.begin = memory.area().begin();
  info.end = memory.area().end();
  set_shape(info.shape, memory.element_bytes(), memory.strides());
}

}  // namespace trellis::Impl
