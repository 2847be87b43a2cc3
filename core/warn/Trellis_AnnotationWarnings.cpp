// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <warn/Trellis_AnnotationWarnings.hpp>
#include <warn/Trellis_Captures.hpp>
#include <warn/Trellis_WarnFlow.hpp>
#include <warn/Trellis_WarningReporter.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace trellis::Impl {
namespace {

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
  void waited(std::source_location const& site) override {
    {
      WarnFlow::Dropped dropped;
      {
        std::lock_guard const lock(m_mutex);
        m_root.sweep(dropped);  // before the host looks: it cannot look at what is gone by now
        host_looks();
        m_root.waited(site);
      }
    }
    m_teller.tell();
  }
  void drop_views() override {
    WarnFlow::Dropped dropped;
    {
      std::lock_guard const lock(m_mutex);
      m_root.forget_all(dropped);
      for (auto const& [plan, flow] : m_recordings) flow->forget_all(dropped);
    }
    dropped.clear();
    m_teller.tell();
  }
  void forget(PlanState const& recording) override {
    WarnFlow::Dropped dropped;  // destroyed after the lock
    std::lock_guard const lock(m_mutex);
    auto const found = m_recordings.find(&recording);
    if (found == m_recordings.end()) return;
    found->second->forget_all(dropped);
    m_recordings.erase(found);
  }
  void end() override {
    drop_views();
    m_teller.tell_counts();
  }

 private:
  class Looking final : public Call {
   public:
    Looking(AnnotationWarnings& warnings, TaskSpec& spec, PlanState const* recording, bool in_body)
        : m_warnings(warnings),
          m_spec(spec),
          m_recording(recording),
          m_label(spec.label),
          m_construct(spec.construct) {
      if (spec.synchronizing) m_warnings.host_looks();  // it may read and write anything
      bool const is_child = spec.parent.task != nullptr;
      {
        std::lock_guard const lock(m_warnings.m_mutex);
        if (!is_child) {
          std::unique_ptr<WarnFlow>* const recorded =
              recording != nullptr ? &m_warnings.m_recordings[recording] : nullptr;
          if (recorded != nullptr && *recorded == nullptr)
            *recorded = std::make_unique<WarnFlow>(m_warnings.m_teller, m_warnings.m_looks);
          m_flow = recorded != nullptr ? recorded->get() : &m_warnings.m_root;
          m_task = m_flow->submitted(spec, in_body, m_dropped);
        }
        if (spec.ops->copy == nullptr && spec.ops->captured == TaskOps::not_known) return;
        // A lambda captures what it uses. A class may have Views for other tasks. A task that is
        // submitted in a body may share Views with that body, which has declared what both use.
        if (!is_child && !in_body && spec.ops->is_closure)
          m_known = m_flow->known_but_named_by(spec);
      }
      std::uint64_t const every = m_known.size() / Captures::most_known + 1;
      if (std::uint64_t const random = m_task * 0x9E3779B97F4A7C15u; (random >> 32) % every != 0)
        m_known.clear();
      m_captures.emplace(m_spec, m_known);
      if (!m_captures->has_candidates()) return;
      spec.construct = m_wrapper;
      if (spec.ops->copy == nullptr) return;
      m_functor.emplace(spec).make(m_construct);
      try {
        m_captures->look_at_copies(m_functor->body());
      } catch (...) {  // from a copy that the program has not asked for
        m_captures.reset();
      }
    }
    ~Looking() override { m_warnings.m_teller.tell(); }

   private:
    /// Called under the lock of a scope, like all moves of functors into their tasks.
    void construct(void* storage) {
      if (m_functor) {
        m_spec.ops->copy(m_functor->body(), storage);
      } else {
        std::memset(storage, 0, m_spec.body_size);
        m_construct(storage);
      }
      if (!m_captures) return;
      try {
        if (!m_functor) m_captures->look_at_bytes(storage);
        note_captures();
      } catch (...) {  // the body is there, and the task runs without this warning
      }
    }
    void note_captures() {
      auto const note = [&](WarningKind kind, AccessRequest const& request,
                            std::string const& then) {
        ResourceInfo info;
        request.ops->describe(request.subject, info);
        Warning warning;
        warning.kind = kind;
        warning.task = m_label.string();
        warning.place = m_label.place();
        warning.resource = info.label.empty() ? "unlabeled" : info.label;
        warning.area = area_text(request.area, info.begin, info.shape);
        warning.text = "task " + m_label.text() + " declares " +
                       std::string(to_string(request.mode)) + " \"" + warning.resource + "\" " +
                       warning.area + then;
        m_warnings.m_teller.note(std::move(warning));
      };
      for (AccessRequest const* request : m_captures->updated())
        note(WarningKind::not_atomic, *request,
             ", and its functor captures that View: through it x(i) += v is not atomic. Take the "
             "View "
             "as an argument, capture an atomic_view, or update by Kokkos::atomic_add(&x(i), v); "
             "name "
             "an atomic_view in the annotation to say that this is so");
      for (AccessRequest const* request : m_captures->missing())
        note(WarningKind::not_captured, *request, ", but its functor does not capture that View");
      bool const holds_more = !m_captures->held().empty();
      if (m_flow == nullptr || (!holds_more && !m_captures->knows_only_views())) return;
      std::lock_guard const lock(m_warnings.m_mutex);
      // What a recording knew may have been forgotten meanwhile.
      if (m_recording != nullptr && !m_warnings.m_recordings.contains(m_recording)) return;
      if (m_captures->knows_only_views()) m_flow->waits_for_none(m_task, m_label);
      if (holds_more) m_flow->holds_undeclared(m_task, m_label, m_captures->held());
    }

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

}  // namespace

std::unique_ptr<Warnings> make_annotation_warnings(TaskGraphOptions const& options) {
  return std::make_unique<AnnotationWarnings>(options);
}

}  // namespace trellis::Impl
