// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MPITEST_HPP
#define TRELLIS_TEST_MPITEST_HPP

#include "MpiRules.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>
#include <mpi.h>

#include <exception>
#include <span>
#include <string>
#include <vector>

/// What tests of messages share. Every rank runs every test, and a communicator of its own keeps a
/// test's messages from those of the next one.
namespace trellis::Test {

using Kokkos::HostSpace;

class MpiTest : public testing::Test {
 protected:
  mpi::Communicator const comm = mpi::Communicator::duplicate(MPI_COMM_WORLD);
  int const rank = comm.rank();
  int const size = comm.size();
  int const right = (rank + 1) % size;
  int const left = (rank + size - 1) % size;

  /// For a receive that is to be told that the message `sent` is too long for it. With Open MPI a
  /// rank that sends to itself does so first: 5.0 does not see that a message to oneself is too
  /// long when the receive is there before it (its `self` transport, ob1's callback_match). (With
  /// MPICH such a message is not sent before it is received.)
  template <class T>
  auto where_truncation_is_told(TaskGraph& graph, Future<T> const& sent) const {
#ifdef OPEN_MPI
    bool const sends_first = size == 1;
#else
    bool const sends_first = false;
#endif
    return ResourcePolicy(graph, after(std::span(&sent, sends_first ? 1 : 0)));
  }

  void TearDown() override { EXPECT_EQ(broken_mpi_rules(), ""); }
};

/// Graphs of all kinds.
inline std::vector<TaskGraphOptions> kinds_of_graphs() {
  std::vector<TaskGraphOptions> all(3);
  all[0].workers = 1;
  all[1].workers = 3;
  all[2].serial = true;
  return all;
}

/// The mpi::Error that a task has failed with; else a failure of the test.
template <class F>
mpi::Error error_of(F const& f) {
  try {
    f();
  } catch (Error const& error) {
    if (error.cause() == nullptr) {
      ADD_FAILURE() << "no cause: " << error.what();
    } else {
      try {
        std::rethrow_exception(error.cause());
      } catch (mpi::Error const& cause) {
        return cause;
      } catch (std::exception const& other) {
        ADD_FAILURE() << other.what();
      }
    }
    return {"none", MPI_SUCCESS};
  }
  ADD_FAILURE() << "nothing has failed";
  return {"none", MPI_SUCCESS};
}
template <class F>
std::string text_of(F const& f) {
  try {
    f();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

}  // namespace trellis::Test

#endif
