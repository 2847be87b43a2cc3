// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StencilPart.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace mpi_perf {

using trellis::host_task;
using trellis::Plan;
using trellis::read;
using trellis::ResourcePolicy;
using trellis::TaskGraph;
using trellis::write;
namespace mpi = trellis::mpi;

Part::Part(World const& world, taskbench::Parameters const& parameters, bool agrees)
    : m_world(world),
      m_work(parameters),
      m_columns(parameters.shape.width / world.size()),
      m_first(world.rank() * m_columns),
      m_end(m_first + m_columns),
      m_agrees(agrees) {
  for (int copy = 0; copy < m_work.parameters().copies; ++copy)
    for (int column = 0; column < m_work.width(); ++column)
      m_tiles.push_back(Kokkos::subview(
          m_work.outputs(),
          std::pair(m_work.offset(copy, column), m_work.offset(copy, column) + m_work.stride())));
}

void Part::reset() {
  m_work.reset();
  m_agreed() = m_world.rank() + 1;
}

void Part::check() {
  // The last outputs of all columns, which nobody has read, are checked on every rank.
  for (int copy = 0; copy < m_work.parameters().copies; ++copy) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, m_work.output(copy, 0),
                   m_columns * static_cast<int>(m_work.stride()), MPI_CHAR, m_world.comm(),
                   &request);
    wait_yielding(request);
  }
  if (std::string const error = m_work.error(); !error.empty())
    throw std::runtime_error("stencil: " + error);
  if (m_agrees && m_agreed() != m_world.size())
    throw std::runtime_error("stencil: the ranks have agreed on something wrong");
}

namespace {

// --- by hand -------------------------------------------------------------------------------------

class Exchange {
 public:
  explicit Exchange(Part& part) : m_part(part) {}
  void begin(std::int64_t step) {
    int const bytes = static_cast<int>(m_part.work().stride());
    int const tag = m_part.work().copy_of(step);
    m_part.for_each_neighbour([&](int peer, int, int theirs) {
      MPI_Irecv(m_part.tile(step, theirs).data(), bytes, MPI_CHAR, peer, tag, comm(),
                &m_requests[m_count++]);
    });
    m_part.for_each_neighbour([&](int peer, int own, int) {
      MPI_Isend(m_part.tile(step, own).data(), bytes, MPI_CHAR, peer, tag, comm(),
                &m_requests[m_count++]);
    });
  }
  void end() {
    MPI_Waitall(static_cast<int>(m_count), m_requests.data(), MPI_STATUSES_IGNORE);
    m_count = 0;
  }
  void agree() const {
    if (m_part.agrees())
      MPI_Allreduce(MPI_IN_PLACE, m_part.agreed().data(), 1, MPI_DOUBLE, MPI_MAX, comm());
  }

 private:
  [[nodiscard]] MPI_Comm comm() const { return m_part.world().comm(); }
  Part& m_part;
  std::array<MPI_Request, 4> m_requests{};
  std::size_t m_count = 0;
};

/// All columns, then the messages of the step.
void run_bulk(Part& part) {
  Exchange exchange(part);
  for (std::int64_t step = 0; step < part.steps(); ++step) {
    for (int column = part.first(); column < part.end(); ++column)
      part.work().run_task(step, column);
    exchange.begin(step);
    exchange.end();
    exchange.agree();
  }
}

/// The columns at the border first; their messages go while the others are computed.
void run_overlapped(Part& part) {
  Exchange exchange(part);
  int const last = part.end() - 1;
  for (std::int64_t step = 0; step < part.steps(); ++step) {
    exchange.end();
    part.work().run_task(step, part.first());
    if (last != part.first()) part.work().run_task(step, last);
    exchange.begin(step);
    for (int column = part.first() + 1; column < last; ++column) part.work().run_task(step, column);
    exchange.agree();
  }
  exchange.end();
}

// --- tasks ---------------------------------------------------------------------------------------

/// Calls `submit(body, accesses...)` for each column of a step, and the messages after it.
template <class Submit>
void submit_step(Part& part, TaskGraph& graph, mpi::Communicator const& comm, std::int64_t step,
                 Submit const& submit_with) {
  int const width = part.work().width();
  for (int column = part.first(); column < part.end(); ++column) {
    auto const out = write(part.tile(step, column));
    bool const left = column > 0;
    bool const right = column + 1 < width;
    auto const in = [&](int distance) { return read(part.tile(step - 1, column + distance)); };
    // Who reads what is agreed on waits for the step before, and the next agreement for who reads.
    auto const submit = [&](auto const&... accesses) {
      if (part.agrees())
        submit_with(column, read(part.agreed()), accesses...);
      else
        submit_with(column, accesses...);
    };
    if (step == 0)
      submit(out);
    else if (left && right)
      submit(in(-1), in(0), in(1), out);
    else if (left)
      submit(in(-1), in(0), out);
    else if (right)
      submit(in(0), in(1), out);
    else
      submit(in(0), out);
  }
  int const tag = part.work().copy_of(step);
  part.for_each_neighbour([&](int peer, int own, int theirs) {
    mpi::recv(graph, comm, part.tile(step, theirs), peer, tag);
    mpi::send(graph, comm, part.tile(step, own), peer, tag);
  });
  if (part.agrees()) mpi::allreduce(graph, comm, part.agreed(), mpi::max);
}

void run_tasks(Part& part, TaskGraph& graph, mpi::Communicator const& comm) {
  for (std::int64_t step = 0; step < part.steps(); ++step)
    submit_step(part, graph, comm, step, [&](int column, auto const&... accesses) {
      host_task("column", ResourcePolicy(graph, accesses...),
                [&work = part.work(), step, column] { work.run_task(step, column); });
    });
  graph.wait();
}

/// A column's step, advanced by its tasks, which its own output orders.
struct alignas(64) Step {
  std::int64_t value = 0;
};
using Steps = std::vector<Step>;

Plan record(Part& part, TaskGraph& graph, mpi::Communicator const& comm, Steps& steps) {
  std::int64_t const copies = part.work().parameters().copies;
  steps.resize(static_cast<std::size_t>(part.work().width()));
  // Recorded steps stand for all: none is step 0, which reads nothing.
  return graph.record("steps", [&] {
    for (std::int64_t step = copies; step < 2 * copies; ++step)
      submit_step(part, graph, comm, step, [&](int column, auto const&... accesses) {
        host_task("column", ResourcePolicy(graph, accesses...),
                  [&work = part.work(), own = &steps[static_cast<std::size_t>(column)], column] {
                    work.run_task(own->value++, column);
                  });
      });
  });
}

double run_plan(Part& part, TaskGraph& graph, mpi::Communicator const& comm) {
  Steps steps;
  Plan const plan = record(part, graph, comm, steps);
  auto const rounds = static_cast<std::uint64_t>(part.steps() / part.work().parameters().copies);
  return part.timed([&] {
    graph.replay(plan, rounds);
    graph.wait();
  });
}

}  // namespace

std::vector<StencilModel> stencil_models(std::shared_ptr<TaskGraph> const& graph,
                                         mpi::Communicator const& comm) {
  return {
      {"bare_bulk", "bare", [](Part& part) { return part.timed([&] { run_bulk(part); }); }},
      {"bare", "bare", [](Part& part) { return part.timed([&] { run_overlapped(part); }); }},
      {"trellis", "dynamic",
       [graph, comm](Part& part) { return part.timed([&] { run_tasks(part, *graph, comm); }); }},
      {"trellis_plan", "replay",
       [graph, comm](Part& part) { return run_plan(part, *graph, comm); }}};
}

}  // namespace mpi_perf
