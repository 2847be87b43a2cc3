// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Statistics.hpp>
#include <base/Trellis_Reserve.hpp>
#include <trace/Trellis_Statistics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::Impl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_samples{10};
constexpr std::string_view header = statistics_header;
constexpr std::size_t column_count = 12;
constexpr std::size_t fork_joins_column = 10;  ///< columns from this one on have rows of their own

std::atomic<int> s_rank{-1};

/// Returns the start of the time of all graphs: the moment when the first graph asks.
Clock::time_point start_of_all() {
  static Clock::time_point const start = Clock::now();
  return start;
}

std::string seconds_since_start() {
  double const seconds = std::chrono::duration<double>(Clock::now() - start_of_all()).count();
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", seconds);
  return text;
}

/// Puts the rank, if it is known, before the file name's extension.
std::string with_rank(std::string const& file) {
  int const rank = s_rank.load(std::memory_order_relaxed);
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
    if (!(out << header << std::flush)) return false;
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

}  // namespace

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

/// INVARIANT. The state of a task in flight is in the piece of its id, and the numbers of tasks in
/// each state change with it, under the lock of the piece. So a thread that adds up all pieces, one
/// after the other, counts each task at most once, and exactly once when nothing changes.
struct Statistics::State {
  struct alignas(64) Piece {
    std::mutex mutex;
    struct Known {
      TaskState state;
      bool is_fork_join_child;
    };
    HashMap<TaskId, Known> tasks;
    std::array<std::uint64_t, 3> count{};  ///< pending, ready, running
    std::uint64_t spawned = 0;
    std::uint64_t completed = 0;
    std::int64_t fork_join_children = 0;
  };

  std::string file;
  std::string graph;
  mutable std::array<Piece, 16> pieces;
  std::atomic<std::uint64_t> fusable{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> batched{0};
  std::atomic<std::int64_t> held{0};

  std::mutex mutex;  ///< guards what follows
  std::int64_t fork_joins = 0;
  std::string rows;      ///< those not written yet
  std::string to_write;  ///< earlier rows; the sampling thread uses it without the mutex
  GraphStatistics last;
  bool has_reported_failure = false;
  bool is_over = false;
  std::condition_variable end;
  std::thread sampler;

  [[nodiscard]] std::int64_t fork_join_children() {
    std::int64_t all = 0;
    for (Piece& piece : pieces) {
      std::lock_guard const lock(piece.mutex);
      all += piece.fork_join_children;
    }
    return all;
  }
  [[nodiscard]] GraphStatistics now() {
    GraphStatistics all;
    for (Piece& piece : pieces) {
      std::lock_guard const lock(piece.mutex);
      all.spawned += piece.spawned;
      all.completed += piece.completed;
      all.pending += piece.count[0];
      all.ready += piece.count[1];
      all.running += piece.count[2];
      all.fork_join_children += piece.fork_join_children;
    }
    all.spawned_fusable = fusable.load(std::memory_order_relaxed);
    all.batches = batches.load(std::memory_order_relaxed);
    all.batched = batched.load(std::memory_order_relaxed);
    all.held = held.load(std::memory_order_relaxed);
    std::lock_guard const lock(mutex);
    all.fork_joins = fork_joins;
    return all;
  }
  /// Adds a row and writes all rows that there are. Throws when there is no memory. The next row
  /// then counts since the last one that was added, and rows that have not been written are kept.
  void sample() {
    GraphStatistics const all = now();
    {
      std::lock_guard const lock(mutex);
      std::uint64_t const new_batches = all.batches - last.batches;
      std::string row = seconds_since_start() + ',' + graph;
      auto const add = [&](auto value) { row += ',' + std::to_string(value); };
      add(all.spawned - last.spawned);
      add(all.spawned_fusable - last.spawned_fusable);
      add(all.held);
      add(new_batches);
      row += ',';
      if (new_batches != 0) {
        char mean[32];
        std::snprintf(
            mean, sizeof mean, "%.2f",
            static_cast<double>(all.batched - last.batched) / static_cast<double>(new_batches));
        row += mean;
      }
      add(all.ready);
      add(all.running);
      add(all.in_flight());
      add(fork_joins);
      add(all.fork_join_children);
      row += '\n';
      rows += row;
      last = all;
      if (to_write.empty()) to_write.swap(rows);
    }
    bool const is_written = Files::get().append(file, to_write);
    to_write.clear();
    if (is_written || std::exchange(has_reported_failure, true)) return;
    std::cerr << "Trellis: cannot write the statistics of " << graph << " to \"" << file << '"'
              << std::endl;
  }
  void run() {
    std::unique_lock lock(mutex);
    while (!is_over) {
      lock.unlock();
      try {
        sample();
      } catch (std::bad_alloc const&) {  // the next row includes it
      }
      lock.lock();
      end.wait_for(lock, between_samples, [&] { return is_over; });
    }
  }
};

Statistics::Statistics(std::string const* file, std::string const& graph) {
  if (file == nullptr) return;
  m_state = std::make_unique<State>();
  m_state->graph = csv_cell(graph);
  start_of_all();
  if (file->empty()) return;
  m_state->file = with_rank(*file);
  if (!Files::get().begin(m_state->file))
    throw Error(Error::Kind::bad_input, "Trellis: " + graph + " cannot write its statistics to \"" +
                                            m_state->file + "\" (TRELLIS_STATISTICS)");
  m_state->sampler = std::thread([state = m_state.get()] { state->run(); });
}

Statistics::~Statistics() {
  if (m_state == nullptr || !m_state->sampler.joinable()) return;
  {
    std::lock_guard const lock(m_state->mutex);
    m_state->is_over = true;
  }
  m_state->end.notify_all();
  m_state->sampler.join();
  try {
    m_state->sample();
    if (!m_state->rows.empty()) m_state->sample();
    Files::get().draw(m_state->file);
  } catch (std::exception const& error) {
    std::cerr << "Trellis: no picture of the statistics of " << m_state->graph << ": "
              << error.what() << std::endl;
  }
}

void Statistics::note_state(TaskId task, TaskState state, FunctionRef<bool()> is_fork_join_child) {
  State::Piece& piece = m_state->pieces[task % m_state->pieces.size()];
  auto const place = [](TaskState of) { return static_cast<std::size_t>(of); };
  static_assert(static_cast<int>(TaskState::pending) == 0 &&
                static_cast<int>(TaskState::running) == 2);
  bool const is_over = place(state) > place(TaskState::running);
  std::lock_guard const lock(piece.mutex);
  auto const [known, is_new] = piece.tasks.try_emplace(task, State::Piece::Known{state, false});
  if (is_new) {
    ++piece.spawned;
    known->second.is_fork_join_child = is_fork_join_child();
    piece.fork_join_children += known->second.is_fork_join_child ? 1 : 0;
  } else {
    --piece.count[place(known->second.state)];
  }
  if (is_over) {
    ++piece.completed;
    piece.fork_join_children -= known->second.is_fork_join_child ? 1 : 0;
    piece.tasks.erase(known);
  } else {
    ++piece.count[place(state)];
    known->second.state = state;
  }
}

void Statistics::note_fusable() {
  m_state->fusable.fetch_add(1, std::memory_order_relaxed);
}
void Statistics::note_held(std::int64_t by) {
  m_state->held.fetch_add(by, std::memory_order_relaxed);
}
void Statistics::note_batch(std::size_t tasks) {
  m_state->batched.fetch_add(tasks, std::memory_order_relaxed);
  m_state->batches.fetch_add(1, std::memory_order_relaxed);
}

void Statistics::note_fork_join(int by) {
  std::int64_t const children = m_state->file.empty() ? 0 : m_state->fork_join_children();
  std::lock_guard const lock(m_state->mutex);
  m_state->fork_joins += by;
  if (m_state->file.empty()) return;
  try {
    m_state->rows += seconds_since_start() + ',' + m_state->graph + ",,,,,,,,," +
                     std::to_string(m_state->fork_joins) + ',' + std::to_string(children) + '\n';
  } catch (std::bad_alloc const&) {  // the row is missing
  }
}

GraphStatistics Statistics::now() const {
  return m_state->now();
}

void Statistics::set_rank(int rank) {
  s_rank.store(rank, std::memory_order_relaxed);
}
int Statistics::rank() {
  return s_rank.load(std::memory_order_relaxed);
}

namespace {

/// Splits a line of a file into its cells.
std::vector<std::string> cells_of(std::string const& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    char const c = line[k];
    if (c == '"') {
      if (is_quoted && k + 1 < line.size() && line[k + 1] == '"')
        cells.back() += line[++k];
      else
        is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

double number_of(std::string const& cell) {
  double value = 0;
  auto const read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (read.ec != std::errc() || read.ptr != cell.data() + cell.size())
    throw Error(Error::Kind::bad_input,
                "Trellis: \"" + cell + "\" in a file of statistics is no number");
  return value;
}

std::string escaped(std::string const& text) {
  std::string all;
  for (char const c : text) {
    if (c == '<')
      all += "&lt;";
    else if (c == '&')
      all += "&amp;";
    else if (static_cast<unsigned char>(c) < 32)
      all += ' ';
    else
      all += c;
  }
  return all;
}

}  // namespace

}  // namespace trellis::Impl

namespace trellis::experimental {

void write_statistics_svg(std::istream& csv, std::ostream& svg) {
  using namespace Impl;
  constexpr int width = 900;
  constexpr int height = 70;  // of a panel
  constexpr int left = 150;
  constexpr int gap = 22;
  constexpr int top = 40;
  constexpr std::array colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                               "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};
  std::string line;
  if (!std::getline(csv, line) || line + '\n' != header)
    throw Error(
        Error::Kind::bad_input,
        "Trellis: this is no file of statistics: its first line is \"" + line.substr(0, 100) + '"');
  std::vector<std::string> const names = cells_of(line);
  struct Row {
    double time;
    std::size_t graph;
    std::array<double, column_count> value;  ///< negative: no value
  };
  std::vector<Row> rows;
  std::vector<std::string> graphs;
  double last = 0;
  while (std::getline(csv, line)) {
    std::vector<std::string> const cells = cells_of(line);
    if (cells.size() != column_count)
      throw Error(Error::Kind::bad_input, "Trellis: a row of a file of statistics has " +
                                              std::to_string(cells.size()) + " cells: \"" +
                                              line.substr(0, 100) + '"');
    Row row{number_of(cells[0]), 0, {}};
    row.graph = static_cast<std::size_t>(std::find(graphs.begin(), graphs.end(), cells[1]) -
                                         graphs.begin());
    if (row.graph == graphs.size()) graphs.push_back(cells[1]);
    for (std::size_t k = 2; k < column_count; ++k)
      row.value[k] = cells[k].empty() ? -1 : number_of(cells[k]);
    last = std::max(last, row.time);
    rows.push_back(row);
  }
  double const scale = last > 0 ? (width - 1) / last : 0;
  int const all_height = top + static_cast<int>(column_count - 2) * (height + gap) + 30;
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << left + width + 20 << "\" height=\""
      << all_height
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  int at = left;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    svg << "<text x=\"" << at << "\" y=\"20\" fill=\"" << colours[g % colours.size()] << "\">"
        << escaped(graphs[g]) << "</text>\n";
    at += 20 + 8 * static_cast<int>(graphs[g].size());
  }
  for (std::size_t k = 2; k < column_count; ++k) {
    int const y = top + static_cast<int>(k - 2) * (height + gap);
    // The largest value by graph and pixel.
    std::map<std::pair<std::size_t, int>, double> largest;
    double most = 0;
    for (Row const& row : rows) {
      if (row.value[k] < 0) continue;
      int const x = static_cast<int>(row.time * scale);
      double& value = largest.try_emplace({row.graph, x}, row.value[k]).first->second;
      value = std::max(value, row.value[k]);
      most = std::max(most, value);
    }
    svg << "<text x=\"10\" y=\"" << y + height / 2 << "\">" << escaped(names[k]) << "</text>\n"
        << "<text x=\"" << left - 8 << "\" y=\"" << y + 10 << "\" text-anchor=\"end\">" << most
        << "</text>\n<text x=\"" << left - 8 << "\" y=\"" << y + height
        << "\" text-anchor=\"end\">0</text>\n<rect x=\"" << left << "\" y=\"" << y << "\" width=\""
        << width << "\" height=\"" << height << "\" fill=\"none\" stroke=\"#cccccc\"/>\n";
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      std::string points;
      double before = -1;
      for (auto const& [where, value] : largest) {
        if (where.first != g) continue;
        double const height_of = most > 0 ? value / most * height : 0;
        std::string const x = std::to_string(left + where.second);
        // The number of fork-joins stays the same until the next row.
        if (k >= fork_joins_column && before >= 0)
          points += x + ',' + std::to_string(y + height - before) + ' ';
        points += x + ',' + std::to_string(y + height - height_of) + ' ';
        before = height_of;
      }
      if (!points.empty())
        svg << "<polyline fill=\"none\" stroke=\"" << colours[g % colours.size()] << "\" points=\""
            << points << "\"/>\n";
    }
  }
  svg << "<text x=\"" << left << "\" y=\"" << all_height - 12 << "\">0</text>\n<text x=\""
      << left + width << "\" y=\"" << all_height - 12 << "\" text-anchor=\"end\">" << last
      << " s</text>\n</svg>\n";
}

}  // namespace trellis::experimental
