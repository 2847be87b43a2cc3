// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EngineRun.hpp"
#include "EngineRecords.hpp"
#include "ShakeOrchestration.hpp"
#include "FakeDevice.hpp"
#include "Watchdog.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_Access.hpp>
#include <impl/Trellis_FusionOps.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <vector>

namespace random_program {

namespace {

using trellis::Impl::AccessRequest;
using trellis::Impl::GraphInternals;
using trellis::Impl::TaskHandle;

/// Where batches of tasks go that do nothing but arithmetic, if the advice says so. It answers late
/// now and then.
trellis::Test::FakeDevice& the_device() {
  static trellis::Test::FakeDevice& device = *[] {
    auto* const made = new trellis::Test::FakeDevice;
    made->late = 20;
    return made;
  }();
  return device;
}

/// A body as the typed fronts hand it to the engine.
template <class F>
struct BodyOf {
  static void run(void* body, void*, trellis::Label const&) { (*static_cast<F*>(body))(); }
  static void destroy(void* body) noexcept { static_cast<F*>(body)->~F(); }
  static void fail(void*, trellis::TaskId, std::string const&,
                   trellis::Impl::FailurePtr const&) noexcept {}
  static constexpr trellis::Impl::TaskOps ops{"host_task", &run, &destroy, &fail};
  static std::string name() { return "body"; }
  static constexpr trellis::Impl::FusionOps fusion{&name, nullptr, nullptr};
  static trellis::Impl::DeviceAdapter* device(int number) {
    return number == 0 ? &the_device() : nullptr;
  }
  static void offload(std::span<void* const> bodies, void* instance, trellis::Label const&) {
    std::vector<void*> const all(bodies.begin(), bodies.end());
    static_cast<trellis::Test::FakeDevice::Stream*>(instance)->enqueue([all] {
      for (void* const body : all) (*static_cast<F*>(body))();
    });
  }
  static constexpr trellis::Impl::FusionOps on_device{&name, nullptr, nullptr, &device, &offload};
  template <trellis::Impl::FusionOps const& fusion_of>
  static constexpr trellis::Impl::TaskOps ops_with = [] {
    trellis::Impl::TaskOps fusable = ops;
    fusable.fusion = &fusion_of;
    return fusable;
  }();
  static trellis::Impl::TaskOps const& ops_of(bool is_fusable, bool may_go) {
    if (!is_fusable) return ops;
    return may_go ? ops_with<on_device> : ops_with<fusion>;
  }
};

/// The states look, add, turn and make.
struct OwnMatrix {
  enum class Entry : std::uint8_t { none, look, add, turn, make };
  static constexpr std::size_t size = 5;
  static constexpr bool dependent[size][size] = {
      {},
      {false, false, true, true, true},
      {false, true, false, false, true},
      {false, true, false, false, true},
      {false, true, true, true, true},
  };
  static constexpr bool exclusive[size][size] = {
      {}, {}, {false, false, false, true, false}, {false, false, true, true, false}, {},
  };
  static constexpr std::string_view to_string(Entry entry) {
    constexpr std::array<std::string_view, size> names = {"none", "look", "add", "turn", "make"};
    return names[static_cast<std::size_t>(entry)];
  }
};
using OwnAccess = trellis::MatrixAccess<OwnMatrix>;
using TokenAccess = trellis::CombinedAccess<OwnAccess, trellis::AreaAccess<int, 1>>;

enum class Tag : int {};

class Run {
 public:
  explicit Run(Program const& program) : m_program(program), m_conflicts(program) {
    for (int array = 0; array < static_cast<int>(program.arrays.size()); ++array) {
      auto const size = static_cast<std::size_t>(program.arrays[static_cast<std::size_t>(array)]);
      m_memory.emplace_back(size);
      for (std::size_t e = 0; e < size; ++e)
        m_memory.back()[e] = initial_value(array, static_cast<int>(e));
    }
    m_records = std::vector<Record>(program.tasks.size());
    m_present.resize(program.tasks.size() + 1);
    for (std::size_t t = 0; t < program.tasks.size(); ++t) {
      auto& scope = m_present[static_cast<std::size_t>(program.tasks[t].owner + 1)];
      if (scope.empty())
        for (int const size : program.arrays) scope.emplace_back(static_cast<std::size_t>(size));
      auto& stages = m_elements.emplace_back();
      for (std::size_t stage = 0; stage < m_conflicts.stage_count(static_cast<int>(t)); ++stage) {
        auto& elements = stages.emplace_back();
        for (Access const& access : m_conflicts.stage(static_cast<int>(t), stage))
          elements.push_back(access.elements());
      }
    }
  }

  std::string operator()() {
    trellis::TaskGraphOptions options;
    options.workers = m_program.settings.workers;
    options.in_flight = m_program.settings.in_flight;
    options.record = m_program.settings.record;
    std::string const& policy = m_program.settings.policy;
    if (policy == "fifo") options.policy = trellis::make_fifo_policy();
    if (policy == "work_stealing") options.policy = trellis::make_work_stealing_policy();
    if (policy.starts_with("shake:"))
      options.policy = trellis::make_shake_policy(std::stoull(policy.substr(6)));
    if (m_program.settings.fuses) options.orchestration = next_orchestration();
    if (policy == "serial") setenv("TRELLIS_SERIAL", "1", 1);
    trellis::TaskGraph graph(options);
    unsetenv("TRELLIS_SERIAL");
    m_graph = &graph;

    for (std::size_t r = 0; r < m_program.rules.size(); ++r) {
      Rule const& rule = m_program.rules[r];
      graph.add_rule<Tag>(
          "rule " + std::to_string(r),
          rule.exclusive ? trellis::Constraint::exclusive : trellis::Constraint::ordered,
          [&rule](Tag earlier, Tag later) {
            return rule.holds[static_cast<int>(earlier)][static_cast<int>(later)];
          });
    }

    Checks checks(m_program, m_conflicts, graph, m_records, m_memory);
    for (std::size_t p = 0; p < m_program.phases.size(); ++p) {
      run_threads(m_program.phases[p]);
      std::string reported;
      try {
        graph.wait();
      } catch (trellis::Error const& error) {
        reported = error.what();
        if (error.kind() != trellis::Error::Kind::task_failed) complain("wait() throws ", reported);
      }
      checks.phase(static_cast<int>(p), reported);
      if (graph.in_flight() != 0) complain("tasks are in flight after wait()");
    }
    checks.at_the_end();
    return m_problems + checks.problems();
  }

 private:
  /// How many tasks of one scope are at an element, by mode. Relaxed operations only: these must
  /// not order what the engine does not.
  struct Present {
    std::atomic<int> tasks[how_count]{};
  };

  template <class... T>
  void complain(T const&... text) {
    std::lock_guard const lock(m_problems_mutex);
    ((m_problems += text), ...);
    m_problems += '\n';
  }
  Task const& task(int t) const { return m_program.tasks[static_cast<std::size_t>(t)]; }
  Record& record(int t) { return m_records[static_cast<std::size_t>(t)]; }

  // --- submission ---

  struct Requests {
    struct Subject {
      Run* run;
      Access const* access;
    };
    std::vector<AccessRequest> requests;
    std::vector<Subject> subjects;
    std::vector<trellis::Impl::StatePtr> states;
  };

  static void describe(void const* subject, trellis::Impl::ResourceInfo& info) {
    auto const& [run, described] = *static_cast<Requests::Subject const*>(subject);
    info.begin = std::numeric_limits<std::uintptr_t>::max();
    if (!described->tells_allocation) return;
    auto const& memory = run->m_memory[static_cast<std::size_t>(described->array)];
    info.label = "a" + std::to_string(described->array);
    info.begin = reinterpret_cast<std::uintptr_t>(memory.data());
    info.end = info.begin + memory.size() * sizeof(std::uint64_t);
  }

  static constexpr trellis::Impl::SubjectOps subject_ops{&describe};

  trellis::Impl::StatePtr state_of(Access const& access) {
    auto const entry =
        static_cast<OwnMatrix::Entry>(static_cast<int>(access.how) - static_cast<int>(How::none));
    if (!m_program.is_token(access.array))
      return std::make_shared<trellis::Impl::StateOf<OwnAccess>>(OwnAccess(entry));
    int const last = access.first + access.dimensions.at(0).extent - 1;
    return std::make_shared<trellis::Impl::StateOf<TokenAccess>>(
        TokenAccess(OwnAccess(entry), trellis::AreaAccess<int, 1>({{{access.first, last}}})));
  }

  trellis::Impl::Area area_of(Access const& access) {
    auto& memory = m_memory[static_cast<std::size_t>(access.array)];
    if (m_program.is_token(access.array))
      return trellis::Impl::Area::contiguous(memory.data(), memory.size() * sizeof(std::uint64_t));
    std::uint64_t extents[trellis::Impl::Area::max_rank];
    std::uint64_t strides[trellis::Impl::Area::max_rank];
    for (std::size_t k = 0; k < access.dimensions.size(); ++k) {
      extents[k] = static_cast<std::uint64_t>(access.dimensions[k].extent);
      strides[k] = static_cast<std::uint64_t>(access.dimensions[k].stride);
    }
    return trellis::Impl::Area::strided(memory.data() + access.first, sizeof(std::uint64_t),
                                        static_cast<int>(access.dimensions.size()), extents,
                                        strides);
  }

  /// For as long as the result and the accesses live.
  Requests requests_of(std::vector<Access> const& accesses) {
    Requests result;
    result.subjects.reserve(accesses.size());
    result.states.reserve(accesses.size());
    for (Access const& access : accesses) {
      result.subjects.push_back({this, &access});
      auto const mode =
          is_state(access.how) ? trellis::Mode::write : static_cast<trellis::Mode>(access.how);
      AccessRequest request{area_of(access), mode, &result.subjects.back(), &subject_ops};
      if (is_state(access.how)) {
        result.states.push_back(state_of(access));
        request.state = &result.states.back();
      }
      result.requests.push_back(request);
    }
    return result;
  }

  std::shared_ptr<trellis::Orchestration> next_orchestration() {
    std::uint64_t const number = m_program.seed + m_orchestrations.fetch_add(1) * 7919;
    if (number % 2 == 0) return std::make_shared<trellis::Test::ShakeOrchestration>(number);
    return trellis::Test::any_orchestration(number / 2);
  }

  /// `parent`: null, or what it is to be a child of.
  void submit(int t, TaskHandle const* owner) {
    Task const& model = task(t);
    Requests const requests = requests_of(model.accesses);
    std::vector<TaskHandle> after;
    for (int const before : model.after)
      if (record(before).handle.valid())
        after.push_back(record(before).handle);  // not when its parent was cancelled
    std::vector<trellis::Impl::TagPtr> tags;
    if (model.tag != 0) tags.push_back(std::make_shared<trellis::Impl::TagOf<Tag>>(Tag{model.tag}));

    auto body = [this, t] { run_body(t); };
    using Body = decltype(body);
    auto construct = [&](void* storage) { ::new (storage) Body(body); };
    bool const is_fusable = m_program.settings.fuses && model.salt % 4 != 0;
    bool const may_go = model.steps.empty() && !model.throws;
    if (m_program.settings.fuses && model.salt / 4 % 8 == 0)
      m_graph->orchestrate(next_orchestration());
    trellis::Impl::TaskSpec spec(trellis::Label(name_of(t)),
                                 BodyOf<Body>::ops_of(is_fusable, may_go), sizeof(Body),
                                 alignof(Body), construct);
    spec.accesses = requests.requests;
    spec.after = after;
    spec.tags = tags;
    spec.priority = model.priority;
    spec.main_thread = model.main_thread;
    spec.space =
        GraphInternals::space_with(owner != nullptr ? *owner : GraphInternals::handle(*m_graph),
                                   nullptr, model.threads, spec.label);
    spec.synchronizing = model.synchronizing;
    try {
      record(t).handle = owner != nullptr ? GraphInternals::submit_child(*owner, std::move(spec))
                                          : GraphInternals::submit(*m_graph, std::move(spec));
    } catch (trellis::Error const& error) {
      record(t).refused = true;
      if (!m_program.settings.wild || error.kind() != trellis::Error::Kind::deadlock)
        complain("submitting ", name_of(t), " throws ", error.what());
    }
  }

  void refine(int t) {
    if (!record(t).handle.valid()) return;
    try {
      record(t).refined = GraphInternals::refine(record(t).handle, [&](TaskHandle const& self) {
        for (int const child : task(t).refinement) {
          submit(child, &self);
          if (!task(child).refinement.empty()) refine(child);
        }
      });
    } catch (trellis::Error const& error) {
      complain("refining ", name_of(t), " throws ", error.what());
    }
    ++(record(t).refined ? happened().refined : happened().not_refined);
  }

  void run_threads(std::vector<std::vector<Step>> const& threads) {
    std::atomic<int> others{static_cast<int>(threads.size()) - 1};
    std::vector<std::thread> started;
    for (std::size_t k = 1; k < threads.size(); ++k)
      started.emplace_back([&, k] {
        follow(threads[k], -1);
        others.fetch_sub(1, std::memory_order_relaxed);
      });
    follow(threads[0], -1);
    // Others may be at the cap, behind a task of the main thread. With failures there is no such
    // task.
    bool const failures = std::any_of(m_program.tasks.begin(), m_program.tasks.end(),
                                      [](Task const& t) { return t.throws; });
    while (!failures && others.load(std::memory_order_relaxed) > 0) {
      m_graph->wait();
      std::this_thread::yield();
    }
    for (std::thread& thread : started) thread.join();
  }

  /// `inside`: the task that does this, or -1.
  void follow(std::vector<Step> const& steps, int inside) {
    std::size_t stage = 0;
    for (Step const& step : steps) switch (step.kind) {
        case Step::Kind::submit: {
          TaskHandle const self = GraphInternals::running();
          submit(step.task, task(step.task).owner >= 0 ? &self : nullptr);
          break;
        }
        case Step::Kind::pause:
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          break;
        case Step::Kind::wait_for:
          wait_for(step.task, inside);
          break;
        case Step::Kind::compute:
          compute(inside, stage);
          break;
        case Step::Kind::wait_children:
          wait_children(inside);
          break;
        case Step::Kind::demote:
        case Step::Kind::release:
          give_up(inside, stage++, step);
          break;
        case Step::Kind::local: {
          Requests const requests = requests_of(step.accesses);
          GraphInternals::add_local(GraphInternals::running(), requests.requests.at(0));
          break;
        }
        case Step::Kind::refine:
          refine(step.task);
          break;
      }
  }

  /// Lets out what says that a child has failed, unless the task catches it.
  void wait_children(int inside) {
    try {
      GraphInternals::wait_for_children(GraphInternals::running());
    } catch (trellis::Error const& error) {
      if (error.kind() == trellis::Error::Kind::task_failed) {
        if (!task(inside).catches) throw;
        return;
      }
      if (!m_program.settings.wild || error.kind() != trellis::Error::Kind::deadlock)
        complain("waiting for the children of ", name_of(inside), " throws ", error.what());
      return;
    }
    for (Step const& step : task(inside).steps)
      if (step.kind == Step::Kind::submit && task(step.task).owner == inside &&
          record(step.task).handle.valid() && !record(step.task).handle.is_done())
        complain("the wait for the children of ", name_of(inside), " returns before ",
                 name_of(step.task), " is done");
  }

  void give_up(int t, std::size_t stage, Step const& step) {
    Requests const requests = requests_of(step.accesses);
    arrive(t, stage + 1);
    leave(t, stage);
    record(t).demoted.push_back(tick());
    try {
      if (step.kind == Step::Kind::demote)
        GraphInternals::demote(GraphInternals::running(), requests.requests);
      else
        GraphInternals::release(GraphInternals::running(), requests.requests);
    } catch (trellis::Error const& error) {
      complain("demoting ", name_of(t), " throws ", error.what());
    }
  }

  void wait_for(int awaited, int inside) {
    // The thread that submits the parent may not have its handle yet.
    bool const owner = inside >= 0 && task(inside).owner == awaited;
    TaskHandle const& handle = owner ? record(awaited).self : record(awaited).handle;
    if (!handle.valid()) return;  // its parent was cancelled
    try {
      handle.wait();
    } catch (trellis::Error const& error) {
      if (!m_program.settings.wild || inside < 0 || error.kind() != trellis::Error::Kind::deadlock)
        complain("waiting for ", name_of(awaited),
                 inside < 0 ? " outside" : " inside " + name_of(inside), " throws ", error.what());
      return;
    }
    if (!handle.is_done()) complain("wait() returns before ", name_of(awaited), " is done");
    if (record(awaited).ran && !record(awaited).over)
      complain("wait() returns while ", name_of(awaited), " runs");
  }

  // --- bodies ---

  std::uint64_t tick() { return m_clock.fetch_add(1, std::memory_order_relaxed) + 1; }

  void run_body(int t) {
    Record& self = record(t);
    self.self = GraphInternals::running();
    self.started = tick();
    if (self.ran) complain(name_of(t), " runs twice");
    self.ran = true;
    self.thread = std::this_thread::get_id();
    arrive(t, 0);
    check_alone(t);
    auto const end = [&] {
      leave(t, self.demoted.size());
      self.over = true;
      self.finished = tick();
    };
    try {
      follow(body_of(task(t)), t);
    } catch (...) {
      end();
      throw;
    }
    end();
    if (task(t).throws) throw Thrown(t);
  }

  template <class F>
  void for_each_element(int t, std::size_t stage, F&& f) {
    auto const& accesses = m_conflicts.stage(t, stage);
    auto& scope = m_present[static_cast<std::size_t>(task(t).owner + 1)];
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      auto const array = static_cast<std::size_t>(accesses[k].array);
      for (int const element : m_elements[static_cast<std::size_t>(t)][stage][k])
        f(accesses[k], k, scope[array][static_cast<std::size_t>(element)],
          m_memory[array][static_cast<std::size_t>(element)], element);
    }
  }

  void arrive(int t, std::size_t stage) {
    for_each_element(t, stage,
                     [&](Access const& access, std::size_t, Present& present, std::uint64_t&, int) {
                       present.tasks[static_cast<std::size_t>(access.how)].fetch_add(
                           1, std::memory_order_relaxed);
                     });
  }

  void check_alone(int t) {
    for_each_element(
        t, 0,
        [&](Access const& access, std::size_t, Present& present, std::uint64_t& value,
            int element) {
          for (int other = 0; other < how_count; ++other) {
            auto const how = static_cast<How>(other);
            if (!conflict(access.how, how) && !exclude(access.how, how)) continue;
            int own = 0;
            for_each_element(
                t, 0, [&](Access const& mine, std::size_t, Present&, std::uint64_t& where, int) {
                  own += mine.how == how && &where == &value;
                });
            if (present.tasks[other].load(std::memory_order_relaxed) != own)
              complain(name_of(t), " is not alone: it is at element ", std::to_string(element),
                       " of a", std::to_string(access.array), " as ", to_string(access.how),
                       ", and somebody else as ", to_string(how));
          }
        });
  }

  void leave(int t, std::size_t stage) {
    for_each_element(t, stage,
                     [&](Access const& access, std::size_t, Present& present, std::uint64_t&, int) {
                       present.tasks[static_cast<std::size_t>(access.how)].fetch_sub(
                           1, std::memory_order_relaxed);
                     });
  }

  void compute(int t, std::size_t stage) {
    std::uint64_t& digest = record(t).digest;
    for_each_element(
        t, stage,
        [&](Access const& access, std::size_t k, Present&, std::uint64_t& value, int element) {
          std::uint64_t const more = contribution(task(t), stage, k, element);
          switch (access.how) {
            case How::read:
            case How::look:
              digest = mix(digest, value);
              break;
            case How::write:
            case How::read_write:
            case How::make:
              digest = mix(digest, value);
              value = mix(value, more);
              break;
            case How::atomic_add:
            case How::add:
              std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
              break;
            case How::atomic_mul: {
              std::atomic_ref const shared(value);
              std::uint64_t old = shared.load(std::memory_order_relaxed);
              while (!shared.compare_exchange_weak(old, old * more, std::memory_order_relaxed)) {
              }
              break;
            }
            case How::exclusive:  // not atomic: that is the point
            case How::turn:
              value += more;
              break;
            case How::none:
              break;
          }
        });
  }

  Program const& m_program;
  Conflicts const m_conflicts;
  trellis::TaskGraph* m_graph = nullptr;
  std::atomic<std::uint64_t> m_orchestrations{0};
  std::vector<std::vector<std::uint64_t>> m_memory;
  /// by scope (0: the graph), array, element
  std::vector<std::vector<std::vector<Present>>> m_present;
  std::vector<std::vector<std::vector<std::vector<int>>>> m_elements;  ///< by task, stage, access
  std::vector<Record> m_records;
  std::atomic<std::uint64_t> m_clock{0};
  std::mutex m_problems_mutex;
  std::string m_problems;
};

}  // namespace

Happened& happened() {
  static Happened all;
  return all;
}

std::string run_on_engine(Program const& program) {
  trellis::Test::Watchdog const watchdog(std::chrono::seconds(60), to_string(program));
  return Run(program)();
}

Program shrink(Program program, std::chrono::seconds limit) {
  auto const end = std::chrono::steady_clock::now() + limit;
  auto const fails = [&](Program const& candidate) {
    for (int k = 0; k < 20 && std::chrono::steady_clock::now() < end; ++k)
      if (!run_on_engine(candidate).empty()) return true;
    return false;
  };
  for (std::size_t chunk = std::max<std::size_t>(program.tasks.size() / 2, 1);;
       chunk = std::max<std::size_t>(chunk / 2, 1)) {
    bool smaller = false;
    for (std::size_t first = 0;
         first < program.tasks.size() && std::chrono::steady_clock::now() < end;) {
      std::vector<bool> dropped(program.tasks.size());
      for (std::size_t k = first; k < std::min(first + chunk, dropped.size()); ++k)
        dropped[k] = true;
      Program candidate = without(program, dropped);
      if (fails(candidate)) {
        program = std::move(candidate);
        smaller = true;
      } else {
        first += chunk;
      }
    }
    if (std::chrono::steady_clock::now() >= end || (chunk == 1 && !smaller)) return program;
  }
}

}  // namespace random_program
