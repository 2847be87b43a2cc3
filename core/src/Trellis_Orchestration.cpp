// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Orchestration.hpp>
#include <Trellis_Space.hpp>
#include <impl/Trellis_FusionOps.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// The strategies that come with the library.
namespace trellis {

std::string Impl::readable_name(std::type_info const& type) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return name != nullptr ? name.get() : type.name();
}

std::string TaskKind::name() const {
  if (m_ops == nullptr) return "none";
  return m_ops->name() + (m_space != nullptr ? " on " + std::string(m_space->name()) : "");
}

namespace {

using When = FuseInstruction::When;

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

/// Always gives the same answers.
class Fixed : public Orchestration {
 public:
  /// `at_end`: how many tasks of all kinds may stay held back when a fork-join has ended.
  explicit Fixed(std::string name, std::size_t held = 0, std::size_t at_end = 0,
                 FuseInstruction const& how = {})
      : m_name(std::move(name)), m_held(held), m_at_end(at_end), m_how(how) {}
  [[nodiscard]] std::string name() const final { return m_name; }
  [[nodiscard]] std::size_t hold_back(TaskKind kind) override { return kind ? m_held : m_at_end; }
  [[nodiscard]] FuseInstruction fuse(TaskKind) override { return m_how; }

 private:
  std::string const m_name;
  std::size_t const m_held;
  std::size_t const m_at_end;
  FuseInstruction const m_how;
};

/// Serves one graph or several: holds tasks back while a fork-join of any of them is under way.
class AllOnDevice final : public Fixed {
 public:
  explicit AllOnDevice(int device)
      : Fixed("all_on_device:" + std::to_string(device), all, all,
              {.device = device, .when = When::fork_join_end}) {}
  void fork_join_starts(int) override { m_fork_joins.fetch_add(1, std::memory_order_relaxed); }
  void fork_join_ends(int) override { m_fork_joins.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t hold_back(TaskKind) override { return within() ? all : 0; }
  [[nodiscard]] FuseInstruction fuse(TaskKind kind) override {
    FuseInstruction out = Fixed::fuse(kind);
    if (!within()) out.min = 1;
    return out;
  }

 private:
  [[nodiscard]] bool within() const { return m_fork_joins.load(std::memory_order_relaxed) > 0; }
  std::atomic<int> m_fork_joins{0};
};

class RoundRobin final : public Fixed {
 public:
  RoundRobin(std::size_t n, int devices)
      : Fixed("round_robin:" + std::to_string(n) +
                  (devices == 1 ? "" : ":" + std::to_string(devices)),
              all, all, {.min = n, .when = When::at_spawn}),
        m_places(static_cast<unsigned>(devices) + 1) {}
  [[nodiscard]] FuseInstruction fuse(TaskKind kind) override {
    static_assert(FuseInstruction::home == -1, "it comes before device 0");
    FuseInstruction out = Fixed::fuse(kind);
    out.device = static_cast<int>(m_turn.load(std::memory_order_relaxed) % m_places) - 1;
    return out;
  }
  /// A batch has gone where the last answer said.
  void formed(TaskKind kind, FusionSample const& sample) override {
    if (sample.batch >= Fixed::fuse(kind).min) m_turn.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  unsigned const m_places;
  std::atomic<unsigned> m_turn{0};
};

/// Tries the others in turns. It measures a turn from its first fork-join to that of the next turn,
/// so that work which a fork-join has left for later counts as well.
class Learning final : public Fixed {
 public:
  explicit Learning(std::uint64_t seed)
      : Fixed("learning" + (seed == 1 ? std::string() : ":" + std::to_string(seed))),
        m_random(seed) {}

  void fork_join_starts(int depth) override {
    if (depth == 0) count_fork_join();
    for (auto const& each : m_strategies) each->fork_join_starts(depth);
  }
  void fork_join_ends(int depth) override {
    for (auto const& each : m_strategies) each->fork_join_ends(depth);
  }
  [[nodiscard]] std::size_t hold_back(TaskKind kind) override { return current().hold_back(kind); }
  [[nodiscard]] FuseInstruction fuse(TaskKind kind) override { return current().fuse(kind); }
  void formed(TaskKind kind, FusionSample const& sample) override {
    current().formed(kind, sample);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int fork_joins_of_turn = 16;
  static constexpr std::size_t batch = 16;

  [[nodiscard]] Orchestration& current() const {
    return *m_strategies[m_current.load(std::memory_order_relaxed)];
  }
  void count_fork_join() {
    std::lock_guard const lock(m_mutex);
    if (m_fork_joins++ % fork_joins_of_turn != 0) return;
    auto const now = Clock::now();
    auto const began = std::exchange(m_turn_began, now);
    if (m_fork_joins == 1) return;
    std::size_t const last = m_current.load(std::memory_order_relaxed);
    double const seconds = std::max(std::chrono::duration<double>(now - began).count(), 1e-9);
    double& mean = m_seconds[last];
    mean = mean == 0 ? seconds : (mean + seconds) / 2;
    m_current.store(next_after(last), std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t next_after(std::size_t last) {
    if (last + 1 < m_seconds.size() && m_seconds[last + 1] == 0) return last + 1;
    // Twice as fast is four times as likely: in the end most turns are those of the best ones.
    std::vector<double> weights;
    for (double const each : m_seconds) weights.push_back(1 / (each * each));
    return std::discrete_distribution<std::size_t>(weights.begin(), weights.end())(m_random);
  }

  std::vector<std::shared_ptr<Orchestration>> const m_strategies{
      make_native(),          make_bsp(),
      make_backfill(),        make_fuse_immediately(batch),
      make_fuse_late(batch),  make_all_on_device(0),
      make_round_robin(batch)};
  std::atomic<std::size_t> m_current{0};
  std::mutex m_mutex;  ///< guards what follows
  /// Seconds of a turn with each strategy, as a moving average; 0: not measured.
  std::vector<double> m_seconds = std::vector<double>(m_strategies.size());
  std::uint64_t m_fork_joins = 0;
  Clock::time_point m_turn_began{};
  std::mt19937_64 m_random;
};

template <class T>
void require(bool is_met, T value, char const* what) {
  if (!is_met)
    throw Error(Error::Kind::bad_input,
                "Trellis: an orchestration is made with " + std::to_string(value) + ' ' + what);
}

/// Holds everything back, and fuses `n` tasks each.
std::shared_ptr<Orchestration> make_fusing(char const* name, std::size_t n, When when) {
  require(n >= 1, n, "tasks in a batch");
  return std::make_shared<Fixed>(name + std::to_string(n), all, all,
                                 FuseInstruction{.min = n, .max = n, .when = when});
}

}  // namespace

std::shared_ptr<Orchestration> make_native() {
  return std::make_shared<Fixed>("native");
}
std::shared_ptr<Orchestration> make_bsp() {
  return std::make_shared<Fixed>("bsp", all, 0, FuseInstruction{.when = When::fork_join_end});
}
std::shared_ptr<Orchestration> make_backfill() {
  return std::make_shared<Fixed>("backfill", all, all, FuseInstruction{.when = When::when_idle});
}
std::shared_ptr<Orchestration> make_fuse_immediately(std::size_t n) {
  return make_fusing("fuse_immediately:", n, When::at_spawn);
}
std::shared_ptr<Orchestration> make_fuse_late(std::size_t n) {
  return make_fusing("fuse_late:", n, When::when_idle);
}
std::shared_ptr<Orchestration> make_all_on_device(int device) {
  require(device >= 0, device, "as the number of a device");
  return std::make_shared<AllOnDevice>(device);
}
std::shared_ptr<Orchestration> make_round_robin(std::size_t n, int devices) {
  require(devices >= 0, devices, "devices");
  require(n >= 1, n, "tasks in a batch");
  return std::make_shared<RoundRobin>(n, devices);
}
std::shared_ptr<Orchestration> make_learning(std::uint64_t seed) {
  return std::make_shared<Learning>(seed);
}

namespace {

constexpr std::uint64_t any_int = std::numeric_limits<int>::max();

using Numbers = std::array<std::uint64_t, 2>;
/// A name, and how many numbers may follow it. One that is left out is 1.
struct Named {
  std::string_view name;
  std::size_t fewest;
  std::size_t most;
  std::uint64_t largest;
  std::shared_ptr<Orchestration> (*make)(Numbers const&);
};
constexpr Named named[] = {
    {"native", 0, 0, 0, [](Numbers const&) { return make_native(); }},
    {"bsp", 0, 0, 0, [](Numbers const&) { return make_bsp(); }},
    {"backfill", 0, 0, 0, [](Numbers const&) { return make_backfill(); }},
    {"fuse_immediately", 1, 1, any_int,
     [](Numbers const& n) { return make_fuse_immediately(n[0]); }},
    {"fuse_late", 1, 1, any_int, [](Numbers const& n) { return make_fuse_late(n[0]); }},
    {"all_on_device", 1, 1, any_int,
     [](Numbers const& n) { return make_all_on_device(static_cast<int>(n[0])); }},
    {"round_robin", 1, 2, any_int,
     [](Numbers const& n) { return make_round_robin(n[0], static_cast<int>(n[1])); }},
    {"learning", 0, 1, all, [](Numbers const& n) { return make_learning(n[0]); }},
};

}  // namespace

std::shared_ptr<Orchestration> make_orchestration(std::string_view text) {
  char const* const last = text.data() + text.size();
  for (Named const& each : named) {
    if (text.substr(0, text.find(':')) != each.name) continue;
    Numbers numbers{1, 1};
    std::size_t count = 0;
    char const* at = text.data() + each.name.size();
    for (; at != last && *at == ':' && count < each.most; ++count) {
      auto const [end, error] = std::from_chars(at + 1, last, numbers[count]);
      if (error != std::errc() || numbers[count] > each.largest) break;
      at = end;
    }
    if (at == last && count >= each.fewest) return each.make(numbers);
  }
  throw Error(Error::Kind::bad_input,
              "Trellis: there is no orchestration \"" + std::string(text) +
                  "\"; there are native, bsp, backfill, fuse_immediately:N, fuse_late:N, "
                  "all_on_device:D, round_robin:N[:DEVICES] or learning[:SEED]");
}

}  // namespace trellis
