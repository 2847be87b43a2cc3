// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SEARCH_HPP
#define TRELLIS_TEST_SEARCH_HPP

#include "Fiber.hpp"
#include "Memory.hpp"
#include "ModelChecker.hpp"
#include "Shadow.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trellis::model {

/// What a thread does next, as far as other threads can tell.
struct Step {
  enum class Kind : std::uint8_t {
    begin,     ///< the first step of a thread
    load,      ///< also a compare-exchange that has failed
    store,     ///
    modify,    ///< a read-modify-write
    exchange,  ///< a compare-exchange that has not been executed yet
    fence,     ///
    lock,      ///< of a mutex
    try_lock,  ///
    unlock,    ///
    wait,      ///< gives the mutex back, and sleeps on a condition variable
    wake,      ///< the end of that: has the mutex again
    notify,    ///
    spawn,     ///< starts a thread
    join,      ///< waits for the end of one
  };
  Kind kind = Kind::begin;
  int order = 0;
  int failure_order = 0;  ///< of a compare-exchange; when it has failed, the other order
  int variable = -1;      ///< of an atomic operation
  int object = -1;        ///< a mutex, or a thread
  int condition = -1;     ///< variable
  bool all = false;       ///< waiters are notified
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  std::uint64_t (*change)(std::uint64_t before, std::uint64_t operand) = nullptr;
  void* (*function)(void*) = nullptr;  ///< of a thread
  void* argument = nullptr;
  char const* operation = "";
  void const* place = nullptr;  ///< in the program

  std::uint64_t result = 0;  ///< what was read
  bool succeeds = false;
  bool awaits = false;      ///< a read-modify-write that waits until the variable is 0
  bool has_failed = false;  ///< a load that might have been a read-modify-write
};

/// Enumerates the executions of a program.
///
/// SEARCH. Depth first, without states: each execution begins anew and repeats the decisions of the
/// one before, up to the last that has an alternative. A decision is which thread goes on, and then
/// which store its load reads, or where its store comes in the modification order. Threads are
/// fibers, and switch only before a step that other threads can see.
///
/// REDUCTION. It is dynamic partial-order reduction (Flanagan and Godefroid 2005) with sleep sets
/// (Godefroid 1996). A step has a label: what it reads, and where its store comes. A thread that is
/// tried at a node is tried with each label. Two labelled steps commute if they may be run in
/// either order, with these labels, and the executions are then the same. A load that reads an old
/// store commutes with a newer one. `differs(first, second)` holds of two steps unless they commute
/// with all labels that they may have in either order. (A load behind a store still has the labels
/// that it had before.) Where it holds, `turn_round` has the second step tried before the first. A
/// thread that has been tried sleeps, with the labels that it had, until a step differs from its
/// own. A store that a load has not had yet is a label that does not sleep.
///
/// WHY IT IS SOUND. Let `w` be steps that may follow at a node. A step of `w` is a first one if all
/// that come before it in `w` commute with it and do not make it possible. Claim: if no first step
/// of `w` sleeps at the node, the search behind it sees `w`, up to the order of steps that commute.
/// The proof is by induction over the size of this search. Let `t` be the first thread that is
/// tried.
/// - If its step is a first one of `w`, the claim holds of the rest of `w` behind it.
/// - If its step differs from none of `w`, it may come before `w`, and the claim holds behind it.
/// - Otherwise let `e` be the first step of `w` that differs from it, and `v` what comes before
///   `e`. By induction the search sees `t`, then `v`, then a step of the thread of `e`. (That may
///   have another label. If it waits for a lock, it comes behind what gives the lock back.) Nothing
///   in `v` orders the two, so `turn_round` is called. It looks at the part of `v` that `e` needs
///   in any case, and wants a first step of that. If none can run at the node, all threads are
///   tried. Such a step is a first one of `w`, so the claim follows as above, but for two cases.
///   The thread of `e` may be tried while `e` reads a store of `v`. Then this thread takes the
///   place of `t`, and that store, or a step before it, takes the place of `e`. This ends, as `w`
///   is finite. And a sequentially consistent `e` may differ from a step of `v` that it does not
///   need, so it is no first one. Where it sleeps at the node, all threads are tried.
/// - A step that is blocked at a lock may differ from steps in between, and yet comes before none
///   of them. So it is turned round with the last step that took the lock as well.
///
/// LOOPS THAT WAIT. A thread that has gone twice round a loop of loads, in which it yields, and has
/// seen the same stores, has looked in vain. It goes round `most_rounds` times more at once, with
/// the same stores, which are no steps. If it is in the loop then, it ends there. What it would
/// find in a later round it finds in the second round of another execution. If there is nothing
/// that it could find, and no thread goes on, that is a deadlock. If it has left the loop, as it
/// counts its rounds, it goes on. So a thread that gives up is seen to find something in its first
/// rounds, and to give up. It is not seen to find something in between.
///
/// BOUNDS. Where the number of preemptions is bounded, decisions that would be one too many are
/// left out. An execution may have an equal one with fewer of them that has been left out as well.
/// So such a search finds errors, and proves nothing.
class Search {
 public:
  static Search& instance();

  Report run(std::function<void()> const& program, Bounds const& bounds);

  // --- For the program, on its fibers.
  [[nodiscard]] bool is_running() const { return m_current != nullptr && !m_is_inside; }
  /// Does the step when its turn comes. `step` has its result then.
  void perform(Step& step);
  /// `place`: where it has been seen, or null.
  [[noreturn]] void fail(std::string const& what, void const* place = nullptr);
  void outcome(std::uint64_t value) { m_outcome = value; }
  [[nodiscard]] int variable_at(void* address, int size);
  /// `ends`: nothing comes after it.
  void plain_access(void const* address, std::size_t size, bool writes, void const* place,
                    bool ends = false);
  /// An object begins, or ends, in this memory.
  void begins(void const* address, std::size_t size, void const* place);
  void ends(void const* address, std::size_t size, void const* place);
  /// The thread has entered a function, whose frame ends at this address.
  void enter(void const* low) {
    Thread& here = *m_current;
    if (here.depth == most_frames) fail("a thread is in too many functions");
    here.frames[here.depth++] = {static_cast<char const*>(low),
                                 here.view.now.clock[place_of_current()]};
  }
  /// It leaves the function.
  void leave_function(void const* place) {
    Thread& here = *m_current;
    if (here.depth > 0) --here.depth;
    char const* const low = here.depth == 0 ? nullptr : here.frames[here.depth - 1].low;
    if (here.lowest_seen != nullptr && (low == nullptr || here.lowest_seen < low))
      frame_ends(low, place);
  }
  /// The thread waits for others to do something.
  void relax();
  int mutex_at(void const* address);
  int condition_at(void const* address);
  int start_thread(void* (*function)(void*), void* argument, void const* place);
  [[nodiscard]] int current() const;
  void name(void const volatile* object, std::string_view text);
  /// Memory of this execution.
  void* allocate(std::size_t bytes, std::size_t alignment, void const* place);
  /// False: it is not of this execution.
  bool free(void* memory, void const* place);
  [[nodiscard]] bool spins() const { return m_bounds.spins; }
  std::uint64_t now() { return m_time += 1; }
  void reached(void const* place, char const* operation, int order);
  /// The order after a mutation.
  [[nodiscard]] int order_at(void const* place, int order) const {
    if (m_weakened.empty()) return order;
    auto const found = m_weakened.find(place);
    return found != m_weakened.end() && found->second.from == order ? found->second.to : order;
  }

  // --- For mutations.
  struct Reached {
    char const* operation;
    int order;
    std::uint64_t search = 0;  ///< the last one that has reached it
    Site site;                 ///< when it has been looked up
    bool is_known = false;
  };
  [[nodiscard]] std::unordered_map<void const*, Reached>& reached_places() { return m_reached; }
  void look_up_places();
  /// Of searches so far.
  [[nodiscard]] std::uint64_t number() const { return m_number; }
  struct Weakened {
    int from;
    int to;
  };
  std::unordered_map<void const*, Weakened>& weakened() { return m_weakened; }

  /// As long as one is there the thread runs code of the checker.
  class Inside {
   public:
    explicit Inside(Search& search) : m_search(search), m_was(search.m_is_inside) {
      search.m_is_inside = true;
    }
    Inside(Inside const&) = delete;
    Inside& operator=(Inside const&) = delete;
    ~Inside() { m_search.m_is_inside = m_was; }

   private:
    Search& m_search;
    bool const m_was;
  };

 private:
  static constexpr std::size_t stack_size = std::size_t{1} << 17;
  static constexpr std::size_t guard_size = std::size_t{1} << 14;  ///< at its end
  static constexpr std::size_t heap_size = std::size_t{1} << 21;
  static constexpr std::size_t most_frames = 128;
  static constexpr int most_rounds = 1000;   ///< in vain; a loop that has more has no end
  static constexpr int most_steps = 60'000;  ///< that a Clock can number

  using Clock = std::array<std::uint16_t, most_threads>;  ///< numbers of steps of the execution

  /// What a loop of loads has seen.
  struct Look {
    void const* place;  ///< null: the thread has said that it waits
    int variable;
    Time time;
    friend bool operator==(Look const&, Look const&) = default;
  };

  /// Of a function, or some, on a stack.
  struct Frame {
    char const* low;       ///< where it ends
    std::uint32_t begins;  ///< by the thread's own clock
  };

  struct Thread {
    Fiber fiber;
    Step* next = nullptr;  ///< what it is about to do
    Step first;
    bool is_over = false;
    bool has_looked_in_vain = false;
    bool looks_on = false;      ///< it goes round a loop, of which `looks` is one round
    int rounds = 0;             ///< so far
    std::size_t next_look = 0;  ///< of the round
    bool is_notified = false;   ///< while it sleeps on a condition variable
    int notified_by = -1;       ///< an event
    void* (*function)(void*) = nullptr;
    void* argument = nullptr;
    View view;
    Clock before{};  ///< steps of all threads that its next one cannot come before
    std::vector<Look> looks;
    std::array<Frame, most_frames> frames;
    std::size_t depth = 0;  ///< frames that there are
    /// Where others have been, or a lock is, on its stack.
    std::vector<char const*> seen_by_others;
    char const* lowest_seen = nullptr;  ///< of these; null: there are none
  };

  struct Mutex {
    void const* address = nullptr;
    int owner = -1;
    Knowledge message;
    Clock before{};
  };
  struct Condition {
    void const* address = nullptr;
    std::vector<int> waiters;
  };

  /// A decision.
  struct Node {
    int thread = 0;
    int option = 0;
    int options = 0;            ///< 0: not known yet
    std::uint32_t may_run = 0;  ///< of the threads, as bits: those that are not blocked
    std::uint32_t useful = 0;   ///< and those of them that do not sleep
    std::uint32_t wanted = 0;   ///< to be tried
    std::uint32_t tried = 0;
    std::uint32_t sleeping = 0;
    std::array<std::uint32_t, most_threads> asleep_since{};  ///< stores that there were then
    std::uint32_t stores = 0;
    int preemptions = 0;
  };

  /// A step that has been executed.
  struct Event {
    int thread = 0;
    Step step;
    Clock before{};
    int from = -1;            ///< whose store has been read
    Time time = 0;            ///< of the store that was read or written
    std::uint32_t age = 0;    ///< of a load: newer stores that it has not read
    std::uint32_t newer = 0;  ///< of a store: those behind it in the modification order
    std::uint64_t value = 0;  ///< written
  };

  struct Option {
    std::size_t store = 0;  ///< its index
    bool succeeds = true;
  };

  Search();
  /// From here on the compiler and the library call this one.
  void serve();
  void begin_execution();
  [[nodiscard]] bool next_execution();
  [[noreturn]] void leave();
  static void crash(int signal);
  static void run_thread();
  static void run_main();

  Thread& step_on();
  void make_node();
  void execute(Thread& thread, Node& node);
  void execute_atomic(Thread& thread, Step& step, Event& event, Option option);
  [[nodiscard]] int execute_other(Thread& thread, Step& step, Event& event, int option);
  void order_behind(Event& event, Thread const& thread);
  void turn_round(std::size_t index, Event const& event, Clock needed);
  [[nodiscard]] std::size_t place_of_current() const {
    return static_cast<std::size_t>(m_current - m_threads.data());
  }
  /// The thread whose stack it is on; or null.
  [[nodiscard]] Thread* thread_at(void const* address);
  /// The thread uses what may be on the stack of another one.
  void look_at_stack(int thread, void const* address, void const* place);
  void use_lock(int thread, void const* address, void const* place);
  void look_again_at(Thread& owner, void const* address);
  void frame_ends(char const* low, void const* place);
  void locks_end(char const* begin, char const* end, void const* place);
  [[nodiscard]] bool is_blocked(int thread);
  [[nodiscard]] bool may_look_again();
  [[nodiscard]] bool looks_the_same(Thread& thread, Step& step);
  static void has_looked(Thread& thread);
  void leave_loop(Thread& thread);
  /// Fills `m_options`. `since`: only stores from this number on are of interest to a load.
  void find_options(int thread, Step const& step, std::uint32_t since);
  [[nodiscard]] static bool differs(Step const& first, Step const& second);
  [[nodiscard]] static bool keeps_order(Step const& first, Step const& second);
  [[nodiscard]] static bool is_load(Step const& step) { return step.kind == Step::Kind::load; }

  [[nodiscard]] std::string trace(std::string const& what);
  [[nodiscard]] std::string describe(Event const& event);
  [[nodiscard]] std::string name_of(void const* address, int number) const;

  std::uint64_t m_number = 0;
  Bounds m_bounds;
  std::function<void()> const* m_program = nullptr;
  std::string m_failure;
  void const* m_failure_place = nullptr;
  bool m_is_inside = false;
  bool m_is_warm = false;  ///< static variables have been initialised
  std::optional<std::uint64_t> m_outcome;
  bool m_is_cut = false;    ///< the execution has reached a bound
  bool m_gives_up = false;  ///< in some execution a thread has

  std::vector<Node> m_nodes;
  std::size_t m_depth = 0;  ///< nodes of this execution so far
  std::vector<Event> m_events;
  std::vector<Option> m_options;  ///< scratch of `find_options`
  std::uint32_t m_sleeping = 0;   ///< at the next node
  std::array<std::uint32_t, most_threads> m_asleep_since{};

  Fiber m_outside;
  std::array<Thread, most_threads> m_threads;
  int m_thread_count = 0;
  Thread* m_current = nullptr;
  Memory m_memory;
  Shadow m_shadow;
  std::vector<Mutex> m_mutexes;
  std::size_t m_mutex_count = 0;
  std::vector<Condition> m_conditions;
  std::size_t m_condition_count = 0;
  char* m_region = nullptr;  ///< the heap, and behind it the stacks
  std::size_t m_used = 0;    ///< bytes of the heap
  std::uint64_t m_time = 0;
  std::vector<std::pair<void const volatile*, std::string>> m_names;

  std::unordered_map<void const*, Reached> m_reached;
  std::unordered_map<void const*, Weakened> m_weakened;
};

}  // namespace trellis::model

#endif
