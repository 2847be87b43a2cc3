// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_TRELLISFIELDS_HPP
#define TRELLIS_TASKBENCH_TRELLISFIELDS_HPP

#include "../Work.hpp"

#include <Trellis.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace taskbench {

#ifdef KOKKOS_ENABLE_SERIAL
using TaskSpace = Kokkos::Serial;  // the least that Kokkos adds to one index
#else
using TaskSpace = Kokkos::DefaultHostExecutionSpace;
#endif

inline trellis::TaskGraphOptions graph_options(int workers) {
  trellis::TaskGraphOptions options;
  options.name = "taskbench";
  options.workers = workers;
  options.threads_per_worker = 1;
  options.record = false;
  return options;
}

/// The outputs as a program with Views would have them: a subview for each column and copy, made
/// once.
///
/// A task with at most eight inputs names each; one with more names each run of neighbouring
/// columns as one subview. Up to eight of them stand in the call, one by one; more are a range.
class TrellisFields {
 public:
  static constexpr std::size_t most_single = 8;
  using View = Work::Buffer;

  void prepare(Work const& work) {
    m_width = work.width();
    m_tiles.clear();
    m_runs.clear();
    for (int copy = 0; copy != work.parameters().copies; ++copy)
      for (int column = 0; column != m_width; ++column)
        m_tiles.push_back(part(work, copy, column, column));
    std::int64_t const rows = std::min<std::int64_t>(
        work.steps(), repetition_of(work.shape()).first + repetition_of(work.shape()).period +
                          work.parameters().copies);
    for (std::int64_t step = 1; step < rows; ++step)
      for (int column = work.columns(step).begin; column != work.columns(step).end; ++column) {
        std::span<int const> const inputs = work.edges().declared_inputs(step, column);
        if (inputs.size() > most_single)
          for_each_run(inputs, [&](int first, int last) {
            if (first == last) return;
            for (int copy = 0; copy != work.parameters().copies; ++copy)
              m_runs.try_emplace({copy, {first, last}}, part(work, copy, first, last));
          });
      }
  }
  void release() {
    m_tiles.clear();
    m_runs.clear();
  }

  /// Calls `submit(accesses...)`.
  template <class Submit>
  void with_accesses(Work const& work, std::int64_t step, int column, Submit const& submit) {
    std::span<int const> const inputs = work.edges().declared_inputs(step, column);
    int const from = work.copy_of(step - 1);
    View const& written = tile(work.copy_of(step), column);
    if (inputs.size() <= most_single) {
      std::array<View const*, most_single> reads{};
      std::size_t count = 0;
      for (int const input : inputs) reads[count++] = &tile(from, input);
      dispatch({reads.data(), count}, written, submit);
      return;
    }
    m_many.clear();
    for_each_run(inputs, [&](int first, int last) {
      m_many.push_back(first == last ? &tile(from, first) : &m_runs.at({from, {first, last}}));
    });
    if (m_many.size() <= most_single)
      dispatch(m_many, written, submit);
    else
      submit(trellis::read(m_many | std::views::transform(&element)), trellis::write(written));
  }

 private:
  [[nodiscard]] View const& tile(int copy, int column) const {
    return m_tiles[static_cast<std::size_t>(copy) * static_cast<std::size_t>(m_width) +
                   static_cast<std::size_t>(column)];
  }
  static View part(Work const& work, int copy, int first, int last) {
    return Kokkos::subview(work.outputs(), std::pair(work.offset(copy, first),
                                                     work.offset(copy, last) + work.stride()));
  }
  template <class Each>
  static void for_each_run(std::span<int const> columns, Each const& each) {
    for (std::size_t i = 0; i != columns.size();) {
      std::size_t end = i + 1;
      while (end != columns.size() && columns[end] == columns[end - 1] + 1) ++end;
      each(columns[i], columns[end - 1]);
      i = end;
    }
  }
  static View const& element(View const* view) { return *view; }

  template <class Submit, std::size_t... I>
  static void submit_single([[maybe_unused]] std::span<View const* const> reads,
                            View const& written, Submit const& submit, std::index_sequence<I...>) {
    submit(trellis::read(*reads[I])..., trellis::write(written));
  }
  template <class Submit, std::size_t... N>
  static void dispatch(std::span<View const* const> reads, View const& written,
                       Submit const& submit, std::index_sequence<N...>) {
    ((reads.size() == N ? submit_single(reads, written, submit, std::make_index_sequence<N>())
                        : void()),
     ...);
  }
  template <class Submit>
  static void dispatch(std::span<View const* const> reads, View const& written,
                       Submit const& submit) {
    dispatch(reads, written, submit, std::make_index_sequence<most_single + 1>());
  }

  int m_width = 0;
  std::vector<View> m_tiles;
  std::map<std::pair<int, std::pair<int, int>>, View> m_runs;  ///< of more than one column
  std::vector<View const*> m_many;                             ///< of the task being submitted
};

}  // namespace taskbench

#endif
