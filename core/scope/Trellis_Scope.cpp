// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <scope/Trellis_Scope.hpp>

namespace trellis::Impl {

void ScopeDeleter::operator()(Scope* scope) const noexcept {
  delete scope;
}

}  // namespace trellis::Impl
