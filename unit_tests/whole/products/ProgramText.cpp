// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

/// The text of a program: a line for each graph, task, plan, loop, phase and thread. To shrink one
/// by hand, delete words and lines.
namespace products {

namespace {

std::string text_of(Habits habits) {
  return {static_cast<char>(habits.moved), static_cast<char>(habits.destroyed)};
}
bool any(Habits habits) {
  return habits.moved != Deed::nothing || habits.destroyed != Deed::nothing;
}

void write(std::ostream& out, Task const& task) {
  out << " g" << task.graph << ' ' << static_cast<char>(task.where);
  for (Access const& access : task.accesses)
    out << ' ' << static_cast<char>(access.mode) << access.first << '+' << access.count;
  for (int const before : task.after) out << " after=" << before;
  if (task.priority != 0) out << " priority=" << task.priority;
  if (task.main_thread) out << " main";
  if (task.numbered) out << " numbered";
  if (task.synchronizing) out << " sync";
  if (task.slow) out << " slow";
  if (task.gate) out << " gate";
  if (task.fails != Task::Failure::none) out << " fails=" << static_cast<char>(task.fails);
  if (task.late != Task::Late::no) out << " late=" << static_cast<char>(task.late);
  if (any(task.functor)) out << " functor=" << text_of(task.functor);
  if (task.has_result) out << " result=" << text_of(task.result);
  if (task.tag != 0) out << " tag=" << task.tag << " oftag=" << text_of(task.of_tag);
  if (any(task.state)) out << " state=" << text_of(task.state);
  if (task.awaited >= 0) out << " awaited=" << task.awaited;
  for (Step const& step : task.steps) {
    out << " do=" << static_cast<char>(step.kind);
    if (step.task >= 0) out << step.task;
  }
}

/// The words of a line.
class Words {
 public:
  explicit Words(std::string const& line) : m_words(line) {}
  /// False at the end.
  bool next() { return static_cast<bool>(m_words >> m_word); }
  [[nodiscard]] std::string const& word() const { return m_word; }
  std::string const& need() {
    if (!next()) throw std::runtime_error("a line ends too early, after " + m_word);
    return m_word;
  }
  /// The word is `key` and what follows is its value.
  bool has(std::string const& key, std::string& value) const {
    if (!m_word.starts_with(key)) return false;
    value = m_word.substr(key.size());
    return true;
  }
  [[noreturn]] void unknown() const { throw std::runtime_error("unknown word: " + m_word); }

 private:
  std::istringstream m_words;
  std::string m_word;
};

/// The number at the beginning of a text, which loses it.
int take_number(std::string& text) {
  int value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) throw std::runtime_error("no number: " + text);
  text.erase(0, static_cast<std::size_t>(end - text.data()));
  return value;
}
/// The same after one character that is dropped; `otherwise` where there is none.
int take_number_behind(std::string& text, char mark, int otherwise) {
  if (text.empty() || text.front() != mark) return otherwise;
  text.erase(0, 1);
  return take_number(text);
}

Habits habits_of(std::string const& text) {
  if (text.size() != 2) throw std::runtime_error("no habits: " + text);
  return {static_cast<Deed>(text[0]), static_cast<Deed>(text[1])};
}

void read_word(Words const& words, Task& task) {
  std::string value;
  std::string const& word = words.word();
  if (word == "main") return void(task.main_thread = true);
  if (word == "numbered") return void(task.numbered = true);
  if (word == "sync") return void(task.synchronizing = true);
  if (word == "slow") return void(task.slow = true);
  if (word == "gate") return void(task.gate = true);
  if (words.has("after=", value)) return task.after.push_back(take_number(value));
  if (words.has("priority=", value)) return void(task.priority = take_number(value));
  if (words.has("fails=", value)) return void(task.fails = static_cast<Task::Failure>(value.at(0)));
  if (words.has("late=", value)) return void(task.late = static_cast<Task::Late>(value.at(0)));
  if (words.has("functor=", value)) return void(task.functor = habits_of(value));
  if (words.has("result=", value)) {
    task.has_result = true;
    return void(task.result = habits_of(value));
  }
  if (words.has("oftag=", value)) return void(task.of_tag = habits_of(value));
  if (words.has("tag=", value)) return void(task.tag = take_number(value));
  if (words.has("state=", value)) return void(task.state = habits_of(value));
  if (words.has("awaited=", value)) return void(task.awaited = take_number(value));
  if (words.has("do=", value)) {
    Step step{static_cast<Step::Kind>(value.at(0)), -1};
    value.erase(0, 1);
    if (!value.empty()) step.task = take_number(value);
    return task.steps.push_back(step);
  }
  if (word.size() == 1) return void(task.where = static_cast<Task::Where>(word[0]));
  value = word.substr(1);
  if (word[0] == 'g') return void(task.graph = take_number(value));
  Access access{static_cast<Mode>(word[0]), take_number(value), 1};
  access.count = take_number_behind(value, '+', 1);
  task.accesses.push_back(access);
}

}  // namespace

bool Program::has_failures() const {
  return device_fails >= 0 || std::any_of(tasks.begin(), tasks.end(), [](Task const& task) {
           return task.fails != Task::Failure::none;
         });
}

bool Program::has_several_submitters() const {
  return std::any_of(phases.begin(), phases.end(), [](Phase const& phase) {
    return std::count_if(phase.threads.begin(), phase.threads.end(), [](Thread const& thread) {
             return std::any_of(thread.ops.begin(), thread.ops.end(), [](Op const& op) {
               return op.kind == Op::Kind::submit || op.kind == Op::Kind::replay ||
                      op.kind == Op::Kind::loop;
             });
           }) > 1;
  });
}

std::string to_string(Program const& program) {
  std::ostringstream out;
  out << "program seed=" << program.seed;
  if (program.device_fails >= 0) out << " device_fails=" << program.device_fails;
  if (program.destroys_busy) out << " destroys_busy";
  if (program.keeps_plans) out << " keeps_plans";
  out << '\n';
  for (Graph const& graph : program.graphs)
    out << "graph workers=" << graph.workers << " cap=" << graph.cap << " policy=" << graph.policy
        << " streams=" << graph.streams << (graph.rules ? " rules" : "")
        << (graph.record ? " record" : "") << '\n';
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    out << "task " << t;
    write(out, program.tasks[t]);
    out << '\n';
  }
  for (std::size_t p = 0; p < program.plans.size(); ++p) {
    out << "plan " << p << " g" << program.plans[p].graph;
    for (Plan::Item const& item : program.plans[p].items)
      if (item.plan >= 0)
        out << " p" << item.plan << '*' << item.rounds;
      else
        out << " t" << item.task;
    out << '\n';
  }
  for (std::size_t l = 0; l < program.loops.size(); ++l) {
    Loop const& loop = program.loops[l];
    out << "loop " << l << " g" << loop.graph << " iterations=" << loop.iterations
        << " asks=" << static_cast<char>(loop.asks);
    if (loop.ends_after >= 0) out << " ends=" << loop.ends_after;
    for (Loop::Item const& item : loop.items) {
      out << " t" << item.task;
      if (item.every != 1) out << '/' << item.every << '+' << item.offset;
    }
    out << '\n';
  }
  for (Phase const& phase : program.phases) {
    out << "phase\n";
    for (Thread const& thread : phase.threads) {
      out << (thread.lingers ? "lingers" : "thread");
      for (Op const& op : thread.ops) {
        out << ' ' << static_cast<char>(op.kind) << op.which;
        if (op.count != 1) out << '*' << op.count;
      }
      out << '\n';
    }
  }
  return out.str();
}

namespace {

void read_graph(Words& words, Program& program) {
  Graph& graph = program.graphs.emplace_back();
  std::string value;
  while (words.next()) {
    if (words.has("workers=", value))
      graph.workers = take_number(value);
    else if (words.has("cap=", value))
      graph.cap = take_number(value);
    else if (words.has("policy=", value))
      graph.policy = value;
    else if (words.has("streams=", value))
      graph.streams = take_number(value);
    else if (words.word() == "rules")
      graph.rules = true;
    else if (words.word() == "record")
      graph.record = true;
    else
      words.unknown();
  }
}

/// The entry with the number that stands next. Numbers keep their meaning when lines are deleted.
template <class T>
T& numbered(Words& words, std::vector<T>& all) {
  std::string number = words.need();
  auto const k = static_cast<std::size_t>(take_number(number));
  if (all.size() <= k) all.resize(k + 1);
  return all[k];
}

void read_plan(Words& words, Program& program) {
  Plan& plan = numbered(words, program.plans);
  while (words.next()) {
    std::string rest = words.word().substr(1);
    switch (words.word()[0]) {
      case 'g':
        plan.graph = take_number(rest);
        break;
      case 't':
        plan.items.push_back({take_number(rest), -1, 1});
        break;
      case 'p': {
        Plan::Item item{-1, take_number(rest), 1};
        item.rounds = take_number_behind(rest, '*', 1);
        plan.items.push_back(item);
        break;
      }
      default:
        words.unknown();
    }
  }
}

void read_loop(Words& words, Program& program) {
  Loop& loop = numbered(words, program.loops);
  std::string value;
  while (words.next()) {
    if (words.has("iterations=", value)) {
      loop.iterations = take_number(value);
    } else if (words.has("asks=", value)) {
      loop.asks = static_cast<Loop::Asks>(value.at(0));
    } else if (words.has("ends=", value)) {
      loop.ends_after = take_number(value);
    } else if (words.has("g", value)) {
      loop.graph = take_number(value);
    } else if (words.has("t", value)) {
      Loop::Item item{take_number(value), 1, 0};
      item.every = take_number_behind(value, '/', 1);
      item.offset = take_number_behind(value, '+', 0);
      loop.items.push_back(item);
    } else {
      words.unknown();
    }
  }
}

void read_thread(Words& words, Program& program, bool lingers) {
  if (program.phases.empty()) throw std::runtime_error("a thread before the first phase");
  Thread& thread = program.phases.back().threads.emplace_back();
  thread.lingers = lingers;
  while (words.next()) {
    std::string rest = words.word().substr(1);
    Op op{static_cast<Op::Kind>(words.word()[0]), take_number(rest), 1};
    op.count = take_number_behind(rest, '*', 1);
    thread.ops.push_back(op);
  }
}

}  // namespace

Program parse(std::string const& text) {
  Program program;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Words words(line);
    if (!words.next() || words.word()[0] == '#') continue;
    std::string const kind = words.word();
    std::string value;
    if (kind == "program") {
      while (words.next()) {
        if (words.has("seed=", value))
          program.seed = static_cast<std::uint64_t>(std::stoull(value));
        else if (words.has("device_fails=", value))
          program.device_fails = take_number(value);
        else if (words.word() == "destroys_busy")
          program.destroys_busy = true;
        else if (words.word() == "keeps_plans")
          program.keeps_plans = true;
        else
          words.unknown();
      }
    } else if (kind == "graph") {
      read_graph(words, program);
    } else if (kind == "task") {
      Task& task = numbered(words, program.tasks);
      while (words.next()) read_word(words, task);
    } else if (kind == "plan") {
      read_plan(words, program);
    } else if (kind == "loop") {
      read_loop(words, program);
    } else if (kind == "phase") {
      program.phases.emplace_back();
    } else if (kind == "thread" || kind == "lingers") {
      read_thread(words, program, kind == "lingers");
    } else {
      words.unknown();
    }
  }
  return program;
}

}  // namespace products
