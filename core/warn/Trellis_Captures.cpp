// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <warn/Trellis_Captures.hpp>
#include <base/Trellis_TouchedPages.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <span>

namespace trellis::Impl {

namespace {

constexpr std::size_t width = sizeof(std::uintptr_t);

std::uintptr_t word_at(std::span<std::byte const> bytes, std::size_t at) {
  std::uintptr_t word = 0;
  std::memcpy(&word, bytes.data() + at, width);
  return word;
}

/// Kokkos marks references in the lowest bit.
constexpr std::uintptr_t mark = 1;

std::uintptr_t record_of(ResourceHold const& hold) {
  return reinterpret_cast<std::uintptr_t>(hold.record());
}
bool refers_to(std::uintptr_t word, ResourceHold const& hold) {
  return (word & ~mark) == record_of(hold);
}

/// True if the word is a reference to an allocation, or an address in it.
bool belongs_to(std::uintptr_t word, ResourceHold const& hold) {
  if (refers_to(word, hold)) return true;
  auto const [begin, end] = hold.addresses();
  return begin <= word && word <= end;
}

template <class F>
void for_each_word(std::span<std::byte const> bytes, F&& f) {
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) f(at, word_at(bytes, at));
}

/// Two threads that make several copies at the same time could do so in step with each other. So
/// only one does at a time. No thread waits for a turn, as copies are user code.
class CopyTurn {
 public:
  CopyTurn() : m_is_mine(!s_is_taken.exchange(true, std::memory_order_acquire)) {}
  CopyTurn(CopyTurn const&) = delete;
  CopyTurn& operator=(CopyTurn const&) = delete;
  ~CopyTurn() {
    if (m_is_mine) s_is_taken.store(false, std::memory_order_release);
  }
  [[nodiscard]] bool is_mine() const { return m_is_mine; }

 private:
  static inline std::atomic<bool> s_is_taken{false};
  bool const m_is_mine;
};

}  // namespace

BodyRoom::BodyRoom(TaskSpec const& spec)
    : m_ops(*spec.ops),
      m_alignment(std::max(spec.body_alignment, alignof(std::max_align_t))),
      m_memory(::operator new(spec.body_size, std::align_val_t(m_alignment))) {
  std::memset(m_memory, 0, spec.body_size);  // bytes that it does not write hold no address
}

BodyRoom::~BodyRoom() {
  if (m_is_made) m_ops.destroy(m_memory);
  ::operator delete(m_memory, std::align_val_t(m_alignment));
}

/// Finds the Views among the accesses, each once.
void Captures::find_declared() {
  for (AccessRequest const& request : m_spec.accesses) {
    if (!request.counts() || request.state != nullptr || request.ops->hold == nullptr) continue;
    std::unique_ptr<ResourceHold> hold = request.ops->hold(request.subject);
    if (hold == nullptr) continue;
    bool const updates = (request.mode == Mode::atomic_add || request.mode == Mode::atomic_mul) &&
                         !request.ops->is_atomic;
    auto const known =
        std::find_if(m_declared.begin(), m_declared.end(),
                     [&](Declared const& other) { return other.hold->record() == hold->record(); });
    if (known == m_declared.end())
      m_declared.push_back({&request, std::move(hold), updates});
    else
      known->only_updates = known->only_updates && updates;
  }
}

void Captures::look_at_copies(void const* body) {
  std::optional<CopyTurn> turn;
  if (!m_known.empty()) turn.emplace();
  struct Known {
    bool is_open;  ///< it may be held
    bool is_held = false;
    long before = 0, with_copies = 0;
    long per_copy = 0;  ///< references, by the last exact round
    int agree = 0;      ///< exact rounds with this number
  };
  bool any_open = turn && turn->is_mine();
  std::vector<Known> known(m_known.size(), Known{.is_open = any_open});
  auto const for_each_open = [&](auto&& f) {
    for (std::size_t k = 0; k < known.size(); ++k)
      if (known[k].is_open) f(known[k], *m_known[k]);
  };
  std::vector<long> declared_before(m_declared.size());
  std::deque<BodyRoom> copies;
  bool is_sure = false;
  for (long const alive : alive_in_round) {
    for_each_open([](Known& each, ResourceHold const& hold) { each.before = hold.holders(); });
    for (std::size_t k = 0; k < m_declared.size(); ++k)
      declared_before[k] = m_declared[k].hold->holders();
    for (long made = 0; made < (any_open ? alive : 1); ++made)  // declared Views need only one
      copies.emplace_back(m_spec).make([&](void* memory) { m_spec.ops->copy(body, memory); });
    for_each_open([](Known& each, ResourceHold const& hold) { each.with_copies = hold.holders(); });
    is_sure = true;
    for (std::size_t k = 0; k < m_declared.size(); ++k) {
      Declared& each = m_declared[k];
      each.is_held = each.is_held || each.hold->holders() > declared_before[k];
      is_sure = is_sure && each.is_held;
    }
    copies.clear();
    any_open = false;
    for_each_open([&](Known& each, ResourceHold const& hold) {
      long const came = each.with_copies - each.before;
      long const went = each.with_copies - hold.holders();
      if (2 * std::max(came, went) < alive) {
        each.is_open = false;
      } else if (came == went && came % alive == 0) {
        long const per_copy = came / alive;
        each.agree = per_copy == each.per_copy ? each.agree + 1 : 1;
        each.per_copy = per_copy;
        // The View may be in a container that the functor holds, or belong to another thread.
        each.is_held = each.agree >= (is_seen(body, hold) ? 1 : most_to_agree);
        each.is_open = !each.is_held;
      }
      any_open = any_open || each.is_open;
    });
    if (is_sure && !any_open) break;
  }
  for (std::size_t k = 0; k < known.size(); ++k)
    if (known[k].is_held) m_held.push_back(m_known[k].get());
  compare_declared(body);
}

void Captures::look_at_bytes(void const* body) {
  std::span<std::byte const> const bytes = bytes_of(body);
  if (bytes.empty()) return;
  std::vector<std::uintptr_t> words;
  for_each_word(bytes, [&](std::size_t, std::uintptr_t word) { words.push_back(word & ~mark); });
  std::sort(words.begin(), words.end());
  auto const is_there = [&](ResourceHold const& hold) {
    return std::binary_search(words.begin(), words.end(), record_of(hold));
  };
  for (Declared& each : m_declared) each.is_held = is_there(*each.hold);
  for (auto const& each : m_known)
    if (is_there(*each)) m_held.push_back(each.get());
  compare_declared(body);
  m_knows_only_views = holds_any() && !knows_more(bytes);
  // The callable may have a View to pass it to tasks that it submits.
  if (!m_knows_only_views) m_held.clear();
}

/// Finds what is held and not declared as it should be, and what is declared and not held.
void Captures::compare_declared(void const* body) {
  std::vector<Declared const*> missing;
  for (Declared const& each : m_declared) {
    if (each.only_updates && !m_spec.ops->takes_views && is_seen(body, *each.hold))
      m_updated.push_back(each.request);
    if (!each.is_held) missing.push_back(&each);
  }
  if (missing.empty() || may_hide(body, missing)) return;
  for (Declared const* each : missing) m_missing.push_back(each->request);
}

bool Captures::holds_any() const {
  return !m_held.empty() || std::any_of(m_declared.begin(), m_declared.end(),
                                        [](Declared const& each) { return each.is_held; });
}

/// Empty if there are none, or they are unknown.
std::span<std::byte const> Captures::bytes_of(void const* body) const {
  int const captured = m_spec.ops->captured;
  if (captured <= 0) return {};
  return {static_cast<std::byte const*>(body), static_cast<std::size_t>(captured)};
}

/// True if a reference to it is among what the functor holds.
bool Captures::is_seen(void const* body, ResourceHold const& hold) const {
  bool is_there = false;
  for_each_word(bytes_of(body), [&](std::size_t, std::uintptr_t word) {
    is_there = is_there || refers_to(word, hold);
  });
  return is_there;
}

/// True if the functor may know one of these Views without a reference: by a pointer to its
/// elements, or to something else that has it. A functor that holds none of the task's Views may
/// use global ones.
bool Captures::may_hide(void const* body, std::vector<Declared const*> const& missing) const {
  std::span<std::byte const> const bytes = bytes_of(body);
  if (bytes.empty() || !holds_any()) return true;
  bool is_there = false;
  for_each_word(bytes, [&](std::size_t, std::uintptr_t word) {
    for (Declared const* each : missing) is_there = is_there || belongs_to(word, *each->hold);
  });
  return is_there || knows_more(bytes);
}

/// True if there is an address of anything except the known Views.
bool Captures::knows_more(std::span<std::byte const> bytes) const {
  std::vector<bool> is_padding(bytes.size(), false);
  bool knows_more = false;
  for_each_word(bytes, [&](std::size_t at, std::uintptr_t word) {
    if (knows_more) return;
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
    auto const first = is_padding.begin() + static_cast<std::ptrdiff_t>(at);
    bool const is_nothing = std::all_of(first, first + width, [](bool each) { return each; });
    knows_more = !is_explained && !is_nothing && may_be_mapped(word);
  });
  return knows_more;
}

}  // namespace trellis::Impl
