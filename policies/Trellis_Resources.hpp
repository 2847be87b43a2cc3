// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RESOURCES_HPP
#define TRELLIS_RESOURCES_HPP

/// With this header you annotate more than Views: types of your own, host memory, accesses that are
/// collected at run time, and Views with memory traits.
#include <annotations/Trellis_AccessList.hpp>
#include <annotations/Trellis_MemoryTraits.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <annotations/impl/Trellis_IsResource.hpp>

#endif
