// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers of messages that do not go as they are: no other message gets them before that is over.
// If a receive got that of a send it would wait for it, and the send for the receive.
#include "MpiTest.hpp"

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;

class MessageBuffers : public MpiTest {
 protected:
  using Table = Kokkos::View<long**, Kokkos::LayoutRight, HostSpace>;
  using List = Kokkos::View<long*, HostSpace>;
  using Buffer = Impl::MessageBuffer<HostSpace>;
  static constexpr int n = 1 << 14;  ///< so many are not sent before they are received, as a rule

  static auto column(Table const& table) { return Kokkos::subview(table, Kokkos::ALL, 1); }
  /// No two calls on a rank give the same numbers.
  Table filled() {
    Table const table("table", n, 2);
    ++m_tables;
    for (int i = 0; i < n; ++i) table(i, 1) = number(rank, i);
    return table;
  }
  [[nodiscard]] long number(int of_rank, long i) const {
    return (100L * m_tables + of_rank) * n + i;
  }
  /// Takes all buffers that are free when the column of `x` has been packed, and the functor that
  /// has done so is gone, which is a little later.
  static std::vector<Buffer> take_all(TaskGraph& graph, Table const& x) {
    host_task("packed", ResourcePolicy(graph, read_write(x)), [] {}).wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<Buffer> all;
    for (int k = 0; k < 16; ++k)
      all.push_back(Impl::MessageBuffers<HostSpace>::take(n * sizeof(long)));
    return all;
  }
  /// Is it one of these in which the column has been packed?
  static bool is_packed_in(std::vector<Buffer> const& buffers, Table const& x) {
    List const packed("packed", n);
    Kokkos::deep_copy(packed, column(x));
    for (Buffer const& each : buffers)
      if (std::memcmp(each.data(), packed.data(), n * sizeof(long)) == 0) return true;
    return false;
  }
  /// True if the message is over before the other ranks do anything more. A task's functor, which
  /// has the buffer, is destroyed a little before its future says that it is done.
  template <class F>
  static bool is_over(F const& message) {
    for (int k = 0; k < 5000 && !message.is_done(); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return message.is_done();
  }
  void meet() const {
    mpi::Guard const guard;
    MPI_Barrier(m_other.comm());
  }

 private:
  static inline int m_tables = 0;
  mpi::Communicator const m_other = comm.duplicate();
};

TEST_F(MessageBuffers, OfASendAreItsOwnUntilItIsReceived) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Table const x = filled();
    List const y("y", n);
    TaskGraph graph(options);
    auto const sent = mpi::send(graph, comm, column(x), right, 1);
    auto const others = take_all(graph, x);
    EXPECT_TRUE(!is_packed_in(others, x) || is_over(sent));
    meet();
    mpi::recv(graph, comm, y, left, 1);
    graph.wait();
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += y(i) != number(left, i);
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(MessageBuffers, OfACollectiveOperationAreItsOwnUntilItIsOver) {
  if (size == 1) GTEST_SKIP() << "it is over when it is started";
  int const root = size - 1;
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Table const x = filled();
    List const y("y", rank == root ? size * n : 0);
    TaskGraph graph(options);
    if (rank == root) meet();  // it gathers when the others have looked
    auto const over = mpi::gather(graph, comm, column(x), y, root);
    if (rank != root) {
      auto const others = take_all(graph, x);
      EXPECT_TRUE(!is_packed_in(others, x) || is_over(over));
      meet();
    }
    graph.wait();
    int wrong = 0;
    for (int i = 0; i < static_cast<int>(y.size()); ++i) wrong += y(i) != number(i / n, i % n);
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace trellis
