// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_PRODUCTS_WORLD_HPP
#define TRELLIS_TEST_PRODUCTS_WORLD_HPP

#include "FakeDevice.hpp"
#include "BareTask.hpp"
#include "LateTest.hpp"
#include "Program.hpp"
#include "Watchdog.hpp"

#include <Trellis_Progress.hpp>
#include <Trellis_TaskNumbers.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

/// What a program is when it runs.
namespace products {

class World;
struct Instance;

enum class Sort : std::uint8_t { functor, result, tag, state };
inline constexpr int sort_count = 4;

/// A member of functors, results, tags and states that has habits, and is counted. Of its copies
/// one alone acts when it is destroyed: the one that the first was moved into.
class Object {
 public:
  Object() = default;
  Object(World& world, Sort sort, Habits habits, Instance& instance);
  Object(Object const& other);
  Object(Object&& other) noexcept;
  Object& operator=(Object const& other);
  Object& operator=(Object&& other) noexcept;
  ~Object();

 private:
  void enter(bool moved);
  void leave() noexcept;
  World* m_world = nullptr;
  Instance* m_instance = nullptr;
  Habits m_habits;
  Sort m_sort = Sort::functor;
  bool m_armed = false;
};

struct Result {
  std::uint64_t digest = 0;
  Object object;
};
struct Tag {
  int value = 0;
  Object object = {};
  friend bool operator==(Tag const& a, Tag const& b) { return a.value == b.value; }
};
/// `make` depends on everything, `look` on `make`.
struct Claim {
  bool makes = false;
  Object object = {};
  [[nodiscard]] bool is_dependent_of(Claim const& other) const { return makes || other.makes; }
  [[nodiscard]] bool is_superset_of(Claim const& other) const { return makes || !other.makes; }
};

class AnyFuture {
 public:
  AnyFuture() = default;
  AnyFuture(trellis::Future<void> future) : m_future(std::move(future)) {}
  AnyFuture(trellis::Future<Result> future) : m_future(std::move(future)) {}
  [[nodiscard]] trellis::Impl::TaskHandle handle() const {
    return std::visit(
        [](auto const& future) { return trellis::Impl::FutureInternals::handle(future); },
        m_future);
  }
  [[nodiscard]] bool is_done() const {
    return std::visit([](auto const& future) { return future.is_done(); }, m_future);
  }
  void wait() const {
    std::visit([](auto const& future) { future.wait(); }, m_future);
  }
  /// The digest in its result, if it has one.
  std::uint64_t get() const {
    if (auto const* const plain = std::get_if<trellis::Future<void>>(&m_future))
      return plain->get(), 0;
    return std::get<trellis::Future<Result>>(m_future).get().digest;
  }
  [[nodiscard]] trellis::Future<void> const& plain() const {
    return std::get<trellis::Future<void>>(m_future);
  }

 private:
  std::variant<trellis::Future<void>, trellis::Future<Result>> m_future;
};

/// One run of a task's body.
struct Run {
  std::uint64_t digest = 0;
  bool over = false;
  std::vector<Instance*> children = {};
};

/// Recorded tasks, and those that an iteration of a loop has collected, have handles with something
/// else than an id.
inline constexpr std::uint64_t numberless = std::uint64_t{1} << 62U;

/// A task as it was submitted once; a recorded one runs several times.
struct Instance {
  Task const* task = nullptr;
  int number = -1;  ///< in the program; -1: submitted by a destructor
  std::uint64_t salt = 0;
  std::string label;
  Instance* parent = nullptr;  ///< it is a child of
  Loop const* loop = nullptr;
  bool recorded = false;            ///< in a plan of the program's
  std::vector<Instance*> before;    ///< named in after(...)
  std::vector<Instance*> captured;  ///< by step: what it waits for or asks; null: nothing
  Instance* awaited = nullptr;      ///< by its destructors
  AnyFuture future;
  trellis::TaskNumber own_number;
  std::atomic<bool> known{false};  ///< the future is there

  std::deque<Run> runs;  ///< by the body, later by who has waited
  /// For the watchdog, relaxed.
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<int> step{-1};
};

/// A recording.
struct Recording {
  struct Item {
    Instance* instance = nullptr;
    Recording* nested = nullptr;
    int rounds = 1;
  };
  Plan const* plan = nullptr;
  int number = 0;
  std::vector<Item> items;
  trellis::Plan handle;  ///< of the program; threads have their own
  bool held = false;
  std::atomic<bool> known{false};
};

/// Something that has a place in the order of submission to a graph.
struct Event {
  enum class Kind : std::uint8_t { task, replay, wait } kind = Kind::task;
  int graph = 0;
  Instance* instance = nullptr;
  Recording* recording = nullptr;
  std::uint64_t rounds = 0;
  AnyFuture replay;
  /// The order of submission: ids; what has none, as it was submitted within an iteration, comes
  /// after what the same thread has submitted before.
  std::uint64_t id = 0;
  std::uint64_t behind = 0;
  bool ends_phase = false;  ///< `wait`
  bool threw = false;       ///< ...
  std::string text = {};    ///< ... what it threw
};

/// What `get` has said.
struct Got {
  Instance* instance;
  bool threw;
  std::uint64_t digest;
};

/// A thread that follows the program.
struct Follower {
  int number = 0;
  int phase = 0;
  Thread const* thread = nullptr;
  std::array<std::uint64_t, 2> floor{};  ///< by graph: the last id before its phase
  std::vector<Event> events;
  std::vector<Got> got;
  std::vector<std::pair<Recording*, trellis::Plan>> plans;
  Loop const* loop = nullptr;
  Recording* recording = nullptr;
  std::atomic<int> at{-1};  ///< the op, for the watchdog
};

class World {
 public:
  World(Program const& program, trellis::Test::Watchdog* watchdog);
  World(World const&) = delete;
  World& operator=(World const&) = delete;
  ~World();

  /// Runs the program and returns what was wrong.
  std::string run();
  /// What has not come to its end. For the watchdog.
  [[nodiscard]] std::string unfinished();
  /// True when what happened can only be compared in part: the device failed, or a failure met a
  /// plan in a way that depends on time.
  [[nodiscard]] bool uncertain() const { return m_uncertain; }

 private:
  friend class Object;
  friend class Judgement;
  template <class R>
  friend struct HostFunctor;
  friend struct DeviceFunctor;

  // Executor.cpp
  void follow(Follower& follower);
  void follow(Follower& follower, Op const& op);
  void submit_root(int number, std::uint64_t salt);
  void record(Follower& follower, int number);
  void loop(Follower& follower, Loop const& loop);
  void ask_in_iteration(Follower& follower, Loop const& loop, Instance* first, Instance* last,
                        std::vector<std::thread>& helpers);
  void refine(Instance& instance);
  void wait(Follower& follower, int graph, bool ends_phase = false);
  /// The last id of those events that threads which are through, this one and nobody in particular
  /// have noted. Requires m_mutex.
  [[nodiscard]] std::uint64_t last_id(Follower const* own, int graph) const;
  void linger(Follower& follower);
  void phase(std::size_t number);
  void check_live(std::size_t phase);
  void destroy_graph(int graph);
  void get(Follower& follower, Instance& instance);
  [[nodiscard]] trellis::Plan* handle_of(Follower& follower, int plan);

  // Oracle.cpp: compares what happened with the same tasks one by one
  void judge();

  // Submission.cpp
  Instance& new_instance(Task const& task, int number, std::uint64_t salt);
  void submit(Instance& instance, trellis::Impl::TaskHandle const* parent = nullptr);
  template <class F>
  AnyFuture hand_in(Instance& instance, trellis::Impl::TaskHandle const* parent, F functor);
  void note(Event event);
  void perform(Deed deed, Instance& instance);
  void steps(Instance& instance, Run& run);
  void await(Instance const& instance);
  [[nodiscard]] Instance* latest(int task) const;
  std::uint64_t arithmetic(Instance const& instance);
  Run& begin(Instance& instance);
  void end(Instance& instance, Run& run);
  void run_body(Instance& instance, Run& run);
  void run_late_body(Instance& instance, Run& run);
  void launch(Instance& instance, void* stream);
  void run_kernel(Instance& instance);
  void pause(std::uint64_t salt);
  [[nodiscard]] trellis::Bare::Place place(int graph, int first, int count) const;
  [[nodiscard]] std::vector<trellis::Bare::Touch> touches(Instance& instance);

  void beat() {
    if (m_watchdog != nullptr) m_watchdog->beat();
  }
  void complain(std::string text);

  /// Who is in the middle of touching a cell. Relaxed: it must order nothing.
  struct Occupation {
    static constexpr std::uint32_t reader = 1;
    static constexpr std::uint32_t adder = 1U << 8U;
    static constexpr std::uint32_t writer = 1U << 16U;
    static constexpr std::uint32_t excluder = 1U << 24U;
    static std::uint32_t of(Mode mode);
    static bool may_meet(std::uint32_t present, Mode mode);
  };
  void occupy(Instance const& instance);
  void vacate(Instance const& instance);

  Program const& m_program;
  trellis::Test::Watchdog* const m_watchdog;
  struct Cell {
    std::uint64_t value = 0;
  };
  struct Shared {  // of a graph
    bool fuses = false;
    std::array<Cell, Cells::count> cells;
    std::array<std::atomic<std::uint32_t>, Cells::count> occupied{};
    std::atomic<std::uint32_t> tag_one{0};
    std::unique_ptr<trellis::TaskGraph> owner;
    std::mutex mutex;
    std::deque<std::function<void()>> polled;  ///< guarded by mutex
    std::optional<trellis::Progress> progress;
    std::optional<trellis::TaskNumbers> numbers;
    trellis::TaskGraph* graph = nullptr;  ///< tasks still submit while `owner` destroys it
    std::atomic<bool> accepts{true};      ///< false: gone
    std::atomic<bool> closing{false};
    Task by_destructor;
    std::vector<trellis::Test::FakeDevice::Stream> streams;
  };
  std::unique_ptr<trellis::Test::FakeDevice> m_device;
  std::deque<Shared> m_shared;
  trellis::Bare::Elsewhere m_elsewhere;
  std::deque<Recording> m_recordings;
  std::deque<std::atomic<Instance*>> m_latest;

  std::mutex m_mutex;  ///< of the next few
  std::deque<Instance> m_instances;
  std::vector<Event> m_events;  ///< of bodies and destructors
  std::vector<std::string> m_complaints;
  std::deque<Follower> m_followers;
  std::vector<std::thread> m_lingering;

  struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
  };
  std::deque<Gate> m_gates;  ///< by task
  std::array<std::atomic<long>, sort_count> m_live{};
  std::shared_mutex m_device_mutex;  ///< shared by kernels where the device is going to fail
  std::atomic<long> m_kernels{0};    ///< launched and not over
  std::atomic<int> m_launches{0};
  std::atomic<bool> m_stop{false};
  std::atomic<std::uint64_t> m_salt{0};
  bool m_uncertain = false;

  struct Elsewhere;
  static thread_local Follower* t_follower;  ///< whose steps the calling thread follows
};

}  // namespace products

#endif
