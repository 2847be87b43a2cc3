// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RESERVE_HPP
#define TRELLIS_IMPL_RESERVE_HPP

#include <base/Trellis_ReserveMemory.hpp>

#include <functional>
#include <list>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

/// Containers of the standard library with memory from the reserve.
namespace trellis::Impl {

template <class T>
using Vector = std::vector<T, FromReserve<T>>;
template <class T>
using List = std::list<T, FromReserve<T>>;
template <class Key, class T, class Less = std::less<Key>>
using Map = std::map<Key, T, Less, FromReserve<std::pair<Key const, T>>>;
template <class Key, class T>
using MultiMap = std::multimap<Key, T, std::less<Key>, FromReserve<std::pair<Key const, T>>>;
template <class Key, class T>
using HashMap = std::unordered_map<Key, T, std::hash<Key>, std::equal_to<Key>,
                                   FromReserve<std::pair<Key const, T>>>;
template <class Key>
using HashSet = std::unordered_set<Key, std::hash<Key>, std::equal_to<Key>, FromReserve<Key>>;

}  // namespace trellis::Impl

#endif
