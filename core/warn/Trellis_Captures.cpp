// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <warn/Trellis_Captures.hpp>
#include <warn/Trellis_TouchedPages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

namespace trellis::Impl {

namespace {

/// A copy of a body, for as long as it is needed.
class BodyCopy {
 public:
  explicit BodyCopy(TaskSpec const& spec)
      : m_ops(*spec.ops),
        m_alignment(std::max(spec.body_alignment, alignof(std::max_align_t))),
        m_memory(::operator new(spec.body_size, std::align_val_t(m_alignment))) {}
  BodyCopy(BodyCopy const&) = delete;
  BodyCopy& operator=(BodyCopy const&) = delete;
  ~BodyCopy() { ::operator delete(m_memory, std::align_val_t(m_alignment)); }
  void make(void const* body) const { m_ops.copy(body, m_memory); }
  void drop() const { m_ops.destroy(m_memory); }

 private:
  TaskOps const& m_ops;
  std::size_t const m_alignment;
  void* const m_memory;
};

constexpr std::size_t width = sizeof(std::uintptr_t);

std::uintptr_t word_at(std::span<std::byte const> bytes, std::size_t at) {
  std::uintptr_t word = 0;
  std::memcpy(&word, bytes.data() + at, width);
  return word;
}

/// Kokkos marks references in the lowest bit.
bool refers_to(std::uintptr_t word, ResourceHold const& hold) {
  return (word & ~std::uintptr_t{1}) == reinterpret_cast<std::uintptr_t>(hold.record());
}

/// Is it a reference to an allocation, or an address in it?
bool belongs_to(std::uintptr_t word, ResourceHold const& hold) {
  if (refers_to(word, hold)) return true;
  auto const [begin, end] = hold.addresses();
  return begin <= word && word <= end;
}

}  // namespace

/// The Views among the accesses, each once.
void Captures::find_declared() {
  for (AccessRequest const& request : m_spec.accesses) {
    if (!request.counts() || request.state != nullptr || request.ops->hold == nullptr) continue;
    std::unique_ptr<ResourceHold> hold = request.ops->hold(request.subject);
    if (hold == nullptr) continue;
    auto const is_it = [&](Declared const& other) {
      return other.hold->record() == hold->record();
    };
    if (std::none_of(m_declared.begin(), m_declared.end(), is_it))
      m_declared.push_back({&request, std::move(hold)});
  }
}

void Captures::look(void const* body) {
  find_declared();
  if (m_declared.empty() && m_known.empty()) return;
  std::vector<long> before(m_known.size());
  std::vector<long> captured(m_known.size());
  std::vector<bool> in_doubt(m_known.size(), true);
  std::vector<long> declared_before(m_declared.size());
  BodyCopy const copy(m_spec);
  bool is_sure = false;
  for (int time = 0, times = most; time < times && !is_sure; ++time) {
    for (std::size_t k = 0; k < m_known.size(); ++k)
      if (in_doubt[k]) before[k] = m_known[k]->holders();
    for (std::size_t k = 0; k < m_declared.size(); ++k)
      declared_before[k] = m_declared[k].hold->holders();
    copy.make(body);
    is_sure = true;
    for (std::size_t k = 0; k < m_known.size(); ++k)
      if (in_doubt[k]) captured[k] = m_known[k]->holders() - before[k];
    for (std::size_t k = 0; k < m_declared.size(); ++k) {
      Declared& each = m_declared[k];
      each.is_held = each.is_held || each.hold->holders() > declared_before[k];
      is_sure = is_sure && each.is_held;
    }
    copy.drop();
    for (std::size_t k = 0; k < m_known.size(); ++k) {
      in_doubt[k] = in_doubt[k] && captured[k] > 0 && m_known[k]->holders() == before[k];
      is_sure = is_sure && !in_doubt[k];
      // It may be in a container that the functor holds, or somebody else's.
      if (time + 1 == most && in_doubt[k] && !is_seen(body, *m_known[k])) times = most_unseen;
    }
  }
  for (std::size_t k = 0; k < m_known.size(); ++k)
    if (in_doubt[k]) m_held.push_back(m_known[k].get());
  std::vector<Declared const*> missing;
  for (Declared const& each : m_declared)
    if (!each.is_held) missing.push_back(&each);
  if (missing.empty() || may_hide(body, missing)) return;
  for (Declared const* each : missing) m_missing.push_back(each->request);
}

/// Is a reference to it among what the functor holds?
bool Captures::is_seen(void const* body, ResourceHold const& hold) const {
  if (m_spec.ops->captures == nullptr) return false;
  std::span<std::byte const> const bytes = m_spec.ops->captures(body);
  for (std::size_t at = 0; at + width <= bytes.size(); at += width)
    if (refers_to(word_at(bytes, at), hold)) return true;
  return false;
}

/// May the functor know one of these Views without a reference: by a pointer to its elements, or to
/// something else that has it? So it may if it has an address of anything but the Views that are
/// known. One that holds none of these may use what is global.
bool Captures::may_hide(void const* body, std::vector<Declared const*> const& missing) const {
  if (m_spec.ops->captures == nullptr) return true;
  std::span<std::byte const> const bytes = m_spec.ops->captures(body);
  bool const holds_any = !m_held.empty() || missing.size() < m_declared.size();
  if (bytes.empty() || !holds_any) return true;
  std::vector<bool> is_padding(bytes.size(), false);
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    std::uintptr_t const word = word_at(bytes, at);
    bool is_explained = false;
    auto const explain = [&](ResourceHold const& hold) {
      is_explained = is_explained || belongs_to(word, hold);
      if (!refers_to(word, hold)) return;
      std::span<bool const> const padding = hold.padding();  // a View begins with its reference
      for (std::size_t k = 0; k < padding.size() && at + k < bytes.size(); ++k)
        if (padding[k]) is_padding[at + k] = true;
    };
    for (Declared const& each : m_declared) explain(*each.hold);
    for (auto const& each : m_known) explain(*each);
    if (std::any_of(missing.begin(), missing.end(),
                    [&](Declared const* each) { return belongs_to(word, *each->hold); }))
      return true;
    auto const first = is_padding.begin() + static_cast<std::ptrdiff_t>(at);
    bool const is_nothing = std::all_of(first, first + width, [](bool each) { return each; });
    if (!is_explained && !is_nothing && may_be_mapped(word)) return true;
  }
  return false;
}

}  // namespace trellis::Impl
