// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WARNINGREPORTER_HPP
#define TRELLIS_IMPL_WARNINGREPORTER_HPP

#include <Trellis_Warning.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace trellis::Impl {

/// All warnings go through this object: it reports each once, and counts. Several threads may use
/// it.
class WarningReporter {
 public:
  WarningReporter(std::string graph, WarningHandler handler)
      : m_graph(std::move(graph)), m_handler(std::move(handler)) {}

  /// Calls no user code, so it may be called under locks.
  void note(Warning&& warning);
  /// Reports the new warnings. Requires that the thread holds no lock.
  void tell();
  /// Reports how often repeated warnings came.
  void tell_counts();

 private:
  /// Labels may be made at run time ("step 17"), and their number may be unlimited.
  static constexpr std::size_t most = 1000;
  using Key = std::tuple<WarningKind, std::string, std::string>;

  void hand_out(Warning const& warning) const;

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
