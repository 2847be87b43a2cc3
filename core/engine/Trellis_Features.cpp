// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Features.hpp>
#include <engine/Trellis_Submission.hpp>
#include <kernel/Trellis_Kernel.hpp>

namespace trellis::Impl {

/// Which feature uses which.
Features::Features(Kernel& kernel, Submission& submission)
    : exclusion(submission.rules(), kernel.recorder(), &kernel.policy(), !kernel.is_serial()),
      waiters(kernel.lock(), kernel.slab(), exclusion),
      policy_edges(kernel, waiters),
      fusion(kernel, kernel.options().orchestration, cancellation),
      demotions(kernel, submission.root(), exclusion, policy_edges, waiters, submission.rules()),
      children(kernel, waiters),
      cancellation(kernel),
      completions(kernel, cancellation, children),
      fork_joins(kernel, cancellation, fusion, children),
      destructors(kernel, offered),
      device_tasks(kernel, offered, cancellation, destructors, exclusion, fusion),
      plans(kernel, submission, cancellation, destructors, plan_graphs, iterations,
            device_tasks.streams()),
      plan_graphs(kernel, destructors, plans, device_tasks.streams()),
      iterations(kernel, submission, plan_graphs, children, policy_edges, device_tasks.streams()) {}

}  // namespace trellis::Impl
