// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <graph/Trellis_GraphInternals.hpp>
#include <patterns/Trellis_WhenAll.hpp>

#include <new>
#include <utility>

namespace trellis::Impl {

Future<void> join(Label&& label, AfterAll const& before) {
  auto construct = [](void* storage) { ::new (storage) JoinBody; };
  TaskSpec spec(std::move(label), OpsOf<JoinBody, void, void>::ops, sizeof(JoinBody),
                alignof(JoinBody), construct);
  spec.after = before.tasks;
  return FutureInternals::make(GraphInternals::submit_behind(std::move(spec)));
}

}  // namespace trellis::Impl
