// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random models whose tasks run anywhere, elsewhere in each iteration, against a plain loop.
#include "DeviceFields.hpp"

#include <Kokkos_DualView.hpp>

#include "Watchdog.hpp"
#include "RandomNumbers.hpp"
#include "Seeds.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace trellis {
namespace {

using namespace Test;
using HostKernels = Simulated::kernel_space;
using Dual = Kokkos::DualView<double*, Kokkos::LayoutRight, Simulated>;
using Piece = decltype(subfield(std::declval<F>(), Kokkos::pair<int, int>()));

/// Everywhere in turn, as chance has it.
class AnywherePlacement final : public PlacementPolicy {
 public:
  /// `settles`: the first choice stays.
  explicit AnywherePlacement(std::uint64_t seed, bool settles = false)
      : m_random(seed), m_settles(settles) {}
  [[nodiscard]] std::string_view name() const override { return "anywhere"; }
  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    if (m_settles && m_chosen.size() == places.size()) {
      std::copy(m_chosen.begin(), m_chosen.end(), places.begin());
      return;
    }
    std::map<int, int> of_unit;
    for (std::size_t k = 0; k < places.size(); ++k) {
      auto const& eligible = graph.tasks[k].eligible;
      int const choice = eligible[pick(m_random, 0, eligible.size() - 1)];
      places[k] = of_unit.try_emplace(graph.tasks[k].unit, choice).first->second;
    }
    m_chosen.assign(places.begin(), places.end());
  }
  [[nodiscard]] bool wants_times() const override { return !m_settles; }

 private:
  Random m_random;
  bool const m_settles;
  std::vector<int> m_chosen;
};

struct Stretch {
  int field, first, end;
};
enum class At { anywhere, host, first, second };
struct Move {
  std::vector<Stretch> in;
  Stretch out;
  At at;
};
enum class Kept { nothing, required, on_host, on_first, on_second, twice };
struct Plot {
  std::vector<Move> moves;  ///< in an order in which they can run
  std::vector<Kept> kept;   ///< of each field; 0 and 1 are roots
};

Plot random_plot(Random& random) {
  Plot plot;
  auto const choose_kept = [&](bool is_root) {
    std::uint64_t const chance = pick(random, 0, is_root ? 3 : 9);
    Kept const all[] = {Kept::on_host, Kept::on_first, Kept::twice, Kept::on_second,
                        Kept::required};
    return chance < 5 ? all[chance] : Kept::nothing;
  };
  for (int k = 0; k < 2; ++k) plot.kept.push_back(choose_kept(true));
  std::size_t const fields = pick(random, 3, 10);
  for (std::size_t k = 0; k < fields; ++k) {
    int const field = static_cast<int>(plot.kept.size());
    bool const is_last = k + 1 == fields;
    Kept kept = choose_kept(false);
    if (is_last && kept == Kept::nothing) kept = Kept::required;
    plot.kept.push_back(kept);
    int const cut = pick(random, 0, 2) == 0 ? static_cast<int>(pick(random, 1, n - 1)) : n;
    auto const at = static_cast<At>(std::max<int>(0, static_cast<int>(pick(random, 0, 5)) - 2));
    for (int half = 0; half < (cut < n ? 2 : 1); ++half) {
      Move move{{}, {field, half == 0 ? 0 : cut, half == 0 ? cut : n}, at};
      for (std::uint64_t reads = pick(random, 1, 3); reads > 0; --reads) {
        int const from = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(field) - 1));
        int const first = static_cast<int>(pick(random, 0, n - 1));
        move.in.push_back(
            {from, first,
             static_cast<int>(pick(random, static_cast<std::uint64_t>(first) + 1, n))});
      }
      plot.moves.push_back(move);
    }
  }
  return plot;
}

template <class Views>
KOKKOS_FUNCTION double computed(int k, Views const& in) {
  double value = 0.25 * (k + 1);
  for (auto const& from : in) value = value / 3 + from(k % static_cast<int>(from.extent(0)));
  return value;
}
struct Compute {
  std::atomic<int> const* failing;
  int number;
  void operator()(int k, view_list<Piece::read_view> const& in, Piece::view const& out) const {
    if (*failing == number) throw std::runtime_error("failing");
    out(k) = computed(k, in);
  }
};
struct Row {
  double const* data;
  int size;
  [[nodiscard]] int extent(int) const { return size; }
  double operator()(int k) const { return data[k]; }
};
using Rows = std::vector<std::vector<double>>;

void run_plainly(Plot const& plot, Rows& rows) {
  for (Move const& move : plot.moves) {
    std::vector<Row> in;
    for (Stretch const& each : move.in)
      in.push_back(
          {rows[static_cast<std::size_t>(each.field)].data() + each.first, each.end - each.first});
    for (int k = 0; k < move.out.end - move.out.first; ++k)
      rows[static_cast<std::size_t>(move.out.field)][static_cast<std::size_t>(move.out.first + k)] =
          computed(k, in);
  }
}

class Played {
 public:
  Played(TaskGraph& graph, Plot const& plot, Random& random, FieldGraphOptions options)
      : m_plot(plot), m_model(graph, std::move(options)) {
    for (std::size_t k = 0; k < plot.kept.size(); ++k) {
      std::string const name = "f" + std::to_string(k);
      m_host.emplace_back(name, n);
      m_device.emplace_back(
          Kokkos::view_alloc(name, SimulatedSpace(plot.kept[k] == Kept::on_second ? 1 : 0)), n);
      m_dual.emplace_back();
      switch (plot.kept[k]) {
        case Kept::on_host:
          m_fields.push_back(m_model.bind(Label(name), m_host.back()));
          break;
        case Kept::on_first:
        case Kept::on_second:
          m_fields.push_back(m_model.bind(Label(name), m_device.back(),
                                          gpu(plot.kept[k] == Kept::on_second ? 1 : 0)));
          break;
        case Kept::twice:
          m_dual.back() = Dual(name, n);
          m_fields.push_back(m_model.bind(Label(name), m_dual.back()));
          break;
        default:
          m_fields.push_back(make_field(m_model, name));
      }
      if (k >= 2 && plot.kept[k] != Kept::nothing) m_model.require(m_fields.back());
    }
    std::vector<std::size_t> order(plot.moves.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t const k : order) add(k);
  }
  FieldGraph& model() { return m_model; }
  std::atomic<int> failing{-1};

  void set_root(std::size_t k, double value) {
    Kokkos::deep_copy(m_host[k], value);
    Kokkos::deep_copy(m_device[k], value);
    if (m_plot.kept[k] != Kept::twice) return;
    Kokkos::deep_copy(m_dual[k].view_host(), value);
    m_dual[k].modify_host();
  }
  /// An ordinary task between iterations.
  void change_root(TaskGraph& graph) {
    auto const change = KOKKOS_LAMBDA(int k, DeviceValues const& v) {
      v(k) = v(k) / 2 + 1;
    };
    switch (m_plot.kept[0]) {
      case Kept::on_host:
        host_task("between", ResourcePolicy(graph, read_write(m_host[0])), [](Values const& v) {
          for (int k = 0; k < n; ++k) v(k) = v(k) / 2 + 1;
        });
        break;
      case Kept::twice:
        host_task("between", ResourcePolicy(graph, read_write(m_dual[0])),
                  [](Dual::t_host const& v) {
                    for (int k = 0; k < n; ++k) v(k) = v(k) / 2 + 1;
                  });
        break;
      default:
        parallel_for("between",
                     ResourcePolicy(graph, n, read_write(m_device[0]), on<Simulated>,
                                    device(m_plot.kept[0] == Kept::on_second ? 1 : 0)),
                     change);
    }
  }
  /// The same as a task of a plan, which changes no flags.
  void change_root_in_plan(TaskGraph& graph) {
    if (m_plot.kept[0] != Kept::twice) return change_root(graph);
    Dual::t_host const side = m_dual[0].view_host();
    host_task("between", ResourcePolicy(graph, read_write(side)), [=] {
      for (int k = 0; k < n; ++k) side(k) = side(k) / 2 + 1;
    });
  }
  /// So a program says before and after it where the newest values are.
  void root_is_on_host() {
    if (m_plot.kept[0] != Kept::twice) return;
    m_dual[0].sync_host();
    m_dual[0].clear_sync_state();
    m_dual[0].modify_host();
  }
  /// Requires that the graph is idle. Empty: nobody can tell.
  [[nodiscard]] std::vector<double> values(std::size_t k) const {
    std::vector<double> all(n);
    auto const take = [&](auto const& view) {
      auto const here = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
      for (int i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = here(i);
    };
    switch (m_plot.kept[k]) {
      case Kept::on_host:
        take(m_host[k]);
        break;
      case Kept::on_first:
      case Kept::on_second:
        take(m_device[k]);
        break;
      case Kept::twice:
        if (m_dual[k].need_sync_host())
          take(m_dual[k].view_device());
        else
          take(m_dual[k].view_host());
        break;
      case Kept::required:
        if (!is_host_side(k)) return {};
        take(m_model.host_view(m_fields[k]));
        break;
      default:
        return {};
    }
    return all;
  }

 private:
  [[nodiscard]] bool is_host_side(std::size_t k) const {
    for (Move const& move : m_plot.moves)
      if (move.out.field == static_cast<int>(k) && (move.at == At::first || move.at == At::second))
        return false;
    return true;
  }
  void add(std::size_t number) {
    Move const& move = m_plot.moves[number];
    std::vector<Piece> in;
    for (Stretch const& each : move.in) in.push_back(piece(each));
    Piece const out = piece(move.out);
    Compute const compute{&failing, static_cast<int>(number)};
    auto const submit = [&](auto const&... where) {
      parallel_for(
          Label("move " + std::to_string(number)),
          ResourcePolicy(m_model, move.out.end - move.out.first, read(in), write(out), where...),
          compute);
    };
    switch (move.at) {
      case At::anywhere:
        submit(runs_on<HostKernels, Simulated>);
        break;
      case At::host:
        submit(on<HostKernels>);
        break;
      default:
        submit(on<Simulated>, device(move.at == At::first ? 0 : 1));
    }
  }
  [[nodiscard]] Piece piece(Stretch const& of) const {
    return subfield(m_fields[static_cast<std::size_t>(of.field)], Kokkos::pair(of.first, of.end));
  }
  Plot const& m_plot;
  std::vector<Values> m_host;
  std::vector<DeviceValues> m_device;
  std::vector<Dual> m_dual;
  std::vector<F> m_fields;
  FieldGraph m_model;
};

class RandomPlacements : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = GetParam(),
                          .kernel_units = 2000,
                          .link_latency = 1000,
                          .launch_is_slow = true},
                         2);
  }
  void TearDown() override { Simulated::configure({}); }
};
INSTANTIATE_TEST_SUITE_P(, RandomPlacements, testing::Values(false, true), [](auto const& time) {
  return std::string(time.param ? "Virtual" : "Real");
});

TEST_P(RandomPlacements, AreWhatAPlainLoopIs) {
  Watchdog const watchdog(std::chrono::seconds(200), "RandomPlacements");
  int failed = 0, limited = 0;
  std::size_t copies = 0;
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 10 : 30)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Plot const plot = random_plot(random);
    TaskGraph graph(shaken(static_cast<int>(pick(random, 1, 3)), seed));
    auto const pool = std::make_shared<FieldPool>();
    FieldGraphOptions options{.targets = {host, gpu(0), gpu(1)}};
    if (pick(random, 0, 1) == 0) options.pool = pool;
    std::uint64_t const kind = pick(random, 0, 4);
    switch (kind) {
      // With as much memory as the tasks need in order, or wherever chance has put them: that fits,
      // and so the hybrid policy finds something that does.
      case 0:
      case 4: {
        Random same = random;
        if (kind == 0)
          options.placement = make_order_placement();
        else
          options.placement = std::make_shared<AnywherePlacement>(seed);
        Played probe(graph, plot, same, options);
        std::size_t limit = 0;
        for (FieldTarget const& each : options.targets)
          limit = std::max(limit, probe.model().memory(each).peak());
        options.memory_limit = limit;
        if (kind == 0)
          options.placement = make_order_placement();
        else
          options.placement = make_hybrid_placement();
        options.pool = nullptr;
        ++limited;
        break;
      }
      case 1:
        options.placement = make_hybrid_placement({.balance = Balance::round_robin});
        break;
      default:
        options.placement = std::make_shared<AnywherePlacement>(seed);
    }
    // Two models with one pool, of the same fields by name.
    Played run(graph, plot, random, options);
    std::optional<Played> other;
    if (!options.memory_limit.has_value() && pick(random, 0, 1) == 0) {
      options.placement = std::make_shared<AnywherePlacement>(seed + 1);
      other.emplace(graph, plot, random, options);
    }
    Rows rows(plot.kept.size(), std::vector<double>(n, 0));
    for (std::size_t k = 0; k < 2; ++k) {
      double const value = static_cast<double>(pick(random, 0, 100)) / 8;
      rows[k].assign(n, value);
      run.set_root(k, value);
      if (other.has_value()) other->set_root(k, value);
    }
    auto const check = [&](Played const& played) {
      for (std::size_t k = 0; k < rows.size(); ++k) {
        auto const values = played.values(k);
        if (!values.empty()) ASSERT_EQ(values, rows[k]) << "field " << k;
      }
    };
    auto const play = [&](int iterations) {
      for (int iteration = 0; iteration < iterations; ++iteration) {
        for (Played* each : {&run, other.has_value() ? &*other : nullptr}) {
          if (each == nullptr) continue;
          each->model().submit();
          each->change_root(graph);
        }
        run_plainly(plot, rows);
        for (double& value : rows[0]) value = value / 2 + 1;
      }
    };
    play(static_cast<int>(pick(random, 1, 9)));
    graph.wait();
    check(run);
    if (other.has_value()) check(*other);
    if (options.memory_limit.has_value())
      for (FieldTarget const& each : options.targets)
        ASSERT_LE(run.model().pool().counts(each).most_held, *options.memory_limit);

    // A task of the host fails; the next iteration is whole.
    for (std::size_t k = 0; k < plot.moves.size(); ++k)
      if (plot.moves[k].at == At::host) run.failing = static_cast<int>(k);
    auto const order = run.model().order();
    std::string const label = "move " + std::to_string(run.failing);
    if (run.failing >= 0 && std::find(order.begin(), order.end(), label) != order.end()) {
      run.model().submit();
      ASSERT_THAT(message_of([&] { graph.wait(); }), testing::HasSubstr('"' + label + '"'));
      ++failed;
    }
    run.failing = -1;
    play(1);
    graph.wait();
    check(run);
    std::size_t kept = 0;
    for (FieldTarget const& each : options.targets) {
      kept += run.model().memory(each).persistent;
      if (other.has_value() && options.pool != nullptr)
        kept += other->model().memory(each).persistent;
    }
    ASSERT_EQ(run.model().pool().counts().live, kept);
    for (std::string const& each : run.model().order())
      if (each.find(" to ") != std::string::npos) ++copies;
  }
  EXPECT_GT(copies, 0U);
  if (failed + limited == 0) GTEST_SKIP() << "this seed has neither failures nor limits";
}

/// Iterations in plans, among ordinary ones.
TEST_P(RandomPlacements, InPlansAreWhatAPlainLoopIs) {
  Watchdog const watchdog(std::chrono::seconds(200), "RandomPlacements.InPlans");
  int replayed = 0;
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 10 : 30)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Plot const plot = random_plot(random);
    TaskGraph graph(shaken(static_cast<int>(pick(random, 1, 3)), seed));
    FieldGraphOptions options{.targets = {host, gpu(0), gpu(1)},
                              .placement = std::make_shared<AnywherePlacement>(seed, true)};
    Played run(graph, plot, random, options);
    Rows rows(plot.kept.size(), std::vector<double>(n, 0));
    for (std::size_t k = 0; k < 2; ++k) {
      rows[k].assign(n, static_cast<double>(pick(random, 0, 100)) / 8);
      run.set_root(k, rows[k][0]);
    }
    auto const follow = [&](std::uint64_t steps) {
      for (; steps > 0; --steps) {
        run_plainly(plot, rows);
        for (double& value : rows[0]) value = value / 2 + 1;
      }
    };
    auto const check = [&] {
      graph.wait();
      for (std::size_t k = 0; k < rows.size(); ++k) {
        auto const values = run.values(k);
        if (!values.empty()) {
          ASSERT_EQ(values, rows[k]) << "field " << k;
        }
      }
    };
    // After two iterations the flags of DualViews stay as they are.
    for (int iteration = 0; iteration < 2; ++iteration) {
      run.model().submit();
      run.change_root(graph);
    }
    follow(2);
    check();
    run.root_is_on_host();
    Plan const plan = graph.record("step", [&] {
      run.model().submit();
      run.change_root_in_plan(graph);
    });
    std::vector<FieldPoolCounts> recorded;
    for (FieldTarget const& each : options.targets) {
      recorded.push_back(run.model().pool().counts(each));
      ASSERT_EQ(recorded.back().live, run.model().memory(each).persistent);
    }
    for (std::uint64_t acts = pick(random, 1, 5); acts > 0; --acts) {
      std::uint64_t const rounds = pick(random, 1, 3);
      graph.replay(plan, rounds);
      follow(rounds);
      replayed += static_cast<int>(rounds);
      check();
      run.root_is_on_host();
    }
    for (std::size_t k = 0; k < recorded.size(); ++k)
      ASSERT_EQ(run.model().pool().counts(options.targets[k]).allocated, recorded[k].allocated);
    run.model().submit();
    run.change_root(graph);
    follow(1);
    check();
  }
  EXPECT_GT(replayed, 0);
}

/// A model ends while its iterations are in flight, with copies on their way.
TEST_P(RandomPlacements, AModelMayEndBeforeItsIterations) {
  TaskGraph graph(with_workers(2));
  auto const pool = std::make_shared<FieldPool>();
  Values const x("x", n), y("y", n);
  {
    FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)},
                             .pool = pool,
                             .placement = std::make_shared<AnywherePlacement>(1)});
    F last = model.bind("x", x);
    for (int k = 0; k < 6; ++k) {
      F const next = k == 5 ? model.bind("y", y) : make_field(model, "q" + std::to_string(k));
      parallel_for(
          "step",
          ResourcePolicy(model, n, read(last), write(next), runs_on<HostKernels, Simulated>),
          KOKKOS_LAMBDA(int k, F::read_view const& from, F::view const& to) {
            to(k) = from(k) + 1;
          });
      last = next;
    }
    model.require(last);
    for (int iteration = 0; iteration < 5; ++iteration) model.submit();
    graph.iterate("iterations", 3, [&] { model.submit(); });
  }
  graph.wait();
  EXPECT_EQ(y(n - 1), 6);
  EXPECT_EQ(pool->counts().live, 0U);
}

}  // namespace
}  // namespace trellis
