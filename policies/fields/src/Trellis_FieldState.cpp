// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <fields/impl/Trellis_FieldState.hpp>

#include <algorithm>
#include <cstdint>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#define TRELLIS_FIELDS_HAVE_MMAN
#endif

namespace trellis::Impl {

thread_local constinit FieldBinding const* FieldBinding::t_now = nullptr;

ReservedRange::ReservedRange(std::size_t bytes) : m_bytes(std::max<std::size_t>(bytes, 1)) {
#ifdef TRELLIS_FIELDS_HAVE_MMAN
  void* const begin =
      ::mmap(nullptr, m_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    throw Error(Error::Kind::bad_input, "Trellis: the system has no range of addresses of " +
                                            std::to_string(bytes) + " bytes for a field");
  m_begin = begin;
#else
  m_begin = ::operator new(m_bytes);
#endif
}

ReservedRange::~ReservedRange() {
  if (m_begin == nullptr) return;
#ifdef TRELLIS_FIELDS_HAVE_MMAN
  ::munmap(m_begin, m_bytes);
#else
  ::operator delete(m_begin);
#endif
}

FieldBox FieldShape::whole() const {
  FieldBox box{};
  for (int k = 0; k < rank; ++k) {
    auto const at = static_cast<std::size_t>(k);
    box[at] = {0, extents[at]};
  }
  return box;
}

void FieldState::set_shape(FieldShape const& to) {
  if (to.has_extents && external == nullptr) range = ReservedRange(to.bytes);
  shape = to;
}

Area FieldState::area(FieldBox const& box, void const* memory) const {
  if (!shape.has_extents) return {};
  std::uint64_t extents[Area::max_rank] = {};
  std::uint64_t strides[Area::max_rank] = {};
  std::size_t first = 0;
  for (int d = 0; d < shape.rank; ++d) {
    auto const k = static_cast<std::size_t>(d);
    extents[k] = box[k].second - box[k].first;
    strides[k] = shape.strides[k];
    first += box[k].first * shape.strides[k];
  }
  return Area::strided(static_cast<char const*>(memory) + first * shape.element_bytes,
                       shape.element_bytes, shape.rank, extents, strides);
}

void describe_field(void const* subject, ResourceInfo& info) {
  describe_field_state(*static_cast<FieldArea const*>(subject)->field(), info);
}

bool field_may_have_label(void const* subject, std::string const& label) {
  return static_cast<FieldArea const*>(subject)->field()->may_be_called(label);
}

void describe_field_state(FieldState const& field, ResourceInfo& info) {
  info.label = field.name.string();
  info.begin = reinterpret_cast<std::uintptr_t>(field.identity());
  info.end = info.begin + field.shape.bytes;
  info.shape.element_bytes = field.shape.element_bytes;
  info.shape.rank = field.shape.rank;
  for (int d = 0; d < field.shape.rank; ++d)
    info.shape.strides[d] =
        field.shape.strides[static_cast<std::size_t>(d)] * field.shape.element_bytes;
}

std::size_t bytes_of(FieldState const& field) {
  return field.shape.bytes;
}
void* bound_memory(FieldState const& field) {
  return FieldBinding::memory_of(field);
}

void* FieldBinding::memory_of(FieldState const& field) {
  if (t_now != nullptr)
    for (Entry const& each : t_now->m_entries)
      if (each.field == &field) return each.memory;
  throw Error(Error::Kind::bad_access,
              "Trellis: the field " + field.text() + " (" + field.name.place() +
                  ") has no memory in this task: only the tasks of its model have it during a "
                  "iteration, unless it is locked, required or persistent");
}

}  // namespace trellis::Impl
