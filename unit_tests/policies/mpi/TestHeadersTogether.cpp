// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The senders' header, which `Trellis.hpp` does not include, in front of that of messages.
#include <Trellis.hpp>
#include <senders/Trellis_Sender.hpp>
// (A line of its own keeps the order.)
#include <Trellis_Mpi.hpp>

#include <gtest/gtest.h>

namespace trellis {
namespace {

TEST(Headers, OfSendersAndMessagesGoTogether) {
  Kokkos::View<int*, Kokkos::HostSpace> const x("x", 3), y("y", 3);
  Kokkos::deep_copy(x, 7);
  auto const self = mpi::Communicator::duplicate(MPI_COMM_SELF);
  TaskGraph graph;
  mpi::send(graph, self, x, 0, 0);
  Future<mpi::Received> const received = mpi::recv(graph, self, y, 0, 0);
  [[maybe_unused]] auto const sender = experimental::as_sender(received);
  EXPECT_EQ(received.get().count, 3);
  EXPECT_EQ(y(2), 7);
}

}  // namespace
}  // namespace trellis
