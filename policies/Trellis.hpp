// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HPP
#define TRELLIS_HPP

/// All of Trellis: annotated parallel patterns on a task graph.
#include <Trellis_Access.hpp>
#include <Trellis_AccessList.hpp>
#include <Trellis_Analysis.hpp>
#include <Trellis_Annotations.hpp>
#include <patterns/Trellis_DeepCopy.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_IndexSpace.hpp>
#include <Trellis_LateView.hpp>
#include <patterns/Trellis_ForkJoin.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <patterns/Trellis_LateCopy.hpp>
#include <Trellis_Observer.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <patterns/Trellis_ParallelReduce.hpp>
#include <patterns/Trellis_ParallelScan.hpp>
#include <Trellis_Plan.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_Processors.hpp>
#include <Trellis_Resource.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Spaces.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskGraph.hpp>
#include <Trellis_TaskNumber.hpp>
#include <Trellis_TaskNumbers.hpp>
#include <Trellis_TaskScope.hpp>
#include <Trellis_Token.hpp>
#include <Trellis_Version.hpp>
#include <Trellis_ViewList.hpp>
#include <Trellis_WhatIf.hpp>
#include <Trellis_ThisWorker.hpp>
#include <patterns/Trellis_Then.hpp>
#include <patterns/Trellis_WhenAll.hpp>
#include <resources/Trellis_Containers.hpp>
#include <resources/Trellis_DualView.hpp>
#include <resources/Trellis_HostRange.hpp>
#include <workers/Trellis_PerWorker.hpp>
#include <workers/Trellis_RandomPool.hpp>
#include <workers/Trellis_RandomStreams.hpp>
#include <workers/Trellis_UniqueToken.hpp>

#endif
