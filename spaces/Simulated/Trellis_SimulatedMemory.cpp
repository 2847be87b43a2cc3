// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Simulated/impl/Trellis_SimulatedMachine.hpp>
#include <Trellis_Error.hpp>

#include <algorithm>
#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#define TRELLIS_HAS_MMAN
#endif

namespace trellis::Impl {

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t whole_pages = std::size_t{1} << 16;

std::size_t rounded(std::size_t bytes, std::size_t to) {
  return (std::max<std::size_t>(bytes, 1) + to - 1) / to * to;
}

}  // namespace

SimulatedMemory::SimulatedMemory(SimulatedMachine& machine, std::string name, std::size_t capacity)
    : m_machine(machine), m_name(std::move(name)), m_capacity(capacity) {}

SimulatedMemory::~SimulatedMemory() {
  if (m_begin == nullptr) return;
  m_machine.remove(*this);
#ifdef TRELLIS_HAS_MMAN
  ::munmap(m_begin, rounded(m_capacity, whole_pages));
#else
  ::operator delete(m_begin, std::align_val_t(alignment));
#endif
}

void* SimulatedMemory::allocate(std::size_t bytes, std::string_view label) {
  std::lock_guard const lock(m_machine.memory_lock);
  std::size_t const size = rounded(bytes, alignment);
  if (m_begin == nullptr) {
#ifdef TRELLIS_HAS_MMAN
    int const access = m_machine.guards_memory() && !m_machine.memory_is_open()
                           ? PROT_NONE
                           : PROT_READ | PROT_WRITE;
    void* const range = ::mmap(nullptr, rounded(m_capacity, whole_pages), access,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    m_begin = static_cast<char*>(range);
#else
    m_begin = static_cast<char*>(::operator new(m_capacity, std::align_val_t(alignment)));
#endif
    m_free[0] = m_capacity / alignment * alignment;
    m_machine.add(*this);
  }
  auto const place = std::find_if(m_free.begin(), m_free.end(),
                                  [&](auto const& part) { return part.second >= size; });
  if (place == m_free.end())
    throw Error(Error::Kind::bad_input, "Trellis: " + m_name + " has no room for the " +
                                            std::to_string(bytes) + " bytes of \"" +
                                            std::string(label) + "\": of its " +
                                            std::to_string(m_capacity) + " bytes " +
                                            std::to_string(m_live) + " are in use");
  auto const [offset, free] = *place;
  m_free.erase(place);
  if (free > size) m_free[offset + size] = free - size;
  m_used[offset] = size;
  m_live += size;
  m_most_live = std::max(m_most_live, m_live);
  return m_begin + offset;
}

void SimulatedMemory::deallocate(void* pointer) noexcept {
  std::lock_guard const lock(m_machine.memory_lock);
  auto const used = m_used.find(static_cast<std::size_t>(static_cast<char*>(pointer) - m_begin));
  std::size_t offset = used->first;
  std::size_t size = used->second;
  m_used.erase(used);
  m_live -= size;
  auto const next = m_free.lower_bound(offset);
  if (next != m_free.begin()) {
    if (auto const before = std::prev(next); before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
    }
  }
  if (next != m_free.end() && offset + size == next->first) {
    size += next->second;
    m_free.erase(next);
  }
  m_free[offset] = size;
}

std::size_t SimulatedMemory::live() const {
  std::lock_guard const lock(m_machine.memory_lock);
  return m_live;
}
std::size_t SimulatedMemory::most_live() const {
  std::lock_guard const lock(m_machine.memory_lock);
  return m_most_live;
}
bool SimulatedMemory::owns(void const* pointer) const {
  std::lock_guard const lock(m_machine.memory_lock);
  auto const* const address = static_cast<char const*>(pointer);
  return m_begin != nullptr && std::less_equal<>()(m_begin, address) &&
         std::less<>()(address, m_begin + m_capacity);
}

void SimulatedMemory::protect([[maybe_unused]] bool open) noexcept {
#ifdef TRELLIS_HAS_MMAN
  ::mprotect(m_begin, rounded(m_capacity, whole_pages), open ? PROT_READ | PROT_WRITE : PROT_NONE);
#endif
}

void SimulatedMachine::add(SimulatedMemory& memory) {
  m_memories.push_back(&memory);
}
void SimulatedMachine::remove(SimulatedMemory& memory) noexcept {
  std::lock_guard const lock(memory_lock);
  std::erase(m_memories, &memory);
}

void SimulatedMachine::open_memory() noexcept {
  if (!guards_memory()) return;
  std::lock_guard const lock(memory_lock);
  if (m_open++ > 0) return;
  for (SimulatedMemory* memory : m_memories) memory->protect(true);
}
void SimulatedMachine::close_memory() noexcept {
  if (!guards_memory()) return;
  std::lock_guard const lock(memory_lock);
  if (--m_open > 0) return;
  for (SimulatedMemory* memory : m_memories) memory->protect(false);
}

}  // namespace trellis::Impl
