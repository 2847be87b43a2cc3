// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RESOURCES_HPP
#define TRELLIS_RESOURCES_HPP

/// With this header you annotate more than Views: types of your own, host memory, accesses that are
/// collected at run time, and Views with memory traits.
#include <Trellis_AccessList.hpp>
#include <Trellis_MemoryTraits.hpp>
#include <Trellis_Resource.hpp>
#include <impl/Trellis_IsResource.hpp>

#endif
