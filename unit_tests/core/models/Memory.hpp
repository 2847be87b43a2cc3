// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MEMORY_HPP
#define TRELLIS_TEST_MEMORY_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trellis::model {

constexpr int most_threads = 6;

/// The place of a store in the modification order of its variable.
using Time = std::int64_t;

/// What a thread knows: how far it is after each thread, by happens-before, and for each variable
/// the oldest store that it may still read.
struct Knowledge {
  std::array<std::uint32_t, most_threads> clock{};
  std::vector<Time> seen;  ///< by variable

  void clear() {
    clock.fill(0);
    seen.clear();
  }
  void join(Knowledge const& other);
  [[nodiscard]] Time seen_of(std::size_t variable) const {
    return variable < seen.size() ? seen[variable] : 0;
  }
  void see(std::size_t variable, Time time) {
    if (variable >= seen.size()) seen.resize(variable + 1, 0);
    if (seen[variable] < time) seen[variable] = time;
  }
};

/// One thread's part of the memory model.
struct View {
  Knowledge now;
  Knowledge released;  ///< at the last release fence
  Knowledge acquired;  ///< what relaxed loads have read, for the next acquire fence
  void clear() {
    now.clear();
    released.clear();
    acquired.clear();
  }
};

struct Store {
  Time time = 0;
  std::uint64_t value = 0;
  std::uint32_t number = 0;  ///< in the order of execution
  int thread = 0;
  int event = -1;            ///< of the execution, for traces and edges; -1: it was there before
  bool is_followed = false;  ///< a read-modify-write has read it: nothing comes in between
  Knowledge message;         ///< what a thread that acquires it gets to know
};

struct Variable {
  void* address = nullptr;
  int size = 0;
  std::vector<Store> stores;                           ///< in modification order
  std::size_t count = 0;                               ///< of the stores that are in use
  std::array<std::uint32_t, most_threads> accessed{};  ///< clock of each thread's last access
  std::array<std::uint32_t, most_threads> written{};
};

/// The atomic variables of one execution.
///
/// MEMORY MODEL. That of C++20 as an abstract machine, which reads and writes by views. Each
/// variable has a modification order. A load reads any store that is not older than what its thread
/// has seen there; a store takes any later place in the order, and a read-modify-write the place
/// behind the store that it reads. A thread has seen its own accesses, and what came with a store
/// that it has acquired. Sequentially consistent operations take effect in the order in which they
/// are executed, and what they, or threads with such a fence, have seen, later ones see as well.
///
/// WHAT IT LEAVES OUT. A load never reads a store that is executed after it, so there is no load
/// buffering. Sequentially consistent operations agree with the order of execution, so `S`, program
/// order and reads-from have no cycle together. Weak compare-exchanges do not fail without reason,
/// and condition variables do not wake without one. Consume is acquire.
class Memory {
 public:
  void clear();
  /// The variable at this address. It holds what the memory has when it is first accessed.
  int variable_at(void* address, int size);
  /// A plain write has made the variable anew.
  void overwritten(int variable);
  /// What is at its address is another one from here on.
  void forget(int number) { variable(number).address = nullptr; }
  Variable& variable(int number) { return m_variables[static_cast<std::size_t>(number)]; }
  /// The number of the next store.
  [[nodiscard]] std::uint32_t next_store() const { return m_stores; }

  /// The oldest store, by its index, that the thread may read; a later store comes behind it.
  [[nodiscard]] std::size_t first_readable(View const& view, int variable, bool is_seq_cst);
  /// The load of the store with this index.
  void read(View& view, int variable, std::size_t store, int order);
  /// A store behind the one with this index. Returns where it is.
  std::size_t write(View& view, int thread, int event, int variable, std::size_t behind,
                    std::uint64_t value, int order);
  /// A read-modify-write of the store with this index.
  std::size_t modify(View& view, int thread, int event, int variable, std::size_t store,
                     std::uint64_t value, int order);
  void fence(View& view, int order);

  [[nodiscard]] static bool acquires(int order) { return order == 1 || order == 2 || order >= 4; }
  [[nodiscard]] static bool releases(int order) { return order >= 3; }
  [[nodiscard]] static bool is_seq_cst(int order) { return order == 5; }

 private:
  std::size_t insert(int variable, std::size_t behind, int thread, int event, std::uint64_t value);
  void write_through(Variable const& variable) const;

  std::vector<Variable> m_variables;
  std::size_t m_count = 0;
  std::uint32_t m_stores = 1;
  Knowledge m_seq_cst;  ///< its `seen`: of the sequentially consistent operations so far
};

}  // namespace trellis::model

#endif
