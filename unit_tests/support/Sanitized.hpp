// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SANITIZED_HPP
#define TRELLIS_TEST_SANITIZED_HPP

namespace trellis::Test {

/// Under the thread or the address sanitizer, which make tests slow: there they do less of the
/// same.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace trellis::Test

#endif
