// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_WORKLETS_HPP
#define TRELLIS_WORKLETS_HPP

/// This header includes all of worklets: classes with a signature that run as tasks. See
/// docs/worklets.md.
#include <worklets/Trellis_BindArgument.hpp>
#include <worklets/Trellis_BindExecution.hpp>
#include <worklets/Trellis_CellSets.hpp>
#include <worklets/Trellis_CellShape.hpp>
#include <worklets/Trellis_ExecArguments.hpp>
#include <worklets/Trellis_FieldArguments.hpp>
#include <worklets/Trellis_Generate.hpp>
#include <worklets/Trellis_InterpolateCells.hpp>
#include <worklets/Trellis_InterpolatedPoint.hpp>
#include <worklets/Trellis_Invoke.hpp>
#include <worklets/Trellis_ReduceByKey.hpp>
#include <worklets/Trellis_Signature.hpp>
#include <worklets/Trellis_WorkItem.hpp>
#include <worklets/Trellis_Worklet.hpp>

#endif
