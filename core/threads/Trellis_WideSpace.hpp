// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WIDESPACE_HPP
#define TRELLIS_IMPL_WIDESPACE_HPP

#include <Trellis_Label.hpp>
#include <Trellis_Space.hpp>
#include <Trellis_TaskGraphOptions.hpp>
#include <base/Trellis_AskedThreads.hpp>

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace trellis::Impl {

/// A host space for tasks with `threads(n)`: its instances have n threads. So a WorkerSlot makes
/// one instance for each n, once, and keeps it beside the others. Such a task takes the permits of
/// several workers while its body runs, see Gathering.
class WideSpace final : public SpaceAdapter {
 public:
  /// `of`: null for host tasks, which get no instance.
  WideSpace(SpaceAdapter* of, AskedThreads asked) : m_of(of), m_asked(asked) { m_is_plain = false; }

  [[nodiscard]] std::string_view name() const override;
  void* make_instance(int threads_of_worker) override;
  void destroy_instance(void* instance) noexcept override;

  [[nodiscard]] SpaceAdapter const* of() const { return m_of; }
  [[nodiscard]] int threads() const { return m_threads; }
  /// 0: the graph does not have so many threads any more.
  [[nodiscard]] int permits() const { return m_permits; }

 private:
  friend class WideSpaces;
  SpaceAdapter* const m_of;
  AskedThreads const m_asked;
  int m_threads = 0;
  int m_permits = 0;
};

/// Returns the space as a WideSpace; null if its tasks have the threads of a worker.
[[nodiscard]] inline WideSpace const* wide_space(SpaceAdapter const* space) {
  bool const is_wide = space != nullptr && !space->is_plain() && space->device() == nullptr;
  return is_wide ? static_cast<WideSpace const*>(space) : nullptr;
}

/// The wide spaces of one graph. Any thread may use it.
class WideSpaces {
 public:
  explicit WideSpaces(TaskGraphOptions const& options);

  /// Returns the space that replaces `space` (null: that of host tasks) for a task with so many
  /// threads. That is `space` itself when a worker has as many. Throws `Error` when the task cannot
  /// have them.
  [[nodiscard]] SpaceAdapter* find(SpaceAdapter* space, AskedThreads asked, Label const& task);
  /// Returns how many threads a task gets that asks for `asked`, if it may have them.
  [[nodiscard]] int count(AskedThreads asked) const;
  /// Called when the options have other numbers of threads. Tasks of plans and models keep their
  /// spaces. Requires that no task is in flight.
  void threads_changed();
  /// Throws `Error` if the graph has too few threads for the task, which was made when it had more.
  void require_room(WideSpace const& space, Label const& task) const;

 private:
  void require_valid(SpaceAdapter const* space, AskedThreads asked, Label const& task) const;
  void size(WideSpace& space) const;

  TaskGraphOptions const& m_options;
  std::mutex m_mutex;
  std::vector<std::unique_ptr<WideSpace>> m_made;  ///< one for each different `n` and space
};

}  // namespace trellis::Impl

#endif
