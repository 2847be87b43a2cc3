// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_STATES_HPP
#define TRELLIS_STATES_HPP

/// With this header you describe accesses by states of your own: truth tables, areas in your
/// coordinates, or any type that says what it depends on.
#include <Trellis_Access.hpp>
#include <Trellis_IndexSpace.hpp>

#endif
