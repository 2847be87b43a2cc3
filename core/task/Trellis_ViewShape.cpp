// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <task/Trellis_ViewShape.hpp>

#include <algorithm>

namespace trellis::Impl {
namespace {

struct Box {
  std::uint64_t first[Area::max_rank];
  std::uint64_t last[Area::max_rank];
};

/// Finds the indices of the element that starts at `bytes`. False when no element starts there.
bool indices_of(std::uint64_t bytes, ViewShape const& shape, int const* largest_first,
                std::uint64_t* indices) {
  for (int k = 0; k < shape.rank; ++k) {
    int const dimension = largest_first[k];
    indices[dimension] = bytes / shape.strides[dimension];
    bytes %= shape.strides[dimension];
  }
  return bytes == 0;
}

/// Finds the box whose first and last elements are those of the area. True if it has as many
/// elements.
bool find_box(Area const& area, std::uintptr_t base, ViewShape const& shape, Box& box) {
  int largest_first[Area::max_rank];
  for (int k = 0; k < shape.rank; ++k) {  // GCC warns of std::sort on so few
    int at = k;
    for (; at > 0 && shape.strides[largest_first[at - 1]] < shape.strides[k]; --at)
      largest_first[at] = largest_first[at - 1];
    largest_first[at] = k;
  }
  for (int k = 0; k < shape.rank; ++k) {
    std::uint64_t const stride = shape.strides[largest_first[k]];
    if (stride == 0 || (k > 0 && stride == shape.strides[largest_first[k - 1]])) return false;
  }
  if (area.begin() < base || area.run() % shape.element_bytes != 0 ||
      !indices_of(area.begin() - base, shape, largest_first, box.first) ||
      !indices_of(area.end() - shape.element_bytes - base, shape, largest_first, box.last))
    return false;
  std::uint64_t elements = area.run() / shape.element_bytes;
  for (int k = 0; k < area.rank(); ++k) {
    std::uint64_t const* const end = shape.strides + shape.rank;
    if (std::find(shape.strides, end, area.dimension(k).stride) == end) return false;
    elements *= area.dimension(k).extent;
  }
  for (int k = 0; k < shape.rank; ++k) {
    if (box.last[k] < box.first[k]) return false;
    std::uint64_t const extent = box.last[k] - box.first[k] + 1;
    if (elements % extent != 0) return false;
    elements /= extent;
  }
  return elements == 1;
}

/// Converts an area from bytes to elements. False if it has partial elements.
bool in_elements(Area const& area, std::uintptr_t base, std::uint64_t bytes, Area& result) {
  if (area.begin() < base || (area.begin() - base) % bytes != 0 || area.run() % bytes != 0)
    return false;
  std::uint64_t extents[Area::max_rank + 1], strides[Area::max_rank + 1];
  if (area.rank() == Area::max_rank) return false;  // the run needs one of them
  for (int k = 0; k < area.rank(); ++k) {
    if (area.dimension(k).stride % bytes != 0) return false;
    extents[k] = area.dimension(k).extent;
    strides[k] = area.dimension(k).stride / bytes;
  }
  extents[area.rank()] = area.run() / bytes;
  strides[area.rank()] = 1;
  result = Area::strided(reinterpret_cast<void const*>((area.begin() - base) / bytes), 1,
                         area.rank() + 1, extents, strides);
  return true;
}

}  // namespace

std::string area_text(Area const& area, std::uintptr_t base, ViewShape const& shape) {
  if (area.empty() || shape.element_bytes == 0) return to_string(area, base);
  Box box;
  if (shape.rank > 0 && find_box(area, base, shape, box)) {
    std::string text;
    for (int k = 0; k < shape.rank; ++k) {
      text.append(k == 0 ? "[" : " x [").append(std::to_string(box.first[k]));
      text.append(", ").append(std::to_string(box.last[k] + 1)).append(")");
    }
    return text;
  }
  Area elements;
  if (in_elements(area, base, shape.element_bytes, elements)) return to_string(elements, 0);
  return to_string(area, base).append(" bytes");
}

}  // namespace trellis::Impl
