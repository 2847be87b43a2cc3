// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ANNOTATIONWARNINGS_HPP
#define TRELLIS_IMPL_ANNOTATIONWARNINGS_HPP

#include <Trellis_TaskGraphOptions.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <trace/Trellis_Warnings.hpp>
#include <warn/Trellis_Captures.hpp>
#include <warn/Trellis_WarnFlow.hpp>
#include <warn/Trellis_WarningReporter.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <vector>

namespace trellis::Impl {

/// Warnings from annotations alone. It does not know what runs when, so the warnings do not depend
/// on time. (There is one exception: if several threads submit at the same time, not all functors
/// are checked for all Views, see Captures.)
///
/// It keeps the Views that tasks name as long as other references exist. So it can tell their
/// addresses from those of other Views, and see what functors hold.
///
/// LOCK. Its mutex is the last that a thread takes, and no user code runs under it.
class AnnotationWarnings final : public Warnings {
 public:
  explicit AnnotationWarnings(TaskGraphOptions const& options)
      : m_teller(options.name, options.on_warning), m_root(m_teller, m_looks) {}

  [[nodiscard]] std::unique_ptr<Call> begin_call(TaskSpec& spec, PlanState const* recording,
                                                 bool in_body) override {
    return std::make_unique<Looking>(*this, spec, recording, in_body);
  }
  void host_looks() override { m_looks.fetch_add(1, std::memory_order_acq_rel); }
  void waited(std::source_location const& site) override;
  void drop_views() override;
  void forget(PlanState const& recording) override;
  void end() override;

 private:
  class Looking final : public Call {
   public:
    Looking(AnnotationWarnings& warnings, TaskSpec& spec, PlanState const* recording, bool in_body);
    ~Looking() override;

   private:
    /// Called under the lock of a scope, like all moves of functors into their tasks.
    void construct(void* storage);
    void note_captures();

    struct Construct {
      Looking& call;
      void operator()(void* storage) const { call.construct(storage); }
    };
    AnnotationWarnings& m_warnings;
    TaskSpec& m_spec;
    WarnFlow* m_flow = nullptr;  ///< null: it is a child of a task
    PlanState const* const m_recording;
    Label const m_label;
    Sequence m_task = 0;
    WarnFlow::Dropped m_dropped;
    WarnFlow::Dropped m_known;
    FunctionRef<void(void*)> const m_construct;
    /// A functor that Kokkos copies, to be examined without a lock; the task gets a copy.
    std::optional<BodyRoom> m_functor;
    std::optional<Captures> m_captures;
    Construct m_wrapper{*this};
  };

  WarningReporter m_teller;
  std::atomic<std::uint64_t> m_looks{1};
  std::mutex m_mutex;
  WarnFlow m_root;                                                     ///< guarded by m_mutex
  std::map<PlanState const*, std::unique_ptr<WarnFlow>> m_recordings;  ///< guarded by m_mutex
};

}  // namespace trellis::Impl

#endif
