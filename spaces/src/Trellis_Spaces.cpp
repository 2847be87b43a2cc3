// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/Trellis_FinalizeHook.hpp>
#include <common/Trellis_KernelName.hpp>
#include <Trellis_Spaces.hpp>
#include <graph/Trellis_Runtime.hpp>

#include <Kokkos_Core.hpp>

#include <mutex>
#include <string_view>
#include <utility>

namespace trellis::Impl {

void push_finalize_hook(std::function<void()> hook) {
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  Kokkos::push_finalize_hook(std::move(hook));
}

bool register_kokkos() {
  Runtime& kokkos = runtime();
  kokkos.is_usable = [] { return Kokkos::is_initialized() && !Kokkos::is_finalized(); };
  kokkos.at_finalize = [](std::function<void()> hook) { push_finalize_hook(std::move(hook)); };
  // A parallel host space knows how many threads the user wants. Serial does not, as any number of
  // workers may have an instance of it.
  using Host = Kokkos::DefaultHostExecutionSpace;
  if (std::string_view(Host::name()) != "Serial")
    kokkos.concurrency = [] { return Host().concurrency(); };
  return true;
}

std::string const& kernel_name(Label const& label) {
  thread_local std::string name;
  return name = label.view();
}

}  // namespace trellis::Impl
