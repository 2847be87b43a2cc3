// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_AREAPLACES_HPP
#define TRELLIS_IMPL_AREAPLACES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace trellis::Impl {

/// Remembers where to look in a list of areas that children ask for one after the other. It begins
/// behind what was found last, as many children go through the list in its order. Once it has
/// looked at several times as many areas as there are, it learns the places of all, also of those
/// that come later; then any order is as good. It only knows where to begin: the list may change.
/// (It is not used for the areas that a task has in flight, which AccessTable keeps.)
class AreaPlaces {
 public:
  /// True if `fits(place)` for the likeliest place, of `count`, of an area with this hash.
  /// `hash_at(place)` returns the hash of the area that is there.
  template <class HashAt, class Fits>
  [[nodiscard]] bool fits_at_once(std::uint64_t hash, std::size_t count, HashAt const& hash_at,
                                  Fits const& fits) {
    std::size_t place = m_next;
    if (m_known != nullptr) {
      learn(count, hash_at);
      if (auto const known = m_known->find(hash); known != m_known->end()) place = known->second;
    }
    if (place >= count || !fits(place)) return false;
    m_next = place + 1;
    return true;
  }
  template <class HashAt, class Fits>
  [[nodiscard]] bool fits_anywhere(std::size_t count, HashAt const& hash_at, Fits const& fits) {
    std::size_t place = m_next;
    for (std::size_t seen = 0; seen < count; ++seen, ++place) {
      if (place >= count) place = 0;
      if (!fits(place)) continue;
      m_next = place + 1;
      looked_at(seen, count, hash_at);
      return true;
    }
    looked_at(count, count, hash_at);
    return false;
  }
  void clear() {
    m_next = m_learnt = m_looks = 0;
    m_known.reset();
  }

 private:
  /// Counts looks, and learns all places once that pays: to learn one takes as long as some looks.
  template <class HashAt>
  void looked_at(std::size_t others, std::size_t count, HashAt const& hash_at) {
    constexpr std::size_t few = 32;
    constexpr std::size_t looks_to_learn_one = 32;
    if (others < few || m_known != nullptr) return;
    m_looks += others;
    if (m_looks < looks_to_learn_one * count) return;
    m_known = std::make_unique<Known>();
    learn(count, hash_at);
  }
  template <class HashAt>
  void learn(std::size_t count, HashAt const& hash_at) {
    for (; m_learnt < count; ++m_learnt) m_known->emplace(hash_at(m_learnt), m_learnt);
  }

  using Known = std::unordered_map<std::uint64_t, std::size_t>;
  std::size_t m_next = 0;
  std::size_t m_looks = 0;         ///< until it knows them
  std::size_t m_learnt = 0;        ///< the places before it are in `m_known`
  std::unique_ptr<Known> m_known;  ///< null: it knows none
};

}  // namespace trellis::Impl

#endif
