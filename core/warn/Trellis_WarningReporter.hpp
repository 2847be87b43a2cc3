// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WARNINGREPORTER_HPP
#define TRELLIS_IMPL_WARNINGREPORTER_HPP

#include <Trellis_Warning.hpp>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// All warnings go through this object: it reports each once, and counts. Several threads may use
/// it.
class WarningReporter {
 public:
  WarningReporter(std::string graph, WarningHandler handler)
      : m_graph(std::move(graph)), m_handler(std::move(handler)) {}

  /// Calls no user code, so it may be called under locks.
  void note(Warning&& warning) {
    std::lock_guard const lock(m_mutex);
    Key key(warning.kind, warning.task, warning.place);
    if (auto const known = m_known.find(key); known != m_known.end()) {
      ++known->second.count;
    } else if (m_known.size() == most) {
      ++m_others;
    } else {
      m_unreported.push_back(warning);
      m_known.emplace(std::move(key), std::move(warning));
      m_any_unreported.store(true, std::memory_order_relaxed);
    }
  }
  /// Reports the new warnings. Requires that the thread holds no lock.
  void tell() {
    if (!m_any_unreported.load(std::memory_order_relaxed)) return;
    std::vector<Warning> unreported;
    {
      std::lock_guard const lock(m_mutex);
      unreported.swap(m_unreported);
      m_any_unreported.store(false, std::memory_order_relaxed);
    }
    for (Warning const& each : unreported) hand_out(each);
  }
  /// Reports how often repeated warnings came.
  void tell_counts() {
    std::vector<Warning> again;
    std::uint64_t others = 0;
    {
      std::lock_guard const lock(m_mutex);
      for (auto const& [key, warning] : m_known)
        if (warning.count > 1) again.push_back(warning);
      m_known.clear();
      others = std::exchange(m_others, 0);
    }
    for (Warning const& each : again) hand_out(each);
    if (others > 0)
      std::cerr << "Trellis: " + m_graph + ": there were " + std::to_string(others) +
                       " more warnings, of labels and call sites that are not reported\n"
                << std::flush;
  }

 private:
  /// Labels may be made at run time ("step 17"), and their number may be unlimited.
  static constexpr std::size_t most = 1000;
  using Key = std::tuple<WarningKind, std::string, std::string>;

  void hand_out(Warning const& warning) const {
    if (m_handler == nullptr) {
      std::string text = "Trellis: " + m_graph + ": warning [";
      text.append(to_string(warning.kind)).append("]: ");
      if (warning.count > 1)
        text += std::to_string(warning.count) + " times in all: task \"" + warning.task + "\" (" +
                warning.place + ")";
      else
        text += warning.text;
      std::cerr << (text += '\n') << std::flush;
      return;
    }
    try {
      m_handler(warning);
    } catch (...) {
      std::cerr << "Trellis: the function that takes the warnings of " << m_graph
                << " threw an exception, which is ignored" << std::endl;
    }
  }

  std::string const m_graph;
  WarningHandler const m_handler;
  std::mutex m_mutex;
  std::map<Key, Warning> m_known;  ///< guarded by m_mutex, like all that follows
  std::vector<Warning> m_unreported;
  std::uint64_t m_others = 0;  ///< beyond `most`
  std::atomic<bool> m_any_unreported{false};
};

}  // namespace trellis::Impl

#endif
