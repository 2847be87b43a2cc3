// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Statistics.hpp>
#include <tools/Trellis_Columns.hpp>
#include <tools/Trellis_StatisticsFile.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <iostream>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

namespace trellis::Impl {

std::string csv_cell(std::string const& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string all = "\"";
  for (char const c : text) {
    if (c == '\n') continue;
    if (c == '"') all += '"';
    all += c;
  }
  return all + '"';
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_samples{10};

/// Returns the start of the time of all graphs: the moment when the first graph asks.
Clock::time_point start_of_all() {
  static Clock::time_point const start = Clock::now();
  return start;
}

std::string seconds_since_start() {
  return fixed(std::chrono::duration<double>(Clock::now() - start_of_all()).count(), 6);
}

/// Puts the rank, if it is known, before the file name's extension.
std::string with_rank(std::string const& file) {
  int const rank = TaskCounters::rank();
  if (rank < 0) return file;
  std::size_t const slash = file.find_last_of('/');
  std::size_t const dot = file.find_last_of('.');
  bool const has_end = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  std::string const own = "-rank-" + std::to_string(rank);
  return has_end ? file.substr(0, dot) + own + file.substr(dot) : file + own;
}
std::string picture_of(std::string const& file) {
  bool const is_csv = file.ends_with(".csv");
  return (is_csv ? file.substr(0, file.size() - 4) : file) + ".svg";
}

/// The files that graphs write, perhaps several graphs to one file at the same time. A lock keeps
/// rows whole.
struct Files {
  std::mutex mutex;
  std::set<std::string> begun;

  static Files& get() {
    static Files* const instance = new Files;
    return *instance;
  }
  /// False: it cannot be written.
  bool begin(std::string const& file) {
    std::lock_guard const lock(mutex);
    if (begun.contains(file) && std::ifstream(file)) return true;  // else the file has been removed
    std::ofstream out(file, std::ios::trunc);
    if (!(out << statistics_header << std::flush)) return false;
    begun.insert(file);
    return true;
  }
  bool append(std::string const& file, std::string const& rows) {
    std::lock_guard const lock(mutex);
    std::ofstream out(file, std::ios::app);
    return static_cast<bool>(out << rows << std::flush);
  }
  void draw(std::string const& file) {
    std::lock_guard const lock(mutex);
    std::ifstream csv(file);
    std::ofstream svg(picture_of(file));
    experimental::write_statistics_svg(csv, svg);
  }
};

/// Rows of counters. A separate thread takes a sample every few milliseconds, which is a row.
/// Spawned tasks and batches are counted since the last sample. Fork-joins change seldom, and no
/// change is to be missed. So there is an extra row when a fork-join starts, when its children
/// start, and when it ends. It has the number of fork-joins and of their children in flight; its
/// other columns are empty.
class RowsOverTime final : public StatisticsFile {
 public:
  RowsOverTime(std::string const& file, std::string const& graph, TaskCounters const& counters)
      : m_file(with_rank(file)), m_graph(csv_cell(graph)), m_counters(counters) {
    start_of_all();
    if (!Files::get().begin(m_file))
      throw Error(Error::Kind::bad_input, "Trellis: " + graph +
                                              " cannot write its statistics to \"" + m_file +
                                              "\" (TRELLIS_STATISTICS)");
    m_sampler = std::thread([this] { run(); });
  }
  /// Writes the last sample, and the picture.
  ~RowsOverTime() override {
    {
      std::lock_guard const lock(m_mutex);
      m_is_over = true;
    }
    m_end.notify_all();
    m_sampler.join();
    try {
      sample();
      if (!m_rows.empty()) sample();
      Files::get().draw(m_file);
    } catch (std::exception const& error) {
      std::cerr << "Trellis: no picture of the statistics of " << m_graph << ": " << error.what()
                << std::endl;
    }
  }

  void fork_joins(std::int64_t fork_joins, std::int64_t children) noexcept override {
    std::lock_guard const lock(m_mutex);
    m_fork_joins = fork_joins;
    try {
      m_rows += seconds_since_start() + ',' + m_graph + ",,,,,,,,," + std::to_string(fork_joins) +
                ',' + std::to_string(children) + '\n';
    } catch (std::bad_alloc const&) {  // the row is missing
    }
  }

 private:
  /// Adds a row and writes all rows that there are. Throws when there is no memory. The next row
  /// then counts since the last one that was added, and rows that have not been written are kept.
  void sample() {
    GraphStatistics const all = m_counters.now();
    {
      std::lock_guard const lock(m_mutex);
      std::uint64_t const new_batches = all.batches - m_last.batches;
      std::string row = seconds_since_start() + ',' + m_graph;
      auto const add = [&](auto value) { row += ',' + std::to_string(value); };
      add(all.spawned - m_last.spawned);
      add(all.spawned_fusable - m_last.spawned_fusable);
      add(all.held);
      add(new_batches);
      row += ',';
      if (new_batches != 0)
        row += fixed(
            static_cast<double>(all.batched - m_last.batched) / static_cast<double>(new_batches),
            2);
      add(all.ready);
      add(all.running);
      add(all.in_flight());
      add(m_fork_joins);
      add(all.fork_join_children);
      row += '\n';
      m_rows += row;
      m_last = all;
      if (m_to_write.empty()) m_to_write.swap(m_rows);
    }
    bool const is_written = Files::get().append(m_file, m_to_write);
    m_to_write.clear();
    if (is_written || std::exchange(m_has_reported_failure, true)) return;
    std::cerr << "Trellis: cannot write the statistics of " << m_graph << " to \"" << m_file << '"'
              << std::endl;
  }
  void run() {
    std::unique_lock lock(m_mutex);
    while (!m_is_over) {
      lock.unlock();
      try {
        sample();
      } catch (std::bad_alloc const&) {  // the next row includes it
      }
      lock.lock();
      m_end.wait_for(lock, between_samples, [&] { return m_is_over; });
    }
  }

  std::string const m_file;
  std::string const m_graph;
  TaskCounters const& m_counters;

  std::mutex m_mutex;  ///< guards what follows
  std::int64_t m_fork_joins = 0;
  std::string m_rows;      ///< those not written yet
  std::string m_to_write;  ///< earlier rows; the sampling thread uses it without the mutex
  GraphStatistics m_last;
  bool m_has_reported_failure = false;
  bool m_is_over = false;
  std::condition_variable m_end;
  std::thread m_sampler;
};

}  // namespace

std::unique_ptr<StatisticsFile> make_statistics_file(std::string const& file,
                                                     std::string const& graph,
                                                     TaskCounters const& counters) {
  return std::make_unique<RowsOverTime>(file, graph, counters);
}

}  // namespace trellis::Impl
