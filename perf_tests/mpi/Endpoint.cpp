// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Endpoint.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace mpi_perf {

using trellis::TaskGraph;

char const* Traffic::name() const {
  switch (pattern) {
    case Pattern::ping_pong:
      return "ping_pong";
    case Pattern::exchange:
      return "exchange";
    case Pattern::self:
      return "self";
  }
  return "";
}

std::int64_t Traffic::messages() const {
  return (pattern == Pattern::self ? 1 : 2) * std::int64_t{in_flight};
}

Endpoint::Endpoint(World const& world, Traffic const& traffic,
                   trellis::mpi::Communicator const& comm)
    : m_traffic(traffic),
      m_rank(world.rank()),
      m_peer(traffic.pattern == Traffic::Pattern::self ? 0 : 1 - world.rank()),
      m_takes_part(world.rank() < (traffic.pattern == Traffic::Pattern::self ? 1 : 2)),
      m_is_pong(traffic.pattern == Traffic::Pattern::ping_pong && world.rank() == 1),
      m_comm(traffic.pattern == Traffic::Pattern::self ? world.self() : world.comm()),
      m_trellis_comm(comm) {
  if (!m_takes_part) return;
  for (int k = 0; k < traffic.in_flight; ++k)
    m_lanes.push_back({View("even", traffic.bytes), View("odd", traffic.bytes)});
  std::size_t const count = 2 * m_lanes.size();
  m_requests.assign(count, MPI_REQUEST_NULL);
  int const bytes = static_cast<int>(traffic.bytes);
  for (int parity = 0; parity < 2; ++parity) {
    std::vector<MPI_Request>& all = m_persistent[parity];
    all.assign(count, MPI_REQUEST_NULL);
    for (std::size_t k = 0; k < m_lanes.size(); ++k) {
      Lane const& lane = m_lanes[k];
      int const tag = tag_of(static_cast<int>(k), parity);
      View const& in = m_is_pong || parity != 0 ? lane.even : lane.odd;
      View const& out = m_is_pong || parity == 0 ? lane.even : lane.odd;
      MPI_Recv_init(in.data(), bytes, MPI_CHAR, m_peer, tag, m_comm, &all[k]);
      MPI_Send_init(out.data(), bytes, MPI_CHAR, m_peer, tag, m_comm, &all[m_lanes.size() + k]);
    }
  }
  reset();
}

Endpoint::~Endpoint() {
  for (std::vector<MPI_Request>& all : m_persistent)
    for (MPI_Request& each : all) MPI_Request_free(&each);
}

std::vector<Endpoint::View> Endpoint::views() const {
  std::vector<View> all;
  for (Lane const& lane : m_lanes) {
    all.push_back(lane.even);
    all.push_back(lane.odd);
  }
  return all;
}

void Endpoint::post(std::int64_t step) {
  int const bytes = static_cast<int>(m_traffic.bytes);
  std::size_t const count = m_lanes.size();
  for (std::size_t k = 0; k < count; ++k) {
    View const& in = step % 2 != 0 ? m_lanes[k].even : m_lanes[k].odd;
    MPI_Irecv(in.data(), bytes, MPI_CHAR, m_peer, tag_of(static_cast<int>(k), step), m_comm,
              &m_requests[k]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    View const& out = step % 2 == 0 ? m_lanes[k].even : m_lanes[k].odd;
    MPI_Isend(out.data(), bytes, MPI_CHAR, m_peer, tag_of(static_cast<int>(k), step), m_comm,
              &m_requests[count + k]);
  }
}

void Endpoint::begin_by_hand(std::int64_t step) {
  post(step);
}
bool Endpoint::try_to_end() {
  int is_over = 0;
  MPI_Testall(static_cast<int>(m_requests.size()), m_requests.data(), &is_over,
              MPI_STATUSES_IGNORE);
  return is_over != 0;
}

void Endpoint::step_by_hand(std::int64_t step) {
  int const count = static_cast<int>(m_lanes.size());
  if (!m_is_pong) {
    post(step);
    MPI_Waitall(2 * count, m_requests.data(), MPI_STATUSES_IGNORE);
    return;
  }
  int const bytes = static_cast<int>(m_traffic.bytes);
  for (int k = 0; k < count; ++k)
    MPI_Irecv(m_lanes[static_cast<std::size_t>(k)].even.data(), bytes, MPI_CHAR, m_peer,
              tag_of(k, step), m_comm, &m_requests[static_cast<std::size_t>(k)]);
  MPI_Waitall(count, m_requests.data(), MPI_STATUSES_IGNORE);
  for (int k = 0; k < count; ++k)
    MPI_Isend(m_lanes[static_cast<std::size_t>(k)].even.data(), bytes, MPI_CHAR, m_peer,
              tag_of(k, step), m_comm, &m_requests[static_cast<std::size_t>(k)]);
  MPI_Waitall(count, m_requests.data(), MPI_STATUSES_IGNORE);
}

void Endpoint::answer(std::int64_t step, double seconds, MPI_Comm comm) {
  View const& memory = m_lanes.front().even;
  int const bytes = static_cast<int>(m_traffic.bytes);
  MPI_Recv(memory.data(), bytes, MPI_CHAR, m_peer, tag_of(0, step), comm, MPI_STATUS_IGNORE);
  for (auto const begin = Clock::now(); seconds_since(begin) < seconds;) {
  }
  MPI_Send(memory.data(), bytes, MPI_CHAR, m_peer, tag_of(0, step), comm);
}

void Endpoint::persistent_step(std::int64_t step) {
  int const count = static_cast<int>(m_lanes.size());
  MPI_Request* const all = m_persistent[step % 2].data();
  if (!m_is_pong) {
    MPI_Startall(2 * count, all);
    MPI_Waitall(2 * count, all, MPI_STATUSES_IGNORE);
    return;
  }
  for (MPI_Request* const half : {all, all + count}) {
    MPI_Startall(count, half);
    MPI_Waitall(count, half, MPI_STATUSES_IGNORE);
  }
}

void Endpoint::reset() const {
  for (Lane const& lane : m_lanes) {
    Kokkos::deep_copy(lane.even, m_is_pong ? char(0) : static_cast<char>(m_rank + 1));
    Kokkos::deep_copy(lane.odd, char(0));
  }
}

void Endpoint::check() const {
  auto const is_all = [](View const& view, int value) {
    return std::all_of(view.data(), view.data() + view.size(),
                       [value](char each) { return each == static_cast<char>(value); });
  };
  for (Lane const& lane : m_lanes) {
    bool const is_right =
        m_is_pong
            ? is_all(lane.even, 1)
            : is_all(lane.even, m_rank + 1) &&
                  is_all(lane.odd,
                         m_traffic.pattern == Traffic::Pattern::exchange ? m_peer + 1 : m_rank + 1);
    if (!is_right)
      throw std::runtime_error(std::string(m_traffic.name()) + " of " +
                               std::to_string(m_traffic.bytes) +
                               " bytes: something wrong has arrived");
  }
}

namespace {

/// `f` times itself. A rank without a part in it waits in `World::meet`.
template <class F>
auto checked(std::shared_ptr<Endpoint> endpoint, F&& f) {
  return [endpoint = std::move(endpoint), f = std::forward<F>(f)](std::int64_t steps) {
    endpoint->reset();
    double const seconds = f(*endpoint, steps);
    endpoint->check();
    return seconds;
  };
}

void submit(Endpoint const& endpoint, TaskGraph& graph, std::int64_t steps) {
  if (!endpoint.takes_part()) return;
  for (std::int64_t step = 0; step < steps; ++step) endpoint.submit_step(graph, step);
}

}  // namespace

Way bare_way(World const& world, std::shared_ptr<Endpoint> const& endpoint) {
  return {"bare", "bare", 1, checked(endpoint, [&world](Endpoint& mine, std::int64_t steps) {
            return world.time([&] {
              if (!mine.takes_part()) return;
              for (std::int64_t step = 0; step < steps; ++step) mine.step_by_hand(step);
            });
          })};
}

Way persistent_way(World const& world, std::shared_ptr<Endpoint> const& endpoint) {
  return {"bare_persistent", "bare", 1,
          checked(endpoint, [&world](Endpoint& mine, std::int64_t steps) {
            return world.time([&] {
              if (!mine.takes_part()) return;
              for (std::int64_t step = 0; step < steps; ++step) mine.persistent_step(step);
            });
          })};
}

Way trellis_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
                std::shared_ptr<TaskGraph> const& graph) {
  return {"trellis", "dynamic", graph->workers(),
          checked(endpoint, [&world, graph](Endpoint& mine, std::int64_t steps) {
            return world.time([&] {
              submit(mine, *graph, steps);
              graph->wait();
            });
          })};
}

Way submitted_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
                  std::shared_ptr<TaskGraph> const& graph) {
  return {"trellis_submitted", "dynamic", graph->workers(),
          checked(endpoint,
                  [&world, graph](Endpoint& mine, std::int64_t steps) {
                    if (!mine.takes_part()) return world.time([] {});
                    Gate gate(*graph, trellis::write(mine.views()));
                    submit(mine, *graph, steps);
                    return world.time([&] {
                      gate.open();
                      graph->wait();
                    });
                  }),
          most_held_back};
}

Way submission_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
                   std::shared_ptr<TaskGraph> const& graph) {
  return {"trellis_submission", "dynamic", graph->workers(),
          checked(endpoint,
                  [&world, graph](Endpoint& mine, std::int64_t steps) {
                    if (!mine.takes_part()) return world.time([] {});
                    Gate gate(*graph, trellis::write(mine.views()));
                    double const seconds = world.time([&] { submit(mine, *graph, steps); });
                    gate.open();
                    graph->wait();
                    return seconds;
                  }),
          most_held_back};
}

Way plan_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
             std::shared_ptr<TaskGraph> const& graph) {
  auto const plan = std::make_shared<std::optional<trellis::Plan>>();
  if (endpoint->takes_part())
    plan->emplace(graph->record("two steps", [&] { submit(*endpoint, *graph, 2); }));
  return {"trellis_plan", "replay", graph->workers(),
          checked(endpoint, [&world, graph, plan](Endpoint& mine, std::int64_t steps) {
            return world.time([&] {
              if (!mine.takes_part()) return;
              graph->replay(**plan, static_cast<std::uint64_t>(steps / 2));
              graph->wait();
            });
          })};
}

}  // namespace mpi_perf
