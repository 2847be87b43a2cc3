// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <annotations/Trellis_TaskScope.hpp>

#include <cstddef>
#include <vector>

namespace trellis {

TaskScope::~TaskScope() {
  delete m_again;
}

void TaskScope::run_again(Impl::TaskHandle const* first, std::size_t count) {
  if (m_again == nullptr) m_again = new std::vector<Impl::TaskHandle>();
  m_again->insert(m_again->end(), first, first + count);
}

}  // namespace trellis
