// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../taskbench/Pattern.hpp"
#include "Solvers.hpp"

namespace mpi_perf {

double Grid::number_at(int row, int column) const {
  auto const whole = static_cast<std::uint64_t>(m_world.rank() * m_shape.rows + row - 1);
  return taskbench::pseudo_random(whole, static_cast<std::uint64_t>(column), 2) - 0.5;
}

void Grid::begin_exchange(Field const& u, std::int64_t step) {
  int const last = m_shape.rows;
  MPI_Irecv(row(u, 0).data(), columns(), MPI_DOUBLE, above(), tag_down(step), m_world.comm(),
            &m_requests[0]);
  MPI_Irecv(row(u, last + 1).data(), columns(), MPI_DOUBLE, below(), tag_up(step), m_world.comm(),
            &m_requests[1]);
  MPI_Isend(row(u, 1).data(), columns(), MPI_DOUBLE, above(), tag_up(step), m_world.comm(),
            &m_requests[2]);
  MPI_Isend(row(u, last).data(), columns(), MPI_DOUBLE, below(), tag_down(step), m_world.comm(),
            &m_requests[3]);
}

void Grid::end_exchange() {
  MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE);
}

void Grid::submit_exchange(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
                           Field const& u, std::int64_t step) const {
  using trellis::priority;
  using trellis::ResourcePolicy;
  namespace mpi = trellis::mpi;
  int const last = m_shape.rows;
  // Others wait for these.
  ResourcePolicy const first(graph, priority(2));
  mpi::recv(first, comm, row(u, 0), above(), tag_down(step));
  mpi::recv(first, comm, row(u, last + 1), below(), tag_up(step));
  mpi::send(first, comm, row(u, 1), above(), tag_up(step));
  mpi::send(first, comm, row(u, last), below(), tag_down(step));
}

}  // namespace mpi_perf
