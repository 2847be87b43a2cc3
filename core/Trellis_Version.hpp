// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_VERSION_HPP
#define TRELLIS_VERSION_HPP

/// Which Trellis this is. CMake takes the version of the project from these lines.
#define TRELLIS_VERSION_MAJOR 0
#define TRELLIS_VERSION_MINOR 3
#define TRELLIS_VERSION_PATCH 0

/// The three parts as one number, which the preprocessor can compare: 102 is 0.1.2, 10203 is 1.2.3.
#define TRELLIS_VERSION \
  (TRELLIS_VERSION_MAJOR * 10000 + TRELLIS_VERSION_MINOR * 100 + TRELLIS_VERSION_PATCH)

namespace trellis {

/// Returns `TRELLIS_VERSION` of the library that the program runs with. It differs from the macro
/// if the program was compiled with the headers of another release.
[[nodiscard]] int version() noexcept;

}  // namespace trellis

#endif
