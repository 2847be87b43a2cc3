// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GPU_GPU_HPP
#define TRELLIS_GPU_GPU_HPP

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// What the parts of this benchmark share. Everything runs on Kokkos' default execution space;
/// where that is not a device, only to see that it runs: figures are those of a GPU or none.
namespace gpu {

using Space = Kokkos::DefaultExecutionSpace;
using Memory = Space::memory_space;
inline constexpr bool on_gpu = !std::is_same_v<Space, Kokkos::DefaultHostExecutionSpace>;

using Row = Kokkos::View<double*, Memory>;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Memory>;

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// One way to run a fixed set of kernels, again and again.
class Runner {
 public:
  Runner() = default;
  Runner(Runner const&) = delete;
  Runner& operator=(Runner const&) = delete;
  virtual ~Runner() = default;
  virtual void submit() = 0;
  /// All that has been submitted is done.
  virtual void wait() = 0;
};

/// Submits the tasks of one run.
using Submission = std::function<void(trellis::TaskGraph&)>;

/// Tasks, submitted each time.
class Submitted final : public Runner {
 public:
  explicit Submitted(Submission submission) : m_submission(std::move(submission)) {}
  void submit() override { m_submission(m_graph); }
  void wait() override { m_graph.wait(); }

 private:
  Submission m_submission;
  trellis::TaskGraph m_graph;
};

/// The same, recorded once and replayed each time.
class Replayed final : public Runner {
 public:
  explicit Replayed(Submission const& submission)
      : m_plan(m_graph.record("replayed", [&] { submission(m_graph); })) {}
  void submit() override { m_graph.replay(m_plan); }
  void wait() override { m_graph.wait(); }

 private:
  trellis::TaskGraph m_graph;
  trellis::Plan m_plan;
};

/// Seconds until the last kernel was submitted, and until all were done: medians.
struct Times {
  double submitted = 0;
  double done = 0;
};

template <class Prepare>
Times measure(Runner& runner, int repetitions, Prepare const& prepare) {
  std::vector<double> submitted, done;
  for (int k = -2; k < repetitions; ++k) {  // two to warm up
    prepare();
    double const begin = now();
    runner.submit();
    double const middle = now();
    runner.wait();
    double const end = now();
    if (k < 0) continue;
    submitted.push_back(middle - begin);
    done.push_back(end - begin);
  }
  return {median(submitted), median(done)};
}

}  // namespace gpu

#endif
