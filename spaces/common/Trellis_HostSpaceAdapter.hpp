// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HOSTSPACEADAPTER_HPP
#define TRELLIS_HOSTSPACEADAPTER_HPP

#include <common/Trellis_AdapterOf.hpp>
#include <Trellis_Space.hpp>

#include <string_view>

namespace trellis::Impl {

/// The common part of the adapters of host spaces: launches are complete when they return, so there
/// are no events.
template <class ExecutionSpace>
class HostSpaceAdapter : public SpaceAdapter {
 public:
  [[nodiscard]] std::string_view name() const override { return ExecutionSpace::name(); }
  void destroy_instance(void* instance) noexcept override {
    delete static_cast<ExecutionSpace*>(instance);
  }
};

}  // namespace trellis::Impl

#endif
