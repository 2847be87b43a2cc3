// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ONEFORALL_HPP
#define TRELLIS_IMPL_ONEFORALL_HPP

/// Marks what a header defines and a program may have only once: a variable that changes, a class
/// that is thrown, a function whose address is compared. Otherwise libraries that are compiled with
/// -fvisibility=hidden would have their own copies.
#if defined(__GNUC__) || defined(__clang__)
#define TRELLIS_IMPL_ONE_FOR_ALL __attribute__((visibility("default")))
#else
#define TRELLIS_IMPL_ONE_FOR_ALL
#endif

#endif
