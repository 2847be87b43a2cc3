// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_TASKSOLVER_HPP
#define TRELLIS_EXAMPLE_PARTICLES_TASKSOLVER_HPP

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Exchange.hpp"
#include "Gate.hpp"
#include "Kernels.hpp"
#include "Slab.hpp"

/// This header has the step as tasks. Only the reads and writes of each task specify their order:
///
/// | task | reads | writes |
/// |---|---|---|
/// | B, of some rows | E, a row beyond | B |
/// | push, of a tile | E and B, a row beyond on both sides | particles, leaving; adds to J |
/// | add J | what has come of J | adds to J |
/// | exchange | | leaving and arriving, the communicator of particles |
/// | insert, of a tile | | particles, what is to come in |
/// | E, of some rows | B, a row before | E, J |
/// | messages of B, J, E | two rows | two rows of the halo, or what has come of J |
///
/// A task that pushes gives up J as soon as its last particle has brought its current. It gives up
/// the leaving particles before it closes the gaps. So currents and particles start while it still
/// runs.
namespace particles {

/// The order of tasks that could run, as in example/heat_ranks: messages, then the tasks that
/// messages wait for. The core fills the time in which messages are in flight.
inline constexpr trellis::priority messages_first(2);
inline constexpr trellis::priority border_first(1);
inline constexpr trellis::priority core_last(0);

/// What a run records at each check, by this rank.
struct Series {
  Series(Problem const& problem, Slab const& slab)
      : ledgers("ledgers", problem.checks(), slab.tiles.size()),
        rows("sums of rows", problem.checks(), slab.fields.rows),
        totals("totals", problem.checks()) {}
  Kokkos::View<Ledger**, Kokkos::LayoutRight, Kokkos::HostSpace> ledgers;  ///< of tiles
  Kokkos::View<RowSums**, Kokkos::LayoutRight, Kokkos::HostSpace> rows;    ///< of this rank
  Kokkos::View<Ledger*, Kokkos::HostSpace> totals;                         ///< of all ranks
  ChunksReceived chunks;
};

class TaskSolver {
 public:
  /// All arguments must outlive it. `releases`: tasks give up early what they do not need any more.
  /// `gate`: null except in the run that checks times.
  TaskSolver(trellis::TaskGraph& graph, Slab& slab, Problem const& problem, int chunk,
             Series& series, bool releases, Gate* gate = nullptr)
      : m_graph(graph),
        m_slab(slab),
        m_problem(problem),
        m_series(series),
        m_releases(releases),
        m_gate(gate),
        m_slots(chunk),
        m_come{Fields::Current("J from the west", 2, 2, slab.fields.columns),
               Fields::Current("J from the east", 1, 2, slab.fields.columns)} {}

  /// Submits all steps, and waits. Collective.
  void solve() {
    open();
    for (int step = 0; step < m_problem.steps; ++step) take_step(step);
    m_graph.wait();
  }

 private:
  using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;

  /// The first task runs when this thread waits. So a short run submits all tasks before anything
  /// happens, and its graph is the same each time.
  void open() {
    trellis::host_task(
        "open",
        trellis::ResourcePolicy(m_graph, trellis::main_thread, trellis::read_write(m_slab.fields.e),
                                trellis::read_write(m_slab.fields.b)),
        [] {});
  }

  void take_step(int step) {
    std::string const name = " " + std::to_string(step);
    int const check = m_problem.check_of(step);
    Fields const& f = m_slab.fields;
    int const last = f.rows - 1;

    half_step_of_b(name, false);
    exchange_rows("B", name, tag_b, f.b, {0, 0}, {last, last}, {-1, -1}, {last + 1, last + 1});
    // What leaves a border starts first.
    push(m_slab.last(), step, name, check);
    for (int t = 0; t < m_slab.last(); ++t) push(t, step, name, check);
    if (check >= 0) look(check);
    exchange_currents(name);
    exchange_particles(name);
    for (int t = 0; t <= m_slab.last(); ++t) insert(t, name);
    half_step_of_b(name, true);
    step_of_e(name);
    exchange_rows("E", " " + std::to_string(step + 1), tag_e, f.e, {0, 0}, {last, last}, {-1, -1},
                  {last + 1, last + 1});
    if (check >= 0) conserve(check);
  }

  // --- fields

  /// The rows of a View, a halo included, from the first to the last one.
  using Span = std::pair<int, int>;
  template <class V>
  static auto rows_of(V const& view, Span rows) {
    std::pair const at(rows.first + 1, rows.second + 2);
    if constexpr (V::rank() == 2)
      return Kokkos::subview(view, at, Kokkos::ALL);
    else
      return Kokkos::subview(view, at, Kokkos::ALL, Kokkos::ALL);
  }

  /// The last row needs E of the neighbour. After the second half E needs the row before the first
  /// one. It belongs to the neighbour, which computes the same bits there; computing it here saves
  /// a message.
  void half_step_of_b(std::string const& name, bool is_second) {
    Fields const& f = m_slab.fields;
    advance_b("B border" + name, {f.rows - 1, f.rows - 1}, border_first);
    if (is_second) advance_b("B border" + name, {-1, -1}, border_first);
    for (std::size_t t = 0; t < m_slab.tiles.size(); ++t) {
      Tile const& tile = m_slab.tiles[t];
      advance_b("B core" + name, {tile.begin, std::min(tile.end, f.rows - 1) - 1}, core_last);
    }
  }
  void advance_b(std::string const& label, Span rows, trellis::priority urgency) {
    Fields const& f = m_slab.fields;
    trellis::parallel_for(
        label,
        trellis::ResourcePolicy(m_graph, Rows(rows.first, rows.second + 1), urgency,
                                trellis::read(rows_of(f.e, {rows.first, rows.second + 1})),
                                trellis::read_write(rows_of(f.b, rows))),
        HalfStepOfB{f, m_problem.time_step / (2 * m_problem.spacing)});
  }

  /// The first row needs B of the neighbour.
  void step_of_e(std::string const& name) {
    advance_e("E border" + name, {0, 0}, border_first);
    for (Tile const& tile : m_slab.tiles)
      advance_e("E core" + name, {std::max(tile.begin, 1), tile.end - 1}, core_last);
  }
  void advance_e(std::string const& label, Span rows, trellis::priority urgency) {
    Fields const& f = m_slab.fields;
    auto const flown =
        Kokkos::subview(f.flown, std::pair(rows.first, rows.second + 1), Kokkos::ALL, Kokkos::ALL);
    trellis::parallel_for(
        label,
        trellis::ResourcePolicy(m_graph, Rows(rows.first, rows.second + 1), urgency,
                                trellis::read(rows_of(f.b, {rows.first - 1, rows.second})),
                                trellis::read_write(rows_of(f.e, rows)),
                                trellis::read_write(rows_of(f.j, rows)),
                                trellis::read_write(flown)),
        StepOfE{f, m_problem.time_step / m_problem.spacing, m_problem.current_unit()});
  }

  /// Sends rows to both sides, and receives those of the neighbours.
  template <class V>
  void exchange_rows(char const* what, std::string const& name, int tag, V const& view,
                     Span to_west, Span to_east, Span from_west, Span from_east) {
    receive(west, what, name, tag, rows_of(view, from_west));
    receive(east, what, name, tag, rows_of(view, from_east));
    send(west, what, name, tag, rows_of(view, to_west));
    send(east, what, name, tag, rows_of(view, to_east));
  }
  template <class V>
  void send(Side side, char const* what, std::string const& name, int tag, V const& rows) {
    trellis::mpi::send(std::string("send ") + what + " " + name_of(side) + name,
                       trellis::ResourcePolicy(m_graph, messages_first), m_slab.comm, rows,
                       m_slab.neighbours[side], tag + side);
  }
  template <class V>
  void receive(Side side, char const* what, std::string const& name, int tag, V const& rows) {
    trellis::mpi::recv(std::string("recv ") + what + " " + name_of(side) + name,
                       trellis::ResourcePolicy(m_graph, messages_first), m_slab.comm, rows,
                       m_slab.neighbours[side], tag + opposite(side));
  }

  /// Sends what particles of this rank have added to the rows of its neighbours, and receives
  /// theirs.
  void exchange_currents(std::string const& name) {
    Fields const& f = m_slab.fields;
    auto const beyond_west = rows_of(f.j, {-1, -1});
    auto const beyond_east = rows_of(f.j, {f.rows, f.rows + 1});
    receive(west, "J", name, tag_j, m_come[west]);
    receive(east, "J", name, tag_j, m_come[east]);
    send(west, "J", name, tag_j, beyond_west);
    send(east, "J", name, tag_j, beyond_east);
    add_current(west, name, rows_of(f.j, {0, 1}));
    add_current(east, name, rows_of(f.j, {f.rows - 1, f.rows - 1}));
    trellis::deep_copy("clear J", trellis::ResourcePolicy(m_graph, border_first), beyond_west,
                       std::int64_t{0});
    trellis::deep_copy("clear J", trellis::ResourcePolicy(m_graph, border_first), beyond_east,
                       std::int64_t{0});
  }
  template <class V>
  void add_current(Side side, std::string const& name, V const& rows) {
    trellis::host_task(
        std::string("add J ") + name_of(side) + name,
        trellis::ResourcePolicy(m_graph, border_first, trellis::read(m_come[side]),
                                trellis::atomic_add(rows)),
        [gate = side == west ? m_gate : nullptr](auto const& come, auto const& here) {
          if (gate != nullptr) gate->current_has_come();
          for (std::size_t r = 0; r < come.extent(0); ++r)
            for (std::size_t k = 0; k < 2; ++k)
              for (std::size_t c = 0; c < come.extent(2); ++c) here(r, k, c) += come(r, k, c);
        });
  }

  // --- particles

  void push(int t, int step, std::string const& name, int check) {
    using trellis::read, trellis::read_write, trellis::atomic_add;
    Fields const& f = m_slab.fields;
    Tile const& tile = m_slab.tiles[static_cast<std::size_t>(t)];
    std::string const where = !m_slab.is_border(t) ? "core" : t == 0 ? "west" : "east";
    auto const currents = rows_of(f.j, {tile.begin - 1, tile.end + 1});
    auto const body = [this, &f, &tile, t, step, check, currents](trellis::TaskScope& self) {
      Gate* const gate = m_gate != nullptr && t <= 1 ? m_gate : nullptr;
      if (gate != nullptr && t == 1) gate->core_has_begun(step);
      Ledger ledger;
      std::vector<std::size_t> leavers[2];
      std::vector<Particle>& all = *tile.particles;
      for (std::size_t k = 0; k < all.size(); ++k) {
        int const row = particles::push(
            all[k], f, m_problem, ledger,
            [](std::int64_t& j, std::int64_t amount) { Kokkos::atomic_add(&j, amount); });
        if (row < tile.begin) leavers[west].push_back(k);
        if (row >= tile.end) leavers[east].push_back(k);
      }
      if (check >= 0) m_series.ledgers(check, t) = ledger;
      if (gate != nullptr && t == 0) gate->border_waits_for_core(step);
      // The currents are complete: tasks that wait for them need not wait for the rest.
      if (m_releases) self.release(currents);
      if (gate != nullptr && t == 0) gate->border_waits_for_message(step);
      // The side where a message waits comes first.
      for (Side const side : {t == m_slab.last() ? east : west, t == m_slab.last() ? west : east}) {
        for (std::size_t const k : leavers[side]) tile.leaving[side]->push_back(all[k]);
        if (m_releases) self.release(tile.leaving[side]);
      }
      close_gaps(all, leavers[west], leavers[east]);
      if (gate != nullptr && t == 1) gate->core_waits_for_message(step);
    };
    auto const urgency = m_slab.is_border(t) ? border_first : core_last;
    trellis::AccessList ledger;
    if (check >= 0) ledger.write(Kokkos::subview(m_series.ledgers, check, t));
    trellis::host_task(
        "push " + where + name,
        trellis::ResourcePolicy(
            m_graph, urgency, read(rows_of(f.e, {tile.begin - 1, tile.end})),
            read(rows_of(f.b, {tile.begin - 1, tile.end})),
            atomic_add(trellis::atomic_view<std::decay_t<decltype(currents)>>(currents)),
            read_write(tile.particles), read_write(tile.leaving[west]),
            read_write(tile.leaving[east]), ledger),
        body);
  }

  /// Removes these particles; their numbers come in two ascending lists.
  static void close_gaps(std::vector<Particle>& all, std::vector<std::size_t> const& some,
                         std::vector<std::size_t> const& others) {
    std::size_t a = some.size(), b = others.size();
    while (a + b > 0) {  // from behind, so that the last one of all remains
      bool const is_some = b == 0 || (a > 0 && some[a - 1] > others[b - 1]);
      all[is_some ? some[--a] : others[--b]] = all.back();
      all.pop_back();
    }
  }

  void exchange_particles(std::string const& name) {
    trellis::host_task("exchange particles" + name,
                       Exchange::policy(m_graph, messages_first, m_slab, m_slots),
                       Exchange(m_slab, m_slots, m_series.chunks, m_releases));
  }

  /// Inserts what has left the tiles on both sides, or has come from other ranks.
  void insert(int t, std::string const& name) {
    auto const k = static_cast<std::size_t>(t);
    ParticleBuffer const& to = m_slab.tiles[k].particles;
    ParticleBuffer const& from_west =
        t == 0 ? m_slab.arriving[west] : m_slab.tiles[k - 1].leaving[east];
    ParticleBuffer const& from_east =
        t == m_slab.last() ? m_slab.arriving[east] : m_slab.tiles[k + 1].leaving[west];
    using trellis::read_write;
    trellis::host_task(
        "insert " + std::to_string(t) + name,
        trellis::ResourcePolicy(m_graph, border_first, read_write(to), read_write(from_west),
                                read_write(from_east)),
        [](ParticleBuffer const& into, ParticleBuffer const& a, ParticleBuffer const& b) {
          into.take_all_of(a);
          into.take_all_of(b);
        });
  }

  // --- what is looked at

  void look(int check) {
    Fields const& f = m_slab.fields;
    for (Tile const& tile : m_slab.tiles) {
      Span const rows(tile.begin, tile.end - 1);
      auto const into = Kokkos::subview(m_series.rows, check, std::pair(tile.begin, tile.end));
      trellis::host_task(
          "look",
          trellis::ResourcePolicy(m_graph, trellis::read(rows_of(f.e, rows)),
                                  trellis::read(rows_of(f.b, rows)), trellis::write(into)),
          [&f, rows, into, spacing = m_problem.spacing] {
            for (int row = rows.first; row <= rows.second; ++row)
              into(row - rows.first) = sums_of_row(f, row, spacing);
          });
    }
  }

  /// The program's own call of MPI, which blocks. That is safe, as the task has both communicators
  /// as a whole: it starts when all messages that this rank has submitted before have been started.
  /// So no rank that has not reached this call yet waits for one of them. Throws when particles
  /// have been lost, so the run ends there.
  void conserve(int check) {
    auto const ledgers = Kokkos::subview(m_series.ledgers, check, Kokkos::ALL);
    auto const total = Kokkos::subview(m_series.totals, check);
    trellis::host_task(
        "conserve",
        trellis::ResourcePolicy(m_graph, trellis::read_write(m_slab.comm),
                                trellis::read_write(m_slab.exchanges), trellis::read(ledgers),
                                trellis::write(total)),
        [this, check, ledgers, total] {
          Ledger mine;
          for (std::size_t t = 0; t < ledgers.extent(0); ++t) {
            mine.count += ledgers(t).count;
            mine.kinetic += ledgers(t).kinetic;
            mine.ux += ledgers(t).ux;
            mine.uy += ledgers(t).uy;
          }
          static_assert(sizeof(Ledger) == 4 * sizeof(std::int64_t));
          Ledger all;
          if (int const code =
                  MPI_Allreduce(&mine, &all, 4, MPI_INT64_T, MPI_SUM, m_slab.comm.comm());
              code != MPI_SUCCESS)
            throw trellis::mpi::Error("MPI_Allreduce", code);
          total() = all;
          if (all.count != m_problem.particles())
            throw std::runtime_error("at check " + std::to_string(check) + " there are " +
                                     std::to_string(all.count) + " particles, not " +
                                     std::to_string(m_problem.particles()));
        });
  }

  static constexpr int tag_b = 0, tag_j = 2, tag_e = 4;  // and the side to which it goes

  trellis::TaskGraph& m_graph;
  Slab& m_slab;
  Problem const& m_problem;
  Series& m_series;
  bool m_releases;
  Gate* m_gate;
  ChunkSlots m_slots;
  Fields::Current m_come[2];  ///< for each side
};

}  // namespace particles

#endif
