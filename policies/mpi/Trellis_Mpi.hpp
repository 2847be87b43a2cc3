// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_HPP
#define TRELLIS_MPI_HPP

/// This header includes all of `Trellis::mpi`: MPI messages and collective operations as tasks.
#include <mpi/Trellis_Collectives.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Datatype.hpp>
#include <mpi/Trellis_MpiError.hpp>
#include <mpi/Trellis_MpiTrace.hpp>
#include <mpi/Trellis_Operator.hpp>
#include <mpi/Trellis_PointToPoint.hpp>
#include <mpi/Trellis_Received.hpp>
#include <mpi/Trellis_Session.hpp>

#endif
