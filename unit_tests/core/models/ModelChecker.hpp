// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MODELCHECKER_HPP
#define TRELLIS_TEST_MODELCHECKER_HPP

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Runs a small program of several threads in every way that the memory model of C++ allows.
///
/// The program is plain C++: it starts std::threads and uses std::atomic, std::mutex and
/// std::condition_variable. Its source files are compiled with `-fsanitize=thread`, so the compiler
/// calls a function of the checker for each access to memory. The checker is linked in place of the
/// sanitizer. So a model runs the very code of the library, header or source file, with two seams
/// (TRELLIS_IMPL_MODEL). See Search for how the executions are enumerated, and Memory for what a
/// load may see.
namespace trellis::model {

/// What limits a search. One that ends within its bounds has seen every execution; else its report
/// says so.
struct Bounds {
  std::uint64_t executions = 20'000'000;
  int steps = 4000;     ///< of all threads, in one execution
  bool reduces = true;  ///< false: every interleaving is run, for tests of the checker
  /// False: an exchange that sets a flag waits until the flag is not set, so a spin lock is as a
  /// mutex is. That is the same for code that relies on a lock, and has fewer executions.
  bool spins = false;
  int preemptions = -1;  ///< of threads that could have gone on, in one execution; negative: any
};

struct Report {
  std::uint64_t executions = 0;
  bool has_ended = false;            ///< with no failure, and before the bound of `executions`
  bool is_complete = false;          ///< and no execution has been left out for its preemptions
  bool gives_up = false;             ///< a thread has gone on that had looked in vain, see Search
  int threads = 0;                   ///< at most, in one execution
  int steps = 0;                     ///< at most, in one execution
  std::set<std::uint64_t> outcomes;  ///< of executions that have ended, as `outcome` said
  std::string failure;  ///< what has gone wrong, and the steps that led to it; empty: nothing
};

/// Runs the program until an execution fails, or all have been seen. The program must do the same
/// in each run but for what threads read. It frees what it allocates when it likes: each execution
/// has memory of its own.
Report explore(std::function<void()> const& program, Bounds const& bounds = {});

/// By a program: ends the search with a failure unless `holds`.
void require(bool holds, std::string_view what);
/// By a program: what this execution has come to.
void outcome(std::uint64_t value);
/// The time in which there is an object in this memory: while there is a Lifetime. The checker
/// knows it of what is on the heap, and of the frame of a function. Static objects, and those of a
/// scope within a function, need one.
class Lifetime {
 public:
  Lifetime(void const volatile* object, std::size_t size);
  Lifetime(Lifetime const&) = delete;
  Lifetime& operator=(Lifetime const&) = delete;
  ~Lifetime();

 private:
  void const* const m_object;
  std::size_t const m_size;
};
/// An object of a scope, with its Lifetime.
template <class T>
class Scoped {
  alignas(T) std::byte m_storage[sizeof(T)];
  Lifetime m_lifetime{m_storage, sizeof(T)};

 public:
  Scoped() : object(*::new(m_storage) T()) {}
  Scoped(Scoped const&) = delete;
  Scoped& operator=(Scoped const&) = delete;
  ~Scoped() { object.~T(); }
  T& object;
};
/// By a program: what a trace calls an object in place of a number.
void name(void const volatile* object, std::string_view name);

/// A place in a source file that accesses an atomic variable, or is a fence.
struct Site {
  std::string file;
  int line = 0;
  std::string code;       ///< the statement that begins on this line
  std::string operation;  ///< "load", "store", "exchange", ...
  int order = 0;          ///< as the compiler numbers them, from 0 (relaxed) to 5 (seq_cst)

  friend auto operator<=>(Site const&, Site const&) = default;
};
[[nodiscard]] std::string_view order_name(int order);
/// Those that the last search has reached.
[[nodiscard]] std::vector<Site> reached_sites();

/// In place of an order: a store is not done, and of a read-modify-write only the load is.
constexpr int dropped = -1;

/// Weakens the order of the operations of a site, or drops them, as long as one is there.
class Mutation {
 public:
  Mutation(Site const& site, int to);
  Mutation(Mutation const&) = delete;
  Mutation& operator=(Mutation const&) = delete;
  ~Mutation();
};

}  // namespace trellis::model

#endif
