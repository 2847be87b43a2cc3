// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_ENGINERECORDS_HPP
#define TRELLIS_TEST_ENGINERECORDS_HPP

#include "RandomProgram.hpp"

#include <Trellis_Graph.hpp>
#include <Trellis_TaskGraph.hpp>
#include <graph/Trellis_GraphInternals.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace random_program {

/// What a body throws.
struct Thrown : std::runtime_error {
  explicit Thrown(int by) : std::runtime_error("thrown by " + std::to_string(by)), task(by) {}
  int task;
};

inline std::string name_of(int task) {
  return "t" + std::to_string(task);
}

/// What one task did. Written by the task's body, or by the thread that submits or refines it; no
/// atomics, so that the thread sanitizer sees when the engine does not order these with what comes
/// after.
struct Record {
  trellis::Impl::TaskHandle handle;
  trellis::Impl::TaskHandle self;  ///< the same, from its body
  bool ran = false;
  bool over = false;
  bool refined = false;
  bool refused = false;  ///< its submission threw: it would wait for its own parent
  std::uint64_t digest = 0;
  std::uint64_t started = 0;
  std::uint64_t finished = 0;               ///< its body
  std::vector<std::uint64_t> demoted = {};  ///< when it began to, each time
  std::thread::id thread;
};

/// Compares what has been seen with the oracle.
class Checks {
 public:
  Checks(Program const& program, Conflicts const& conflicts, trellis::TaskGraph& graph,
         std::vector<Record> const& records, std::vector<std::vector<std::uint64_t>> const& memory)
      : m_program(program),
        m_conflicts(conflicts),
        m_graph(graph),
        m_records(records),
        m_memory(memory) {}

  /// After wait(), which threw an error with this text, or none.
  void phase(int phase, std::string const& reported);
  void at_the_end();
  [[nodiscard]] std::string const& problems() const { return m_problems; }

 private:
  struct Span {
    std::uint64_t from;
    std::uint64_t to;
  };
  template <class... T>
  void complain(T const&... text) {
    ((m_problems += text), ...);
    m_problems += '\n';
  }
  [[nodiscard]] Task const& task(int t) const { return m_program.task(t); }
  [[nodiscard]] Record const& record(int t) const { return m_records[static_cast<std::size_t>(t)]; }
  [[nodiscard]] std::string name(int t) const;
  [[nodiscard]] std::vector<int> arrival_order(int last_phase) const;
  [[nodiscard]] Outcome expected(std::vector<int> const& order) const;
  void fate(int t, Fate fate, int origin);
  void find_spans(std::vector<int> const& order);
  [[nodiscard]] Span held(int t, std::size_t stage) const;
  [[nodiscard]] bool excluded_at_once(int a, int b) const;
  [[nodiscard]] bool exclude(int first, int second) const;
  [[nodiscard]] std::vector<std::uint64_t> place_of(int t) const;
  void order_of_events(std::vector<int> const& order);
  void graphs(std::vector<int> const& order);
  void nodes(std::vector<trellis::TaskRecord> const& nodes, std::vector<int> const& order);
  void edge(trellis::EdgeRecord const& edge, int from, int to);
  void times(std::vector<trellis::TaskRecord> const& nodes, std::vector<int> const& order);
  void dependency_paths(trellis::DependencyGraph const& graph, std::vector<int> const& order);
  void scheduling_paths(trellis::SchedulingGraph const& graph, std::vector<int> const& order);

  Program const& m_program;
  Conflicts const& m_conflicts;
  trellis::TaskGraph& m_graph;
  std::vector<Record> const& m_records;
  std::vector<std::vector<std::uint64_t>> const& m_memory;
  /// by task: from the start of its body or first child to the end of all
  std::vector<Span> m_spans;
  std::vector<std::size_t> m_stage;  ///< by task: after how many demotions it ended
  std::string m_problems;
};

}  // namespace random_program

#endif
