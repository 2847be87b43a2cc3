// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDS_HPP
#define TRELLIS_FIELDS_HPP

/// With this header you have models of fields. `Trellis.hpp` does not include it.
#include <fields/Trellis_Field.hpp>
#include <fields/Trellis_FieldCopy.hpp>
#include <fields/Trellis_FieldGraph.hpp>
#include <fields/Trellis_FieldPool.hpp>
#include <fields/Trellis_FieldTarget.hpp>
#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/Trellis_Variants.hpp>
#include <fields/impl/Trellis_FieldState.hpp>
#include <fields/impl/Trellis_Model.hpp>

#endif
