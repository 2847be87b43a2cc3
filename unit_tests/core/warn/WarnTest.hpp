// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_WARN_WARNTEST_HPP
#define TRELLIS_TEST_WARN_WARNTEST_HPP

#include "SpaceTest.hpp"

#include <Trellis_Observation.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace trellis::Test {

constexpr int n = 10;  ///< elements of a View

/// What a graph warns of while `program` runs, and when the graph ends.
class Heard {
 public:
  explicit Heard(std::function<void(TaskGraph&)> const& program, TaskGraphOptions options = {}) {
    options.warn = true;
    options.on_warning = [this](Warning const& warning) {
      std::lock_guard const lock(m_mutex);
      m_all.push_back(warning);
    };
    TaskGraph graph(options);
    program(graph);
  }
  [[nodiscard]] std::vector<Warning> const& all() const { return m_all; }
  /// Of one kind, without the counts at the end.
  [[nodiscard]] std::vector<Warning> of(WarningKind kind) const {
    std::vector<Warning> found;
    for (Warning const& each : m_all)
      if (each.kind == kind && each.count == 1) found.push_back(each);
    return found;
  }
  /// "kind task", in order, for messages.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (Warning const& each : m_all) text += each.text + '\n';
    return text;
  }

 private:
  std::mutex m_mutex;
  std::vector<Warning> m_all;
};

/// The program is clean.
inline void expect_silence(std::function<void(TaskGraph&)> const& program,
                           TaskGraphOptions const& options = {}) {
  Heard const heard(program, options);
  EXPECT_TRUE(heard.all().empty()) << heard.text();
}

/// One warning of this kind, and no others.
inline Warning the_only(std::function<void(TaskGraph&)> const& program, WarningKind kind,
                        TaskGraphOptions const& options = {}) {
  Heard const heard(program, options);
  EXPECT_EQ(heard.all().size(), 1u) << heard.text();
  if (heard.all().empty()) return {};
  EXPECT_EQ(heard.all().front().kind, kind) << heard.text();
  return heard.all().front();
}

inline TaskGraphOptions serially() {
  TaskGraphOptions options;
  options.serial = true;
  return options;
}

}  // namespace trellis::Test

#endif
