// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Search.hpp"

#include "Lines.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sys/mman.h>
#include <utility>

extern "C" {
extern char __data_start;  // where the linker has put static variables
extern char _end;
}

namespace trellis::model {

using Kind = Step::Kind;

namespace {

constexpr std::uint32_t bit(int thread) {
  return std::uint32_t{1} << static_cast<unsigned>(thread);
}
constexpr std::size_t place_of(int number) {
  return static_cast<std::size_t>(number);
}

bool is_atomic(Kind kind) {
  return kind == Kind::load || kind == Kind::store || kind == Kind::modify ||
         kind == Kind::exchange;
}
bool takes_mutex(Kind kind) {
  return kind == Kind::lock || kind == Kind::try_lock || kind == Kind::wake;
}
bool gives_mutex(Kind kind) {
  return kind == Kind::unlock || kind == Kind::wait;
}
/// Of a compare-exchange, if it is so in either case: whether it fails may depend on it.
bool is_seq_cst(Step const& step) {
  return Memory::is_seq_cst(step.order) || Memory::is_seq_cst(step.failure_order);
}

/// Of two steps on one variable: does what either may see depend on which is executed first? So it
/// is when one is sequentially consistent, but for loads that are not.
bool are_in_order(Step const& one, Step const& other) {
  auto const counts = [](Step const& step) { return step.kind != Kind::load || is_seq_cst(step); };
  return (is_seq_cst(one) || is_seq_cst(other)) && counts(one) && counts(other);
}

}  // namespace

#if defined(__x86_64__)
asm(R"(
  .text
  .globl trellis_model_switch
  .type trellis_model_switch, @function
trellis_model_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size trellis_model_switch, . - trellis_model_switch
)");
#endif

Search& Search::instance() {
  static Search search;
  return search;
}

Search::Search() {
  std::size_t const size = heap_size + most_threads * stack_size;
  m_region = static_cast<char*>(
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (std::size_t k = 0; k < most_threads; ++k)  // where a stack would grow into what is below it
    mprotect(m_region + heap_size + k * stack_size, guard_size, PROT_NONE);
  m_shadow.watch(m_region, size, &__data_start, static_cast<std::size_t>(&_end - &__data_start));
  serve();
  // A crash of the program is a failure. Its stack may be what it has used up.
  static std::array<char, std::size_t{1} << 16> stack_of_handler;
  stack_t stack{};
  stack.ss_sp = stack_of_handler.data();
  stack.ss_size = stack_of_handler.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = &crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
}

void Search::crash(int signal) {
  Search& search = instance();
  if (search.m_current != nullptr) search.fail("a crash: memory is used that is not there");
  std::signal(signal, SIG_DFL);  // it comes again
}

// --- executions ----------------------------------------------------------------------------------

Report Search::run(std::function<void()> const& program, Bounds const& bounds) {
  Report report;
  ++m_number;
  m_bounds = bounds;
  m_program = &program;
  m_failure.clear();
  m_failure_place = nullptr;
  m_nodes.clear();
  if (bounds.steps > most_steps) {
    report.failure = "an execution cannot have so many steps";
    return report;
  }
  m_gives_up = false;
  m_is_warm = false;  // the first execution initialises static variables
  bool was_cut = false;
  do {
    m_is_inside = true;
    begin_execution();
    m_current = m_threads.data();
    m_outside.switch_to(m_current->fiber);
    m_current = nullptr;
    m_is_inside = false;
    if (!m_is_warm && m_failure.empty()) {
      m_is_warm = true;
      m_nodes.clear();
      continue;
    }
    ++report.executions;
    if (m_outcome) report.outcomes.insert(*m_outcome);
    was_cut = was_cut || m_is_cut;
    report.threads = std::max(report.threads, m_thread_count);
    report.steps = std::max(report.steps, static_cast<int>(m_events.size()));
    report.gives_up = m_gives_up;
    if (!m_failure.empty()) {
      report.failure = trace(m_failure);
      return report;
    }
    if (!next_execution()) {
      report.has_ended = true;
      report.is_complete = !was_cut;
      return report;
    }
  } while (report.executions < bounds.executions);
  return report;
}

void Search::begin_execution() {
  m_depth = 0;
  m_events.clear();
  m_sleeping = 0;
  m_outcome.reset();
  m_is_cut = false;
  m_memory.clear();
  m_shadow.clear();
  m_mutex_count = m_condition_count = 0;
  m_used = 0;
  m_time = 0;
  m_names.clear();
  m_thread_count = 1;
  for (Thread& thread : m_threads) {
    thread.next = nullptr;
    thread.is_over = thread.is_notified = thread.has_looked_in_vain = thread.looks_on = false;
    thread.view.clear();
    thread.before.fill(0);
    thread.looks.clear();
    thread.depth = 0;
    thread.seen_by_others.clear();
    thread.lowest_seen = nullptr;
  }
  Thread& main = m_threads[0];
  main.view.now.clock[0] = 1;
  main.fiber.begin(m_region + heap_size, stack_size, &run_main);
}

/// Goes back to the last decision that has an alternative.
bool Search::next_execution() {
  for (; !m_nodes.empty(); m_nodes.pop_back()) {
    Node& node = m_nodes.back();
    if (++node.option < node.options) return true;
    node.tried |= bit(node.thread);
    std::uint32_t const left = node.wanted & node.useful & ~node.tried;
    if (left == 0) continue;
    node.thread = __builtin_ctz(left);
    node.option = node.options = 0;
    return true;
  }
  return false;
}

void Search::leave() {
  Thread& here = *m_current;
  here.fiber.switch_to(m_outside);
  std::abort();
}

void Search::fail(std::string const& what, void const* place) {
  m_is_inside = true;
  m_failure = what;
  m_failure_place = place;
  leave();
}

void Search::run_main() {
  Search& search = instance();
  search.m_is_inside = false;
  (*search.m_program)();
  search.m_is_inside = true;
  Thread& here = *search.m_current;
  here.is_over = true;
  Thread& next = search.step_on();
  search.m_current = &next;
  here.fiber.switch_to(next.fiber);
  std::abort();
}

void Search::run_thread() {
  Search& search = instance();
  Thread& here = *search.m_current;
  search.m_is_inside = false;
  here.function(here.argument);
  search.m_is_inside = true;
  here.is_over = true;
  Thread& next = search.step_on();
  search.m_current = &next;
  here.fiber.switch_to(next.fiber);
  std::abort();
}

// --- steps ---------------------------------------------------------------------------------------

void Search::perform(Step& step) {
  Inside const inside(*this);
  Thread& here = *m_current;
  if (here.looks_on && looks_the_same(here, step)) return;
  here.next = &step;
  Thread& next = step_on();
  if (&next == &here) return;
  m_current = &next;
  here.fiber.switch_to(next.fiber);
}

/// Executes the next step. Returns its thread, which goes on with the program.
Search::Thread& Search::step_on() {
  if (m_depth == m_nodes.size()) make_node();
  Node& node = m_nodes[m_depth];
  Thread& thread = m_threads[place_of(node.thread)];
  if (thread.next == nullptr) {
    std::cerr << "model: the program does something else when it is repeated\n";
    std::abort();
  }
  execute(thread, node);
  ++m_depth;
  return thread;
}

bool Search::is_blocked(int number) {
  Thread const& thread = m_threads[place_of(number)];
  Step const& step = *thread.next;
  if (thread.has_looked_in_vain) return true;
  switch (step.kind) {
    case Kind::lock:
      return m_mutexes[place_of(step.object)].owner >= 0;
    case Kind::wake:
      return !thread.is_notified || m_mutexes[place_of(step.object)].owner >= 0;
    case Kind::join:
      return !m_threads[place_of(step.object)].is_over;
    case Kind::modify: {
      Variable const& variable = m_memory.variable(step.variable);
      return step.awaits && variable.stores[variable.count - 1].value != 0;
    }
    default:
      return false;
  }
}

void Search::make_node() {
  if (m_nodes.size() >= place_of(m_bounds.steps)) {
    fail("an execution does not end within " + std::to_string(m_bounds.steps) + " steps");
  }
  Node node;
  bool all_over = true;
  for (int k = 0; k < m_thread_count; ++k) {
    if (m_threads[place_of(k)].next == nullptr) continue;
    all_over = false;
    if (!is_blocked(k)) node.may_run |= bit(k);
  }
  if (all_over) leave();
  if (node.may_run == 0) {
    if (may_look_again()) leave();  // then it finds what it finds at once in another execution
    fail("no thread can go on");
  }
  node.stores = m_memory.next_store();
  node.sleeping = m_sleeping & node.may_run;
  node.asleep_since = m_asleep_since;
  for (int k = 0; k < m_thread_count; ++k) {
    if ((node.may_run & bit(k)) == 0) continue;
    bool is_useful = (node.sleeping & bit(k)) == 0;
    if (!is_useful && is_load(*m_threads[place_of(k)].next)) {
      find_options(k, *m_threads[place_of(k)].next, node.asleep_since[place_of(k)]);
      is_useful = !m_options.empty();
    }
    if (is_useful) node.useful |= bit(k);
  }
  int const before = m_events.empty() ? 0 : m_events.back().thread;
  int const preemptions = m_nodes.empty() ? 0 : m_nodes.back().preemptions;
  node.preemptions = preemptions;
  if (m_bounds.preemptions >= 0 && preemptions >= m_bounds.preemptions &&
      (node.may_run & bit(before)) != 0) {
    if ((node.useful & ~bit(before)) != 0) m_is_cut = true;
    node.useful &= bit(before);
  }
  if (node.useful == 0) leave();  // what comes now has been run in another order
  node.thread = (node.useful & bit(before)) != 0 ? before : __builtin_ctz(node.useful);
  node.wanted = m_bounds.reduces ? bit(node.thread) : node.useful;
  m_nodes.push_back(node);
}

void Search::execute(Thread& thread, Node& node) {
  Step& step = *thread.next;
  int const number = node.thread;
  bool const sleeps = (node.sleeping & bit(number)) != 0;
  if (m_bounds.preemptions >= 0) {
    int const before = m_events.empty() ? 0 : m_events.back().thread;
    int const preemptions = m_depth == 0 ? 0 : m_nodes[m_depth - 1].preemptions;
    node.preemptions =
        preemptions + (before != number && (node.may_run & bit(before)) != 0 ? 1 : 0);
  }
  Event event;
  event.thread = number;
  event.before = thread.before;
  int const index = static_cast<int>(m_events.size());
  if (is_atomic(step.kind)) {
    find_options(number, step, sleeps ? node.asleep_since[place_of(number)] : 0);
    node.options = static_cast<int>(m_options.size());
    execute_atomic(thread, step, event, m_options[place_of(node.option)]);
  } else {
    node.options = execute_other(thread, step, event, node.option);
  }
  event.step = step;
  order_behind(event, thread);
  event.before[place_of(number)] = static_cast<std::uint16_t>(index + 1);
  thread.before = event.before;
  thread.next = nullptr;
  m_events.push_back(event);
  switch (event.step.kind) {
    case Kind::begin:
    case Kind::load:
      break;
    default:
      thread.looks.clear();
  }
  ++thread.view.now.clock[place_of(number)];
  if (gives_mutex(event.step.kind)) m_mutexes[place_of(event.step.object)].before = event.before;
  if (event.step.kind == Kind::notify)
    for (Thread& other : m_threads)
      if (other.is_notified && other.notified_by < 0) other.notified_by = index;
  if (event.step.kind == Kind::spawn) m_threads[place_of(event.step.object)].before = event.before;

  std::uint32_t const explored = m_bounds.reduces ? (node.sleeping | node.tried) : 0;
  m_sleeping = 0;
  for (int k = 0; k < m_thread_count; ++k) {
    Thread const& other = m_threads[place_of(k)];
    if (k == number || other.next == nullptr) continue;
    if ((explored & bit(k)) == 0) continue;
    // What it does has been tried, but for a load of what has just been stored.
    bool const only_new = is_load(*other.next) && is_atomic(event.step.kind) &&
                          !are_in_order(*other.next, event.step);
    if (differs(*other.next, event.step) && !only_new) continue;
    m_sleeping |= bit(k);
    m_asleep_since[place_of(k)] =
        (node.tried & bit(k)) != 0 ? node.stores : node.asleep_since[place_of(k)];
  }
}

void Search::execute_atomic(Thread& thread, Step& step, Event& event, Option option) {
  int const number = event.thread;
  int const index = static_cast<int>(m_events.size());
  Variable& variable = m_memory.variable(step.variable);
  auto const clock = place_of(number);
  bool const writes = step.kind != Kind::load && option.succeeds;
  look_at_stack(number, variable.address, step.place);
  if (m_shadow.look(variable.address, place_of(variable.size), writes, number, thread.view.now) !=
      Shadow::Finding::none) {
    fail("a data race, or a use of freed memory, by " + name_of(nullptr, number), step.place);
  }
  if (step.kind != Kind::store) {
    Store const& store = variable.stores[option.store];
    step.result = store.value;
    event.time = store.time;
    event.age = static_cast<std::uint32_t>(variable.count - 1 - option.store);
    event.from = store.event;
  }
  std::size_t at = option.store;
  switch (step.kind) {
    case Kind::store:
      at = m_memory.write(thread.view, number, index, step.variable, option.store, step.operand,
                          step.order);
      break;
    case Kind::modify:
      at = m_memory.modify(thread.view, number, index, step.variable, option.store,
                           step.change(step.result, step.operand), step.order);
      break;
    case Kind::exchange:
      step.succeeds = option.succeeds;
      if (option.succeeds) {
        step.kind = Kind::modify;
        at = m_memory.modify(thread.view, number, index, step.variable, option.store, step.operand,
                             step.order);
      } else {
        step.kind = Kind::load;
        step.has_failed = true;
        std::swap(step.order, step.failure_order);
        m_memory.read(thread.view, step.variable, option.store, step.order);
      }
      break;
    default:
      m_memory.read(thread.view, step.variable, option.store, step.order);
  }
  if (writes) {
    event.time = variable.stores[at].time;
    event.value = variable.stores[at].value;
    event.newer = static_cast<std::uint32_t>(variable.count - 1 - at);
    variable.written[clock] = thread.view.now.clock[clock];
  } else {
    thread.looks.push_back({step.place, step.variable, event.time});
  }
  variable.accessed[clock] = thread.view.now.clock[clock];
}

/// Returns in how many ways the step may end.
int Search::execute_other(Thread& thread, Step& step, Event& event, int option) {
  auto const join = [&](Clock const& before) {
    for (std::size_t t = 0; t < before.size(); ++t)
      event.before[t] = std::max(event.before[t], before[t]);
  };
  if (step.object >= 0 && (takes_mutex(step.kind) || gives_mutex(step.kind)))
    use_lock(event.thread, m_mutexes[place_of(step.object)].address, step.place);
  if (step.condition >= 0 && step.kind != Kind::wake)
    use_lock(event.thread, m_conditions[place_of(step.condition)].address, step.place);
  switch (step.kind) {
    case Kind::fence:
      m_memory.fence(thread.view, step.order);
      return 1;
    case Kind::try_lock:
      if (m_mutexes[place_of(step.object)].owner >= 0) return 1;
      [[fallthrough]];
    case Kind::lock:
    case Kind::wake: {
      Mutex& mutex = m_mutexes[place_of(step.object)];
      mutex.owner = event.thread;
      thread.view.now.join(mutex.message);
      join(mutex.before);
      step.succeeds = true;
      if (step.kind == Kind::wake) join(m_events[place_of(thread.notified_by)].before);
      return 1;
    }
    case Kind::wait:
      m_conditions[place_of(step.condition)].waiters.push_back(event.thread);
      thread.is_notified = false;
      thread.notified_by = -1;
      [[fallthrough]];
    case Kind::unlock: {
      Mutex& mutex = m_mutexes[place_of(step.object)];
      mutex.owner = -1;
      mutex.message = thread.view.now;
      return 1;
    }
    case Kind::notify: {
      Condition& condition = m_conditions[place_of(step.condition)];
      if (condition.waiters.empty()) return 1;
      if (step.all) {
        for (int const waiter : condition.waiters) m_threads[place_of(waiter)].is_notified = true;
        condition.waiters.clear();
        return 1;
      }
      int const ways = static_cast<int>(condition.waiters.size());
      m_threads[place_of(condition.waiters[place_of(option)])].is_notified = true;
      condition.waiters.erase(condition.waiters.begin() + option);
      return ways;
    }
    case Kind::spawn: {
      int const number = m_thread_count++;
      step.object = number;
      Thread& other = m_threads[place_of(number)];
      other.function = step.function;
      other.argument = step.argument;
      other.view.now = thread.view.now;
      other.view.now.clock[place_of(number)] = 1;
      other.first = Step();
      other.first.place = step.place;
      other.next = &other.first;
      other.fiber.begin(m_region + heap_size + place_of(number) * stack_size, stack_size,
                        &run_thread);
      return 1;
    }
    case Kind::join: {
      Thread const& other = m_threads[place_of(step.object)];
      thread.view.now.join(other.view.now);
      join(other.before);
      return 1;
    }
    default:
      return 1;
  }
}

// --- what is tried -------------------------------------------------------------------------------

/// Does the first step, of another thread, take the lock that the second one takes?
static bool takes_the_same(Step const& first, Step const& second) {
  if (second.awaits)
    return is_atomic(first.kind) && first.kind != Kind::load && first.kind != Kind::store &&
           first.variable == second.variable && !first.has_failed;
  bool const takes = takes_mutex(first.kind) && (first.kind != Kind::try_lock || first.succeeds);
  return takes && first.object >= 0 && first.object == second.object;
}

/// Notes what the step, which is the last one of the execution, comes after. Where it could come
/// before another step, and that makes a difference, that is to be tried.
void Search::order_behind(Event& event, Thread const& thread) {
  auto const join = [](Clock& clock, Clock const& before) {
    for (std::size_t t = 0; t < clock.size(); ++t) clock[t] = std::max(clock[t], before[t]);
  };
  Clock known = thread.before;  // what the step comes after anyway
  if (event.step.kind == Kind::wake) join(known, m_events[place_of(thread.notified_by)].before);
  if (event.step.kind == Kind::join) known = event.before;
  Clock const needed = known;
  if (event.from >= 0) {
    Event const& written = m_events[place_of(event.from)];
    join(event.before, written.before);
    Clock before = written.before;
    before[place_of(written.thread)] = static_cast<std::uint16_t>(event.from);
    if (!event.step.awaits) join(known, before);
  }
  // A step that takes a lock could have come before the last one that took it, whatever has come
  // between the two: until the lock is given back the step is blocked, and comes before nothing.
  bool is_blocked_by_takes =
      event.step.awaits || event.step.kind == Kind::lock || event.step.kind == Kind::wake;
  for (std::size_t k = m_events.size(); k-- > 0;) {
    Event const& other = m_events[k];
    if (other.thread == event.thread) continue;
    if (event.step.awaits && other.step.kind == Kind::store) {  // without it the step is blocked
      if (keeps_order(other.step, event.step)) join(event.before, other.before);
      continue;
    }
    bool const is_last_take = is_blocked_by_takes && takes_the_same(other.step, event.step);
    if (is_last_take) is_blocked_by_takes = false;
    if (m_bounds.reduces &&
        ((k >= known[place_of(other.thread)] && differs(other.step, event.step)) ||
         (is_last_take && k >= needed[place_of(other.thread)])))
      turn_round(k, event, needed);
    if (!keeps_order(other.step, event.step)) continue;
    join(known, other.before);
    join(event.before, other.before);
  }
}

/// The step is to be run before the one with this index, behind those in between that it needs: one
/// of these that no other one of them comes before, or the step itself, is to be tried.
void Search::turn_round(std::size_t index, Event const& event, Clock needed) {
  Node& node = m_nodes[index];
  if (event.from > static_cast<int>(index)) {  // and what it reads, if that does not need the other
    Event const& written = m_events[place_of(event.from)];
    if (written.before[place_of(m_events[index].thread)] <= index)
      for (std::size_t t = 0; t < needed.size(); ++t)
        needed[t] = std::max(needed[t], written.before[t]);
  }
  std::uint32_t seen = 0;
  std::uint32_t may_be_first = 0;
  auto const consider = [&](int thread, Clock const& before) {
    if ((seen & bit(thread)) != 0) return;
    seen |= bit(thread);
    for (std::size_t t = 0; t < before.size(); ++t)
      if (t != place_of(thread) && before[t] > index) return;
    may_be_first |= bit(thread);
  };
  for (std::size_t k = index + 1; k < m_events.size(); ++k)
    if (k < needed[place_of(m_events[k].thread)]) consider(m_events[k].thread, m_events[k].before);
  consider(event.thread, needed);
  if ((may_be_first & (node.wanted | node.tried)) != 0) return;
  if (std::uint32_t const useful = may_be_first & node.useful; useful != 0) {
    node.wanted |= bit(__builtin_ctz(useful));
    return;
  }
  // What sleeps has been run first, but a load may yet read what has not been stored then. And a
  // sequentially consistent step may sleep that is no first one, for it may differ from a step in
  // between that it does not need.
  bool const may_read_more = (may_be_first & bit(event.thread)) != 0 && is_seq_cst(event.step);
  if ((may_be_first & node.may_run) == 0 || may_read_more) node.wanted |= node.useful;
}

/// May the threads see something else when the second step comes before the first?
bool Search::differs(Step const& first, Step const& second) {
  if (first.kind == Kind::fence || second.kind == Kind::fence) {
    bool const may = (first.kind == Kind::fence || is_atomic(first.kind)) &&
                     (second.kind == Kind::fence || is_atomic(second.kind));
    return may && is_seq_cst(first) && is_seq_cst(second);
  }
  if (is_atomic(first.kind) && is_atomic(second.kind)) {
    if (first.variable != second.variable) return false;
    if (are_in_order(first, second)) return true;
    return first.kind != Kind::store && (second.kind != Kind::load || second.has_failed);
  }
  if (first.object >= 0 && first.object == second.object) {  // a mutex
    if (takes_mutex(first.kind) && takes_mutex(second.kind)) return true;
    if (gives_mutex(first.kind) && second.kind == Kind::try_lock) return true;
    if (first.kind == Kind::try_lock && gives_mutex(second.kind)) return true;
  }
  if (first.condition >= 0 && first.condition == second.condition) {
    bool const tells = first.kind == Kind::notify || second.kind == Kind::notify;
    bool const awaits = first.kind == Kind::wait || second.kind == Kind::wait;
    return tells && (awaits || first.kind == second.kind);
  }
  return first.kind == Kind::spawn && second.kind == Kind::spawn;  // threads have numbers
}

/// Is the same seen only if the second step comes second? A load that reads an old store may come
/// before or after a newer one.
bool Search::keeps_order(Step const& first, Step const& second) {
  if (!differs(first, second)) return false;
  if (!is_atomic(first.kind) || !is_atomic(second.kind)) return true;
  if (are_in_order(first, second)) return true;
  return first.kind == Kind::modify && second.kind == Kind::modify;
}

void Search::find_options(int number, Step const& step, std::uint32_t since) {
  m_options.clear();
  Thread const& thread = m_threads[place_of(number)];
  View const& view = thread.view;
  Variable const& variable = m_memory.variable(step.variable);
  std::size_t const first =
      m_memory.first_readable(view, step.variable, Memory::is_seq_cst(step.order));
  std::size_t first_failing = first;
  if (step.kind == Kind::exchange)
    first_failing =
        m_memory.first_readable(view, step.variable, Memory::is_seq_cst(step.failure_order));
  for (std::size_t k = variable.count; k-- > std::min(first, first_failing);) {
    Store const& store = variable.stores[k];
    switch (step.kind) {
      case Kind::load:
        if (store.number >= since) m_options.push_back({k, true});
        break;
      case Kind::exchange:
        if (store.value != step.expected) {
          if (k >= first_failing) m_options.push_back({k, false});
        } else if (k >= first && !store.is_followed) {
          m_options.push_back({k, true});
        }
        break;
      default:
        if (step.awaits && k + 1 != variable.count) break;
        if (!store.is_followed) m_options.push_back({k, true});
    }
  }
}

/// A thread has looked in vain that has gone round a loop of loads and seen the same as before.
void Search::relax() {
  Inside const inside(*this);
  Thread& here = *m_current;
  std::vector<Look>& looks = here.looks;
  if (here.looks_on) {
    if (here.next_look == 0) return;  // it has yielded before
    if (looks[here.next_look].place != nullptr) return leave_loop(here);
    has_looked(here);
    return;
  }
  if (looks.empty() || looks.back().place == nullptr) return;
  looks.push_back({nullptr, -1, 0});
  for (std::size_t length = 2; 2 * length <= looks.size(); ++length) {
    auto const second = looks.end() - static_cast<std::ptrdiff_t>(length);
    auto const first = second - static_cast<std::ptrdiff_t>(length);
    if ((second - 1)->place != nullptr || !std::equal(second, looks.end(), first)) continue;
    looks.erase(looks.begin(), second);
    here.looks_on = true;
    here.rounds = 0;
    here.next_look = 0;
    return;
  }
}

/// A thread that has looked in vain does the next step of a round. False: it has left the loop, or
/// would see something else.
bool Search::looks_the_same(Thread& thread, Step& step) {
  Look const& look = thread.looks[thread.next_look];
  bool const is_load = step.kind == Kind::load || step.kind == Kind::exchange;
  if (!is_load || look.place != step.place || look.variable != step.variable) {
    leave_loop(thread);
    return false;
  }
  Variable const& variable = m_memory.variable(step.variable);
  int const order = step.kind == Kind::load ? step.order : step.failure_order;
  for (std::size_t k = variable.count; k-- > 0;) {
    Store const& store = variable.stores[k];
    if (store.time != look.time) continue;
    if (k < m_memory.first_readable(thread.view, step.variable, Memory::is_seq_cst(order))) break;
    if (step.kind == Kind::exchange && store.value == step.expected) break;
    step.result = store.value;
    has_looked(thread);
    return true;
  }
  // Something newer is there, which it finds at once in another execution.
  thread.looks_on = false;
  thread.has_looked_in_vain = true;
  return false;
}

/// A step of a round is over.
void Search::has_looked(Thread& thread) {
  thread.next_look = (thread.next_look + 1) % thread.looks.size();
  if (thread.next_look != 0 || ++thread.rounds < most_rounds) return;
  thread.looks_on = false;
  thread.has_looked_in_vain = true;
}

void Search::leave_loop(Thread& thread) {
  thread.looks_on = false;
  thread.looks.clear();
  m_gives_up = true;
}

/// Is there something newer that a thread would see which has looked in vain?
bool Search::may_look_again() {
  for (Thread const& thread : m_threads) {
    if (thread.next == nullptr || !thread.has_looked_in_vain) continue;
    for (Look const& look : thread.looks) {
      if (look.place == nullptr) continue;
      Variable const& variable = m_memory.variable(look.variable);
      if (variable.stores[variable.count - 1].time > look.time) return true;
    }
  }
  return false;
}

// --- the program's side --------------------------------------------------------------------------

int Search::current() const {
  return static_cast<int>(m_current - m_threads.data());
}

int Search::variable_at(void* address, int size) {
  Inside const inside(*this);
  if (m_shadow.watches(address)) {
    if (int const known = m_shadow.variable_at(address); known >= 0) return known;
  }
  int const number = m_memory.variable_at(address, size);
  m_shadow.mark(address, number);
  return number;
}

void Search::plain_access(void const* address, std::size_t size, bool writes, void const* place,
                          bool ends) {
  if (!m_shadow.watches(address)) return;
  if (!m_is_warm && m_shadow.is_static(address)) return;
  int const number = current();
  look_at_stack(number, address, place);
  Knowledge const& now = m_current->view.now;
  bool any_variables = false;
  Shadow::Finding found = m_shadow.access(address, size, writes, ends, number, now, any_variables);
  for (std::size_t k = 0; any_variables && k < size; ++k) {
    auto const* const byte = static_cast<char const*>(address) + k;
    int const known = m_shadow.variable_at(byte);
    if (known < 0) continue;
    Variable const& variable = m_memory.variable(known);
    for (int other = 0; other < m_thread_count; ++other) {
      auto const key = place_of(other);
      std::uint32_t const clock = (writes ? variable.accessed : variable.written)[key];
      if (other != number && clock > now.clock[key]) found = Shadow::Finding::race;
    }
    if (writes) {
      Inside const inside(*this);
      m_memory.forget(known);
      m_shadow.mark(byte, -1);
    }
  }
  if (found == Shadow::Finding::none) return;
  Inside const inside(*this);
  fail(std::string(found == Shadow::Finding::race ? "a data race" : "a use of freed memory") +
           ": " + name_of(nullptr, number) + (writes ? " writes" : " reads"),
       place);
}

// --- beginnings and ends -------------------------------------------------------------------------

void Search::begins(void const* address, std::size_t size, void const* place) {
  if (!is_running()) return;
  m_shadow.renew(address, size, false);
  plain_access(address, size, true, place);
}

void Search::ends(void const* address, std::size_t size, void const* place) {
  if (!is_running()) return;
  auto const* const begin = static_cast<char const*>(address);
  plain_access(address, size, true, place);
  locks_end(begin, begin + size, place);
  m_shadow.renew(address, size, true);
  Inside const inside(*this);
  if (Thread* const owner = thread_at(address))
    for (std::size_t k = 0; k < size; ++k) look_again_at(*owner, begin + k);
}

Search::Thread* Search::thread_at(void const* address) {
  auto const offset =
      static_cast<std::size_t>(static_cast<char const*>(address) - (m_region + heap_size));
  return offset < most_threads * stack_size ? &m_threads[offset / stack_size] : nullptr;
}

/// What is on the stack of another thread has to be in a frame that is there, and the thread has to
/// know that it is.
void Search::look_at_stack(int number, void const* address, void const* place) {
  Thread* const owner = thread_at(address);
  Thread& here = m_threads[place_of(number)];
  if (owner == nullptr || owner == &here) return;
  auto const* const byte = static_cast<char const*>(address);
  auto const known = here.view.now.clock[static_cast<std::size_t>(owner - m_threads.data())];
  std::size_t frame = 0;
  while (frame < owner->depth && byte < owner->frames[frame].low) ++frame;
  if (owner->is_over || frame == owner->depth || known < owner->frames[frame].begins) {
    Inside const inside(*this);
    fail("a use of stack memory after its end, or before its beginning, by " +
             name_of(nullptr, number),
         place);
  }
  look_again_at(*owner, address);
}

/// Notes that there is something to look at when the frame ends.
void Search::look_again_at(Thread& owner, void const* address) {
  if (!m_shadow.note_other(address)) return;
  Inside const inside(*this);
  auto const* const byte = static_cast<char const*>(address);
  if (owner.lowest_seen == nullptr || byte < owner.lowest_seen) owner.lowest_seen = byte;
  owner.seen_by_others.push_back(byte);
}

/// The calling thread leaves a function, so all frames below this address have ended (null: all
/// that it had). What others have done there comes before that.
void Search::frame_ends(char const* low, void const* place) {
  Inside const inside(*this);
  Thread& here = *m_current;
  Knowledge const& now = here.view.now;
  std::erase_if(here.seen_by_others, [&](char const* const byte) {
    if (low != nullptr && byte >= low) return false;
    bool is_over = m_shadow.look(byte, 1, true, current(), now) != Shadow::Finding::race;
    if (int const known = m_shadow.variable_at(byte); known >= 0) {
      Variable const& variable = m_memory.variable(known);
      for (std::size_t other = 0; other < most_threads; ++other)
        is_over = is_over && variable.accessed[other] <= now.clock[other];
      m_memory.forget(known);
    }
    if (!is_over)
      fail("a data race: stack memory of " + name_of(nullptr, current()) +
               " ends, which another "
               "thread uses",
           place);
    locks_end(byte, byte + 1, place);
    m_shadow.renew(byte, 1, false);
    return true;
  });
  auto const lowest = std::min_element(here.seen_by_others.begin(), here.seen_by_others.end());
  here.lowest_seen = lowest != here.seen_by_others.end() ? *lowest : nullptr;
}

void Search::locks_end(char const* begin, char const* end, void const* place) {
  Inside const inside(*this);
  auto const is_here = [&](void const* address) { return address >= begin && address < end; };
  for (std::size_t k = 0; k < m_mutex_count; ++k) {
    if (!is_here(m_mutexes[k].address)) continue;
    if (m_mutexes[k].owner >= 0) fail("a mutex ends that a thread holds", place);
    m_mutexes[k].address = nullptr;
  }
  for (std::size_t k = 0; k < m_condition_count; ++k) {
    if (!is_here(m_conditions[k].address)) continue;
    if (!m_conditions[k].waiters.empty())
      fail("a condition variable ends that a thread waits for", place);
    m_conditions[k].address = nullptr;
  }
}

/// A step of a mutex or of a condition variable is an access to it, so it ends after that.
void Search::use_lock(int number, void const* address, void const* place) {
  if (address == nullptr) fail("a use of a lock that has ended, by " + name_of(nullptr, number));
  look_at_stack(number, address, place);
  if (Thread* const owner = thread_at(address)) look_again_at(*owner, address);
  Knowledge const& now = m_threads[place_of(number)].view.now;
  bool any_variables = false;
  if (m_shadow.access(address, 1, false, false, number, now, any_variables) !=
      Shadow::Finding::none)
    fail(
        "a data race with the beginning or the end of a lock, or a use of one that has ended, by " +
            name_of(nullptr, number),
        place);
}

int Search::mutex_at(void const* address) {
  Inside const inside(*this);
  for (std::size_t k = 0; k < m_mutex_count; ++k)
    if (m_mutexes[k].address == address) return static_cast<int>(k);
  if (m_mutex_count == m_mutexes.size()) m_mutexes.emplace_back();
  Mutex& mutex = m_mutexes[m_mutex_count];
  mutex.address = address;
  mutex.owner = -1;
  mutex.message.clear();
  mutex.before.fill(0);
  return static_cast<int>(m_mutex_count++);
}

int Search::condition_at(void const* address) {
  Inside const inside(*this);
  for (std::size_t k = 0; k < m_condition_count; ++k)
    if (m_conditions[k].address == address) return static_cast<int>(k);
  if (m_condition_count == m_conditions.size()) m_conditions.emplace_back();
  Condition& condition = m_conditions[m_condition_count];
  condition.address = address;
  condition.waiters.clear();
  return static_cast<int>(m_condition_count++);
}

int Search::start_thread(void* (*function)(void*), void* argument, void const* place) {
  if (m_thread_count == most_threads) fail("the program has too many threads");
  Step step;
  step.kind = Kind::spawn;
  step.operation = "starts";
  step.place = place;
  step.function = function;
  step.argument = argument;
  perform(step);
  return step.object;
}

void Search::name(void const volatile* object, std::string_view text) {
  Inside const inside(*this);
  m_names.emplace_back(object, text);
}

void* Search::allocate(std::size_t bytes, std::size_t alignment, void const* place) {
  (void)place;
  alignment = std::max(alignment, Shadow::granule);
  std::size_t const begin = (m_used + sizeof(std::size_t) + alignment - 1) & ~(alignment - 1);
  if (begin + bytes > heap_size) fail("an execution needs too much memory");
  m_used = begin + bytes;
  char* const memory = m_region + begin;
  std::memcpy(memory - sizeof(std::size_t), &bytes, sizeof(std::size_t));
  std::memset(memory, 0xCD, bytes);
  return memory;
}

bool Search::free(void* memory, void const* place) {
  char* const block = static_cast<char*>(memory);
  if (block < m_region || block >= m_region + heap_size) return false;
  if (m_current == nullptr || m_is_inside) return true;
  std::size_t bytes = 0;
  std::memcpy(&bytes, block - sizeof(std::size_t), sizeof(std::size_t));
  plain_access(memory, bytes, true, place, true);
  locks_end(block, block + bytes, place);
  m_shadow.free(memory, bytes);
  return true;
}

void Search::reached(void const* place, char const* operation, int order) {
  if (auto const found = m_reached.find(place); found != m_reached.end()) {
    found->second.search = m_number;
    return;
  }
  Inside const inside(*this);
  m_reached.emplace(place, Reached{operation, order, m_number, {}, false});
}

// --- words ---------------------------------------------------------------------------------------

void Search::look_up_places() {
  std::vector<void const*> places;
  for (auto const& [place, reached] : m_reached)
    if (!reached.is_known) places.push_back(place);
  std::vector<Line> const lines = look_up(places);
  for (std::size_t k = 0; k < places.size(); ++k) {
    Reached& reached = m_reached.at(places[k]);
    reached.is_known = true;
    reached.site = {lines[k].file, lines[k].number, lines[k].code, reached.operation,
                    reached.order};
  }
}

std::string Search::name_of(void const* address, int number) const {
  for (auto const& [object, text] : m_names)
    if (address != nullptr && object == address) return text;
  if (address != nullptr) return "variable " + std::to_string(number);
  return number == 0 ? std::string("main") : "thread " + std::to_string(number);
}

std::string Search::describe(Event const& event) {
  Step const& step = event.step;
  std::string text = name_of(nullptr, event.thread) + ": ";
  auto const variable = [&] {
    return name_of(m_memory.variable(step.variable).address, step.variable);
  };
  switch (step.kind) {
    case Kind::begin:
      return text + "begins";
    case Kind::spawn:
    case Kind::join:
      return text + step.operation + ' ' + name_of(nullptr, step.object);
    case Kind::fence:
      return text + "fence " + std::string(order_name(step.order));
    case Kind::load:
    case Kind::store:
    case Kind::modify:
    case Kind::exchange:
      text += variable() + '.' + step.operation + ' ' + std::string(order_name(step.order));
      if (step.kind != Kind::store) {
        text += ", reads " + std::to_string(step.result);
        if (event.age != 0) text += " (" + std::to_string(event.age) + " newer)";
      }
      if (step.kind != Kind::load) {
        text += ", writes " + std::to_string(event.value);
        if (event.newer != 0) text += " (" + std::to_string(event.newer) + " newer)";
      }
      return text;
    default:
      text += step.operation;
      text += " mutex " + std::to_string(step.object);
      if (step.condition >= 0) text += ", condition " + std::to_string(step.condition);
      if (step.kind == Kind::try_lock && !step.succeeds) text += ", in vain";
      return text;
  }
}

std::string Search::trace(std::string const& what) {
  std::vector<void const*> places;
  for (Event const& event : m_events) places.push_back(event.step.place);
  for (int k = 0; k < m_thread_count; ++k)
    if (Step const* const next = m_threads[place_of(k)].next) places.push_back(next->place);
  places.push_back(m_failure_place);
  std::vector<Line> const lines = look_up(places);
  std::string text = what;
  if (m_failure_place != nullptr) text += " at " + lines.back().text();
  text += ", after these steps:\n";
  std::size_t n = 0;
  for (Event const& event : m_events) {
    std::string line = "  " + describe(event);
    line.resize(std::max<std::size_t>(line.size() + 2, 64), ' ');
    text += line + lines[n++].text() + '\n';
  }
  for (int k = 0; k < m_thread_count; ++k) {
    Step const* const next = m_threads[place_of(k)].next;
    if (next == nullptr) continue;
    std::string line = "  " + name_of(nullptr, k) + " is at: " + next->operation;
    line.resize(std::max<std::size_t>(line.size() + 2, 64), ' ');
    text += line + lines[n++].text() + '\n';
  }
  return text;
}

}  // namespace trellis::model
