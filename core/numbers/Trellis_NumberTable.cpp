// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>
#include <Trellis_TaskNumbers.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_NumberClaim.hpp>
#include <numbers/Trellis_NumberTable.hpp>
#include <task/Trellis_NumberedTasks.hpp>

#include <algorithm>
#include <bit>
#include <ostream>
#include <utility>

/// Numbers of tasks.
namespace trellis::Impl {

namespace {

/// Tables without TaskNumbers. Never destroyed: numbers may outlive everything.
struct FreeTables {
  std::mutex mutex;
  std::vector<NumberTable*> free;
  std::uint64_t last_source = 0;

  static FreeTables& get() {
    static FreeTables* const instance = new FreeTables;
    return *instance;
  }
};

std::string name_of(Label const& task) {
  return "task " + task.text();
}

[[noreturn]] void refuse(std::string const& who, TaskNumber const& number, std::string const& why) {
  throw Error(Error::Kind::bad_input,
              "Trellis: " + who + " the number " + to_string(number) + ", " + why);
}

}  // namespace

// --- tables --------------------------------------------------------------------------------------

std::shared_ptr<NumberTable> NumberTable::make(TaskHandle const& graph, std::string name,
                                               bool keeps_all) {
  FreeTables& tables = FreeTables::get();
  NumberTable* table = nullptr;
  {
    std::lock_guard const lock(tables.mutex);
    if (tables.free.empty()) {
      tables.free.reserve(1 + tables.free.capacity());  // so that giving one back cannot fail
      table = new NumberTable;
    } else {
      table = tables.free.back();
      tables.free.pop_back();
    }
    std::lock_guard const own(table->m_mutex);
    table->m_source = ++tables.last_source;
    table->m_graph = {graph.control, graph.generation};
    table->m_name = std::move(name);
    table->m_keeps_all = keeps_all;
  }
  auto const give_back = [](NumberTable* of) {
    of->end();
    FreeTables& all = FreeTables::get();
    std::lock_guard const lock(all.mutex);
    all.free.push_back(of);
  };
  return {table, give_back};
}

void NumberTable::end() noexcept {
  std::lock_guard const lock(m_mutex);
  m_source = 0;
  m_graph = {};
  m_unspawned.clear();
  m_places = {};
  m_used = 0;
}

TaskNumber NumberTable::reserve(std::uint64_t count) {
  std::unique_lock lock(m_mutex);
  if (std::uint64_t const left = m_unspawned.left(); count > left) {
    std::string const name = m_name;
    lock.unlock();
    throw Error(Error::Kind::bad_input, "Trellis: the TaskNumbers of " + name + " have " +
                                            std::to_string(left) + " numbers left, and not " +
                                            std::to_string(count));
  }
  return NumberInternals::make(this, m_source, m_unspawned.reserve(count));
}

std::uint64_t NumberTable::reserved() {
  std::lock_guard const lock(m_mutex);
  return m_unspawned.end() - 1;
}

std::size_t NumberTable::memory() {
  constexpr std::size_t of_range = 48;  // about what a node of a tree takes
  std::lock_guard const lock(m_mutex);
  return m_places.capacity() * sizeof(Entry) + m_unspawned.size() * of_range;
}

// --- which task ----------------------------------------------------------------------------------

TaskId NumberTable::id_of(Entry const& entry) {
  return entry.claim == nullptr ? entry.id : entry.claim->m_id.load(std::memory_order_acquire);
}

/// Requires that there are places. Returns the entry of the number, or a free one.
NumberTable::Entry& NumberTable::place_of(std::uint64_t number) {
  std::size_t const mask = m_places.size() - 1;
  std::size_t k = static_cast<std::size_t>(number * 0x9E3779B97F4A7C15u >> 20) & mask;
  while (m_places[k].number != 0 && m_places[k].number != number) k = (k + 1) & mask;
  return m_places[k];
}

NumberTable::Entry* NumberTable::find(std::uint64_t number) {
  if (m_places.empty()) return nullptr;
  Entry& entry = place_of(number);
  return entry.number != 0 ? &entry : nullptr;
}

/// Requires that there is room, and no entry of this number except one that has been given up.
NumberTable::Entry& NumberTable::place_for(std::uint64_t number) {
  Entry& entry = place_of(number);
  if (entry.number == 0) ++m_used;
  entry.number = number;
  return entry;
}

/// Forgets completed tasks, and makes room for as many as remain. Called by a thread that submits
/// to the graph, so the graph exists.
void NumberTable::sweep() {
  EnginePin const engine(m_graph);
  std::vector<Entry> kept;
  for (Entry const& entry : m_places) {
    if (entry.number == 0 || (entry.claim == nullptr && entry.id == 0)) continue;
    bool const is_over = entry.claim == nullptr && !m_keeps_all &&
                         (!engine || engine.kernel().is_over({m_graph.control, m_graph.generation,
                                                              entry.task, entry.id}));
    if (!is_over) kept.push_back(entry);
  }
  m_places.assign(std::max(fewest, std::bit_ceil(4 * kept.size())), Entry());
  m_places.shrink_to_fit();
  m_used = 0;
  for (Entry const& entry : kept) place_for(entry.number) = entry;
}

/// Says why a number may not be named in this graph; empty: nothing is wrong so far.
std::string NumberTable::what_is_wrong(TaskNumber const& number, TaskHandle const& graph) const {
  if (m_source != NumberInternals::source(number))
    return "whose TaskNumbers are not there any more";
  if (m_graph.control != graph.control || m_graph.generation != graph.generation)
    return "which belongs to the TaskNumbers of another graph, " + m_name;
  if (number.value() == 0 || number.value() >= m_unspawned.end())
    return "which has never been reserved";
  return {};
}

/// Returns what is wrong, if anything is.
std::string NumberTable::look_up(TaskNumber const& number, TaskHandle const& graph,
                                 FunctionRef<void(TaskHandle const&)> found) {
  if (std::string why = what_is_wrong(number, graph); !why.empty()) return why;
  Entry const* const entry = find(number.value());
  if (TaskId const id = entry != nullptr ? id_of(*entry) : 0; id != 0) {
    Task* const task = entry->claim != nullptr ? entry->claim->m_task : entry->task;
    found({graph.control, graph.generation, task, id});
    return {};
  }
  // A claim without a task has taken its number.
  bool const is_claimed = entry != nullptr && entry->claim != nullptr;
  if (!is_claimed && !m_unspawned.contains(number.value())) return {};
  return "which is reserved, but no task has been spawned with it";
}

void NumberTable::resolve(std::span<TaskNumber const> numbers, TaskHandle const& graph,
                          FunctionRef<void(TaskHandle const&)> found,
                          FunctionRef<std::string()> who) {
  auto next = numbers.begin();
  while (next != numbers.end()) {
    if (!next->valid()) {
      ++next;
      continue;
    }
    NumberTable& table = *NumberInternals::table(*next);
    std::string why;
    {
      std::lock_guard const lock(table.m_mutex);
      for (; next != numbers.end() && NumberInternals::table(*next) == &table; ++next) {
        why = table.look_up(*next, graph, found);
        if (!why.empty()) break;
      }
    }
    if (!why.empty()) refuse(who(), *next, why);
  }
}

void NumberTable::claim(NumberClaim& claim, TaskHandle const& graph, Label const& task) {
  TaskNumber const& number = claim.m_number;
  NumberTable& table = *NumberInternals::table(number);
  std::string why;
  {
    std::lock_guard const lock(table.m_mutex);
    why = table.what_is_wrong(number, graph);
    if (why.empty()) {
      if (2 * (table.m_used + 1) > table.m_places.size()) table.sweep();
      if (table.m_unspawned.take(number.value())) {
        Entry& entry = table.place_for(number.value());
        entry.claim = &claim;
        return;
      }
      Entry const* const entry = table.find(number.value());
      TaskId const id = entry != nullptr ? id_of(*entry) : 0;
      why = entry == nullptr                    ? "which a task has had that is complete"
            : id == 0                           ? "which another thread gives to a task"
            : id < TaskHandle::end_of_submitted ? "which task #" + std::to_string(id) + " has"
                                                : "which a task of a plan or an iteration has";
    }
  }
  refuse(name_of(task) + " is to have", number, why);
}

void NumberTable::release(NumberClaim& claim) noexcept {
  NumberTable& table = *NumberInternals::table(claim.m_number);
  std::uint64_t const number = claim.m_number.value();
  std::lock_guard const lock(table.m_mutex);
  if (table.m_source != NumberInternals::source(claim.m_number)) return;
  Entry& entry = *table.find(number);
  entry.claim = nullptr;
  entry.task = claim.m_task;
  entry.id = claim.m_id.load(std::memory_order_relaxed);
  if (entry.id == 0) table.m_unspawned.put_back(number);
}

NumberClaim::NumberClaim(TaskNumber const& number, TaskHandle const& graph, Label const& task)
    : m_number(number) {
  if (number.valid()) NumberTable::claim(*this, graph, task);
}

NumberClaim::~NumberClaim() {
  if (m_number.valid()) NumberTable::release(*this);
}

void for_each_task_of(std::span<TaskNumber const> numbers, TaskHandle const& graph,
                      Label const& task, FunctionRef<void(TaskHandle const&)> found) {
  NumberTable::resolve(numbers, graph, found,
                       [&] { return name_of(task) + " is to run after(...)"; });
}

std::vector<TaskHandle> tasks_of(std::span<TaskNumber const> numbers, TaskHandle const& graph,
                                 std::string const& name, char const* what,
                                 std::source_location const& site) {
  std::vector<TaskHandle> tasks;
  tasks.reserve(numbers.size());
  NumberTable::resolve(
      numbers, graph, [&](TaskHandle const& task) { tasks.push_back(task); },
      [&] {
        return std::string(site.file_name()) + ':' + std::to_string(site.line()) + ' ' + what +
               ' ' + name + " and names";
      });
  return tasks;
}

void refuse_numbers_in_model(Label const& task) {
  throw Error(
      Error::Kind::bad_input,
      "Trellis: " + name_of(task) +
          " goes to a model of fields and names task numbers: it runs once in each iteration, "
          "and its order follows from fields");
}

}  // namespace trellis::Impl

namespace trellis {

std::string to_string(TaskNumber const& number) {
  return number.valid() ? std::to_string(number.value()) : "none";
}
std::ostream& operator<<(std::ostream& out, TaskNumber const& number) {
  return out << to_string(number);
}

TaskNumbers::TaskNumbers(TaskGraph const& graph)
    : m_table(Impl::NumberTable::make(
          Impl::GraphInternals::handle(graph), graph.options().name,
          graph.options().record.value_or(false) || graph.options().warn.value_or(false))) {}

TaskNumber TaskNumbers::reserve(std::uint64_t count) const {
  return m_table->reserve(count);
}
TaskNumber TaskNumbers::at(std::uint64_t value) const {
  return m_table->at(value);
}
std::uint64_t TaskNumbers::reserved() const {
  return m_table->reserved();
}
std::size_t TaskNumbers::memory() const {
  return m_table->memory();
}

}  // namespace trellis
