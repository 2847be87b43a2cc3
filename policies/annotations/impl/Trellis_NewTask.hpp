// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NEWTASK_HPP
#define TRELLIS_IMPL_NEWTASK_HPP

#include <annotations/Trellis_AccessList.hpp>
#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_Properties.hpp>
#include <base/Trellis_SmallVector.hpp>
#include <annotations/impl/Trellis_Requests.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

/// The types of a call do not go beyond this header.
namespace trellis::Impl {

/// Tells the engine and a model what they need to know of a body's type.
struct BodyForm {
  TaskOps const* ops;
  std::size_t size;
  std::size_t alignment;
  LateOps const* late;  ///< null if nothing is bound late
  bool has_result;      ///< the task has a Future with a value
};

/// A task while it is submitted. It takes each annotation by itself. So the compiler makes one
/// small function for each kind of annotation, not for each list of annotations.
class NewTask {
 public:
  /// `construct(storage)` moves the body in.
  template <std::size_t accesses>
  NewTask(Label&& label, BodyForm const& form, FunctionRef<void(void*)> construct,
          Target const& target, RequestRoom<accesses>& room)
      : spec(std::move(label), *form.ops, form.size, form.alignment, construct),
        m_form(form),
        m_target(target),
        m_requests(room) {}
  NewTask(NewTask const&) = delete;
  NewTask& operator=(NewTask const&) = delete;
  ~NewTask();

  template <Mode mode, class Held>
  void take(Access<mode, Held> const& access) {
    add_access(m_requests, access);
  }
  template <class Held>
  void take(StateAccess<Held> const& access) {
    add_access(m_requests, access);
  }
  void take(AccessList const& list) {
    if (m_list == nullptr)
      m_list = &list;
    else
      add_access(m_requests, list);
  }
  void take(ListAccess const& access) { take(*access.list); }

  void take(Property const&) {}  // only the types matter
  void take(priority const& given) { spec.priority = given.value; }
  void take(threads const& given) { m_threads = &given; }
  void take(MainThread const& given) { spec.main_thread = given.is_bound; }
  void take(Synchronizing const&) { spec.synchronizing = true; }
  void take(number const& given) { m_number = &given.value; }
  template <TagValue T>
  void take(Tagged<T> const& given) {
    m_tags.push_back(make_shared_unlocked<TagOf<T>>(given.value));
  }
  template <class A>
    requires waits_for_tasks_v<A>
  void take(A const& before) {
    for (TaskHandle const& task : before.tasks) m_before.push_back(task);
    if constexpr (is_after_numbers_v<A>) take_numbers(before.numbers);
  }

  template <class A>
    requires(!is_annotation_v<A>)
  void take(A const&) {}  // the policy has reported the error

  /// Passes the task with all annotations taken to the engine, or to a model. It is called once.
  TaskHandle send();

  TaskSpec spec;

 private:
  void take_numbers(std::span<TaskNumber const> numbers);
  TaskHandle pass_on();

  BodyForm const& m_form;
  Target const& m_target;
  Requests m_requests;
  AccessList const* m_list = nullptr;  ///< first list; alone, it has all accesses
  SmallVector<TaskHandle, 4> m_before;
  std::vector<TagPtr> m_tags;
  TaskNumber const* m_number = nullptr;
  threads const* m_threads = nullptr;  ///< null: the threads of a worker
  bool m_names_numbers = false;
};

/// Returns a handle with what the handles of tasks of the target's graph have in common.
[[nodiscard]] TaskHandle graph_of(Target const& target);
/// Returns how many threads a task of the target's graph has: those of a worker, or as many as it
/// asks for.
[[nodiscard]] int threads_of(Target const& target);
[[nodiscard]] int threads_of(Target const& target, threads const& asked);

}  // namespace trellis::Impl

#endif
