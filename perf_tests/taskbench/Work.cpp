// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Work.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

namespace taskbench {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t pair_bytes = 2 * sizeof(std::int64_t);

std::string name_of(std::int64_t step, std::int64_t column) {
  return "(step " + std::to_string(step) + ", column " + std::to_string(column) + ')';
}

// A missing edge makes these race: the comparison then still has a defined value.
std::int64_t load(std::int64_t& x) {
  return std::atomic_ref(x).load(std::memory_order_relaxed);
}
void store(std::int64_t& x, std::int64_t value) {
  std::atomic_ref(x).store(value, std::memory_order_relaxed);
}

std::span<std::int64_t> pairs(char* output, std::size_t bytes) {
  return {reinterpret_cast<std::int64_t*>(output), 2 * (bytes / pair_bytes)};
}

}  // namespace

Work::Work(Parameters const& parameters)
    : m_parameters(parameters),
      m_edges(parameters.shape, parameters.copies, parameters.break_edge),
      m_tasks(task_count(parameters.shape)),
      m_stride((parameters.output_bytes + cache_line - 1) / cache_line * cache_line),
      m_outputs("outputs", static_cast<std::size_t>(parameters.copies) *
                               static_cast<std::size_t>(parameters.shape.width) * m_stride),
      m_results(static_cast<std::size_t>(parameters.shape.width)) {
  if (parameters.kernel == Kernel::memory_bound)
    m_scratch.assign(static_cast<std::size_t>(parameters.shape.width) *
                         (parameters.scratch_bytes / sizeof(double)),
                     1.0);
}

void Work::run_task(std::int64_t step, int column) const {
  // Late enough for a task that does not wait to be seen.
  if (m_parameters.break_edge && step == 0 && column == m_edges.dropped())
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (int const input : m_edges.inputs(step, column)) check_input(step, column, input);
  auto const own = static_cast<std::size_t>(column);
  std::int64_t const iterations = m_parameters.iterations;
  switch (m_parameters.kernel) {
    case Kernel::empty:
      break;
    case Kernel::compute_bound:
      m_results[own].value = compute(iterations);
      break;
    case Kernel::memory_bound: {
      std::size_t const size = m_parameters.scratch_bytes / sizeof(double);
      m_results[own].value =
          sweep(iterations, step * iterations, std::span(m_scratch).subspan(own * size, size));
      break;
    }
    case Kernel::load_imbalance:
      m_results[own].value = compute(imbalanced(iterations, m_parameters.imbalance, step, column));
      break;
  }
  std::span<std::int64_t> const out =
      pairs(output(copy_of(step), column), m_parameters.output_bytes);
  for (std::size_t i = 2; i < out.size(); i += 2) {
    out[i] = step;
    out[i + 1] = column;
  }
  store(out[0], step);
  store(out[1], column);
}

void Work::check_input(std::int64_t step, int column, int input) const {
  std::span<std::int64_t> const in =
      pairs(output(copy_of(step - 1), input), m_parameters.output_bytes);
  if (load(in[0]) != step - 1 || load(in[1]) != input) {
    report(step, column, input, load(in[0]), load(in[1]));
    return;
  }
  for (std::size_t i = 2; i < in.size(); i += 2)
    if (in[i] != step - 1 || in[i + 1] != input) {
      report(step, column, input, in[i], in[i + 1]);
      return;
    }
}

void Work::report(std::int64_t step, int column, int input, std::int64_t found_step,
                  std::int64_t found_column) const {
  if (m_errors++ != 0) return;
  std::scoped_lock const lock(m_mutex);
  m_first_error = "task " + name_of(step, column) + " did not find the output of its input " +
                  name_of(step - 1, input) + ", but " +
                  (found_step < 0 ? "none" : "that of " + name_of(found_step, found_column)) +
                  ": an edge is missing";
}

void Work::reset() {
  std::span<std::int64_t> const all(reinterpret_cast<std::int64_t*>(m_outputs.data()),
                                    m_outputs.size() / sizeof(std::int64_t));
  std::fill(all.begin(), all.end(), -1);
  m_errors = 0;
  m_first_error.clear();
}

std::string Work::error() const {
  std::int64_t const errors = m_errors;
  if (errors != 0) {
    std::scoped_lock const lock(m_mutex);
    return m_first_error + (errors == 1 ? "" : " (and " + std::to_string(errors - 1) + " more)");
  }
  for (std::int64_t step = std::max<std::int64_t>(0, steps() - m_parameters.copies);
       step != steps(); ++step) {
    Columns const active = columns(step);
    for (int column = active.begin; column != active.end; ++column)
      for (std::size_t i = 0; i != 2; ++i)
        if (load(pairs(output(copy_of(step), column), m_parameters.output_bytes)[i]) !=
            (i == 0 ? step : column))
          return "task " + name_of(step, column) + " has not run";
  }
  return {};
}

}  // namespace taskbench
