// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEMOTION_HPP
#define TRELLIS_IMPL_DEMOTION_HPP

#include <Trellis_Tag.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <task/Trellis_Region.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskHandle.hpp>

#include <deque>
#include <span>
#include <vector>

namespace trellis::Impl {

struct AccessRequest;
class Engine;
class Exclusion;
class Recorder;
class SubmissionLock;

/// Running tasks that give up some of what they declared; see Trellis_Demotion.cpp for why that is
/// right.
class Demotions {
 public:
  Demotions(Engine& engine, SubmissionLock& submission, Region& root, Exclusion& exclusion,
            std::deque<TagRule> const& rules, Recorder* recorder, bool serial)
      : m_engine(engine),
        m_submission(submission),
        m_root(root),
        m_exclusion(exclusion),
        m_rules(rules),
        m_recorder(recorder),
        m_serial(serial) {}
  Demotions(Demotions const&) = delete;
  Demotions& operator=(Demotions const&) = delete;

  void demote(TaskHandle const& self, std::span<AccessRequest const> to);
  void release(TaskHandle const& self, std::span<AccessRequest const> what);

 private:
  struct Demotion;
  void demote_to(TaskHandle const& self, FunctionRef<void(Task&, Demotion&)> plan);

  // The locks of the task's region and of its parts are held.
  void apply(Task& task, Demotion& demotion, std::vector<Task*>& ready,
             std::vector<Task*>& granted);
  [[nodiscard]] bool stays_ordered(Task const& before, Task const& after) const;
  void let_go(Task& task, std::vector<Task*>& ready);
  Region& region_of(Task const& task) { return task.region != nullptr ? *task.region : m_root; }

  Engine& m_engine;
  SubmissionLock& m_submission;
  Region& m_root;  ///< the graph's
  Exclusion& m_exclusion;
  std::deque<TagRule> const& m_rules;
  Recorder* const m_recorder;  ///< null: does not record
  bool const m_serial;
};

}  // namespace trellis::Impl

#endif
