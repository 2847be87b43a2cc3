// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_Admission.hpp>

#include <algorithm>

namespace trellis::Impl {

void Admission::note_most() {
  m_most = std::max(m_most, *std::max_element(m_reserved.begin(), m_reserved.end()));
}

bool Admission::reserve(std::vector<std::size_t> const& needs) {
  for (std::size_t place = 0; place < needs.size(); ++place)
    if (needs[place] != 0 && m_reserved[place] + needs[place] > m_limits[place]) return false;
  for (std::size_t place = 0; place < needs.size(); ++place) m_reserved[place] += needs[place];
  note_most();
  return true;
}

std::shared_ptr<Admission::Gate> Admission::admit(std::vector<std::size_t> const& needs) {
  std::lock_guard const lock(m_mutex);
  bool const needs_none =
      std::all_of(needs.begin(), needs.end(), [](std::size_t bytes) { return bytes == 0; });
  // A task that needs no memory delays no other one.
  if (needs_none || (m_waiting.empty() && reserve(needs))) return nullptr;
  std::shared_ptr<Gate> gate(new Gate(*this, needs));
  m_waiting.push_back(gate);
  ++m_gates;
  return gate;
}

void Admission::open(Gates& opened) noexcept {
  while (!m_waiting.empty() && reserve(m_waiting.front()->m_needs)) {
    m_waiting.front()->m_is_open = true;
    opened.splice(opened.end(), m_waiting, m_waiting.begin());
  }
}

/// A gate that was armed before it was opened has its Completion, which nothing else touches any
/// more. A task that arms an open gate finds it open, under the lock, and keeps its Completion.
void Admission::tell(Gates const& opened) {
  for (auto const& gate : opened)
    if (gate->m_completion.valid()) gate->m_completion.done();
}

void Admission::abandon(Gate& gate) {
  Gates opened;
  {
    std::lock_guard const lock(m_mutex);
    if (gate.m_is_open)
      for (std::size_t place = 0; place < gate.m_needs.size(); ++place)
        m_reserved[place] -= gate.m_needs[place];
    gate.m_needs.assign(gate.m_needs.size(), 0);
    open(opened);
  }
  tell(opened);
}

void Admission::release(std::size_t place, std::size_t bytes) {
  Gates opened;
  {
    std::lock_guard const lock(m_mutex);
    m_reserved[place] -= bytes;
    open(opened);
  }
  tell(opened);
}

bool Admission::keep(std::size_t place, std::size_t bytes) {
  std::lock_guard const lock(m_mutex);
  if (!m_waiting.empty() || m_reserved[place] + bytes > m_limits[place]) return false;
  m_reserved[place] += bytes;
  note_most();
  return true;
}

std::size_t Admission::most_reserved() const {
  std::lock_guard const lock(m_mutex);
  return m_most;
}

std::size_t Admission::gates() const {
  std::lock_guard const lock(m_mutex);
  return m_gates;
}

void Admission::Gate::arm(Completion<> completion) {
  {
    std::lock_guard const lock(m_of.m_mutex);
    if (!m_is_open) {
      m_completion = std::move(completion);
      return;
    }
  }
  completion.done();
}

}  // namespace trellis::Impl
