// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HPP
#define TRELLIS_HPP

/// The first tier of Trellis: annotated parallel patterns on a task graph. Everything else comes
/// with the headers of topics, which docs/names.md lists.
#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Completion.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_Label.hpp>
#include <Trellis_Plan.hpp>
#include <annotations/Trellis_Properties.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <Trellis_Spaces.hpp>
#include <Trellis_TaskGraph.hpp>
#include <Trellis_TaskGraphOptions.hpp>
#include <Trellis_TaskId.hpp>
#include <annotations/Trellis_TaskScope.hpp>
#include <Trellis_Token.hpp>
#include <Trellis_Version.hpp>
#include <annotations/Trellis_ViewList.hpp>
#include <patterns/Trellis_DeepCopy.hpp>
#include <patterns/Trellis_ForkJoin.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <patterns/Trellis_ParallelReduce.hpp>
#include <patterns/Trellis_ParallelScan.hpp>
#include <patterns/Trellis_Then.hpp>
#include <patterns/Trellis_WhenAll.hpp>
#include <resources/Trellis_Containers.hpp>
#include <resources/Trellis_DualView.hpp>
#include <resources/Trellis_HostRange.hpp>

#endif
