// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ERROR_HPP
#define TRELLIS_ERROR_HPP

#include <base/Trellis_OneForAll.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace trellis {

/// The one exception type of Trellis. Its text names the task, the resource, the modes and the call
/// site as far as they are known; `kind()` lets a program tell the cases apart.
class TRELLIS_IMPL_ONE_FOR_ALL Error : public std::runtime_error {
 public:
  enum class Kind {
    task_failed,  ///< a task's body threw; `cause()` is what it threw
    /// the task never ran because a task before it failed; `cause()` is what that one threw. The
    /// program may also have cancelled the task or one before it; then `cause()` is null, or what a
    /// body threw after it was asked to stop
    cancelled,
    bad_input,   ///< an argument cannot be used
    bad_access,  ///< an access cannot be used by this task
    deadlock,    ///< a wait that could never end
    closed,      ///< Kokkos is not initialised, is finalised, or the graph is gone
  };

  Error(Kind kind, std::string const& text, std::exception_ptr cause = nullptr)
      : std::runtime_error(text), m_kind(kind), m_cause(std::move(cause)) {}

  [[nodiscard]] Kind kind() const noexcept { return m_kind; }
  /// What the task's body threw, or null.
  [[nodiscard]] std::exception_ptr const& cause() const noexcept { return m_cause; }

 private:
  Kind m_kind;
  std::exception_ptr m_cause;
};

}  // namespace trellis

#endif
