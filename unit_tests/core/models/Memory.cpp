// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

namespace trellis::model {

namespace {
constexpr Time apart = Time{1} << 40;  // between two stores, for those that come in between
}

void Knowledge::join(Knowledge const& other) {
  for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other.clock[k]);
  if (seen.size() < other.seen.size()) seen.resize(other.seen.size(), 0);
  for (std::size_t k = 0; k < other.seen.size(); ++k) seen[k] = std::max(seen[k], other.seen[k]);
}

void Memory::clear() {
  m_count = 0;
  m_stores = 1;
  m_seq_cst.clear();
}

int Memory::variable_at(void* address, int size) {
  for (std::size_t k = 0; k < m_count; ++k)
    if (m_variables[k].address == address) return static_cast<int>(k);
  if (m_count == m_variables.size()) m_variables.emplace_back();
  Variable& variable = m_variables[m_count];
  variable.address = address;
  variable.size = size;
  variable.count = 0;
  variable.accessed.fill(0);
  variable.written.fill(0);
  overwritten(static_cast<int>(m_count));
  return static_cast<int>(m_count++);
}

void Memory::overwritten(int number) {
  Variable& variable = this->variable(number);
  Time const last = variable.count == 0 ? 0 : variable.stores[variable.count - 1].time;
  variable.count = 0;
  if (variable.stores.empty()) variable.stores.resize(8);
  Store& store = variable.stores[variable.count++];
  store.time = last + apart;
  store.value = 0;
  std::memcpy(&store.value, variable.address, static_cast<std::size_t>(variable.size));
  store.number = 0;
  store.thread = -1;
  store.event = -1;
  store.is_followed = false;
  store.message.clear();
}

std::size_t Memory::first_readable(View const& view, int number, bool is_seq_cst) {
  auto const key = static_cast<std::size_t>(number);
  Variable const& variable = m_variables[key];
  Time floor = view.now.seen_of(key);
  if (is_seq_cst) floor = std::max(floor, m_seq_cst.seen_of(key));
  std::size_t first = variable.count - 1;
  while (first > 0 && variable.stores[first].time > floor) --first;
  return first;
}

void Memory::read(View& view, int number, std::size_t index, int order) {
  auto const key = static_cast<std::size_t>(number);
  Store const& store = m_variables[key].stores[index];
  view.now.see(key, store.time);
  (acquires(order) ? view.now : view.acquired).join(store.message);
  if (is_seq_cst(order)) m_seq_cst.see(key, store.time);
}

/// Makes room behind the store with this index.
std::size_t Memory::insert(int number, std::size_t behind, int thread, int event,
                           std::uint64_t value) {
  Variable& variable = this->variable(number);
  if (variable.count == variable.stores.size()) variable.stores.resize(2 * variable.count);
  std::size_t const index = behind + 1;
  Time const before = variable.stores[behind].time;
  Time const time = index == variable.count ? before + apart
                                            : before + (variable.stores[index].time - before) / 2;
  if (time == before) {
    std::cerr << "model: too many stores come in between two others\n";
    std::abort();
  }
  std::rotate(variable.stores.begin() + static_cast<std::ptrdiff_t>(index),
              variable.stores.begin() + static_cast<std::ptrdiff_t>(variable.count),
              variable.stores.begin() + static_cast<std::ptrdiff_t>(variable.count) + 1);
  ++variable.count;
  Store& store = variable.stores[index];
  store.time = time;
  store.value = value;
  store.number = m_stores++;
  store.thread = thread;
  store.event = event;
  store.is_followed = false;
  store.message.clear();
  write_through(variable);
  return index;
}

std::size_t Memory::write(View& view, int thread, int event, int number, std::size_t behind,
                          std::uint64_t value, int order) {
  auto const key = static_cast<std::size_t>(number);
  std::size_t const index = insert(number, behind, thread, event, value);
  Store& store = m_variables[key].stores[index];
  view.now.see(key, store.time);
  store.message = releases(order) ? view.now : view.released;
  store.message.see(key, store.time);
  if (is_seq_cst(order)) m_seq_cst.see(key, store.time);
  return index;
}

std::size_t Memory::modify(View& view, int thread, int event, int number, std::size_t read_from,
                           std::uint64_t value, int order) {
  auto const key = static_cast<std::size_t>(number);
  read(view, number, read_from, order);
  m_variables[key].stores[read_from].is_followed = true;
  std::size_t const index = write(view, thread, event, number, read_from, value, order);
  // A release sequence goes on: what came with the store that was read comes with this one, too.
  m_variables[key].stores[index].message.join(m_variables[key].stores[read_from].message);
  return index;
}

void Memory::fence(View& view, int order) {
  if (acquires(order)) view.now.join(view.acquired);
  if (is_seq_cst(order)) {
    Knowledge& all = m_seq_cst;
    if (all.seen.size() < view.now.seen.size()) all.seen.resize(view.now.seen.size(), 0);
    for (std::size_t k = 0; k < view.now.seen.size(); ++k)
      all.seen[k] = std::max(all.seen[k], view.now.seen[k]);
    for (std::size_t k = 0; k < all.seen.size(); ++k) view.now.see(k, all.seen[k]);
  }
  if (releases(order)) view.released = view.now;
}

/// Code that is not instrumented sees the last value.
void Memory::write_through(Variable const& variable) const {
  std::memcpy(variable.address, &variable.stores[variable.count - 1].value,
              static_cast<std::size_t>(variable.size));
}

}  // namespace trellis::model
