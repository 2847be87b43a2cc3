// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ATEND_HPP
#define TRELLIS_IMPL_ATEND_HPP

namespace trellis::Impl {

/// Calls a function at the end of its scope, also when that is left by an exception.
template <class F>
class AtEnd {
 public:
  explicit AtEnd(F function) : m_function(function) {}
  AtEnd(AtEnd const&) = delete;
  AtEnd& operator=(AtEnd const&) = delete;
  ~AtEnd() { m_function(); }

 private:
  F const m_function;
};

}  // namespace trellis::Impl

#endif
