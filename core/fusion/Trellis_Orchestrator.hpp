// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ORCHESTRATOR_HPP
#define TRELLIS_IMPL_ORCHESTRATOR_HPP

#include <Trellis_Orchestration.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace trellis::Impl {

/// Holds the advice that a graph follows. It may be exchanged at any time: a thread that asks keeps
/// the object until it has followed its answer.
class Orchestrator {
 public:
  explicit Orchestrator(std::shared_ptr<Orchestration> first) : m_current(std::move(first)) {}

  /// Never null.
  [[nodiscard]] std::shared_ptr<Orchestration> current() const {
    std::lock_guard const lock(m_mutex);
    return m_current;
  }
  std::shared_ptr<Orchestration> exchange(std::shared_ptr<Orchestration> next) {
    std::lock_guard const lock(m_mutex);
    return std::exchange(m_current, std::move(next));
  }

 private:
  mutable std::mutex m_mutex;
  std::shared_ptr<Orchestration> m_current;
};

}  // namespace trellis::Impl

#endif
