// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <trace/Trellis_GraphTools.hpp>
#include <trace/Trellis_Warnings.hpp>

#include <string>

namespace trellis::Impl {

Kernel::Kernel(TaskGraphOptions const& options, Workers& workers)
    : m_options(options),
      m_policy(options.policy),
      m_serial(*options.serial),
      m_slab(options.policy->wants_times()),
      m_events(m_options),
      m_numbers_runs(m_events.is_watched() || m_serial),
      m_warnings(*options.warn ? graph_tools()->make_warnings(m_options) : nullptr),
      m_workers(workers) {}

Kernel::~Kernel() = default;

void Kernel::note_look() {
  if (m_warnings != nullptr) m_warnings->host_looks();
}

void Kernel::refuse_complete(TaskHandle const& self, char const* what) {
  throw Error(Error::Kind::closed,
              "Trellis: task #" + std::to_string(self.id) + ' ' + what +
                  ", but is complete: a TaskScope is for the time of its task's body");
}

}  // namespace trellis::Impl
