// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Measure.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

namespace taskbench {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::int64_t usable_steps(Parameters const& parameters, std::int64_t steps) {
  std::int64_t const copies = parameters.copies;
  std::int64_t least = 2 * copies;
  if (parameters.shape.pattern == Pattern::dom)
    least = std::max<std::int64_t>(least, parameters.shape.width);
  return (std::max(steps, least) + copies - 1) / copies * copies;
}

namespace {

struct Entry {
  Model* model;
  Work* work;
  std::vector<double> seconds;
};

/// The models that can run this, each with its work.
class Entries {
 public:
  Entries(std::vector<Model*> const& models, Parameters const& parameters,
          std::vector<LeftOut>& left_out) {
    for (Model* const model : models) {
      if (std::string const why = model->why_not(parameters); !why.empty()) {
        left_out.push_back(
            {model->name(),
             std::string(pattern_names[static_cast<std::size_t>(parameters.shape.pattern)]), why});
        continue;
      }
      Parameters own = parameters;
      own.shape.steps =
          usable_steps(own, std::min(own.shape.steps, model->most_tasks() / own.shape.width));
      std::unique_ptr<Work>& work = m_works[own.shape.steps];
      if (!work) work = std::make_unique<Work>(own);
      m_entries.push_back({model, work.get(), {}});
    }
    for (Entry& each : m_entries) {
      each.model->prepare(*each.work);
      double const warm_up = each.model->measure(*each.work);
      // Repeating that would take long and say the same.
      if (warm_up > parameters.patience) each.seconds.push_back(warm_up);
    }
  }
  [[nodiscard]] std::vector<Entry>& all() { return m_entries; }
  [[nodiscard]] std::vector<Result> results() const {
    std::vector<Result> results;
    for (Entry const& each : m_entries) {
      each.model->release();
      auto const [fastest, slowest] = std::minmax_element(each.seconds.begin(), each.seconds.end());
      results.push_back({each.model, each.work->parameters(), each.work->tasks(),
                         median(each.seconds), *fastest, *slowest,
                         static_cast<int>(each.seconds.size())});
    }
    return results;
  }

 private:
  // Models that cannot run as many tasks share a Work with fewer steps.
  std::map<std::int64_t, std::unique_ptr<Work>> m_works;
  std::vector<Entry> m_entries;
};

}  // namespace

std::vector<Result> measure(std::vector<Model*> const& models, Parameters const& parameters,
                            int repetitions, std::vector<LeftOut>& left_out) {
  Entries entries(models, parameters, left_out);
  for (int repetition = 0; repetition != repetitions; ++repetition)
    for (Entry& each : entries.all())
      if (std::accumulate(each.seconds.begin(), each.seconds.end(), 0.0) < parameters.patience)
        each.seconds.push_back(each.model->measure(*each.work));
  return entries.results();
}

std::vector<Result> measure_beside(std::vector<Model*> const& models, Parameters const& parameters,
                                   std::function<double(int)> const& rate_of,
                                   std::vector<LeftOut>& left_out) {
  constexpr double as_fast = 0.95;
  Entries entries(models, parameters, left_out);
  std::vector<double> rates;  // one more than entries
  auto const measure_rate = [&](int workers) {
    std::this_thread::sleep_for(std::chrono::milliseconds(parameters.settle_ms));
    rates.push_back(rate_of(workers));
  };
  for (Entry& each : entries.all()) {
    measure_rate(each.model->workers());
    if (each.seconds.empty()) each.seconds.push_back(each.model->measure(*each.work));
  }
  if (!rates.empty()) measure_rate(entries.all().back().model->workers());
  std::vector<Result> results = entries.results();
  for (std::size_t k = 0; k < results.size(); ++k) {
    bool const continues =
        k + 1 == results.size() || results[k + 1].model->workers() == results[k].model->workers();
    auto const [slower, faster] = std::minmax(rates[k], continues ? rates[k + 1] : rates[k]);
    results[k].reference = (slower + faster) / 2;
    results[k].steady = slower >= as_fast * faster;
  }
  return results;
}

}  // namespace taskbench
