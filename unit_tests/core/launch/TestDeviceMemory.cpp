// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out where tasks go to devices: what cannot be launched fails, and says so; what
// has been launched is waited for, and ends.
#include "NoMemory.hpp"
#include "AsyncTest.hpp"

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

/// A driver has memory of its own.
class Driver final : public FakeDevice {
 public:
  void* make_instance(int threads) override {
    Shortage::Exempt const own;
    return FakeDevice::make_instance(threads);
  }
  void destroy_instance(void* instance) noexcept override {
    Shortage::Exempt const own;
    FakeDevice::destroy_instance(instance);
  }
  void* record_event(void* instance, bool timed) override {
    Shortage::Exempt const own;
    return FakeDevice::record_event(instance, timed);
  }
  void enqueue_wait(void* instance, void* event) override {
    Shortage::Exempt const own;
    FakeDevice::enqueue_wait(instance, event);
  }
};

class NoMemoryOnDevices : public NoMemoryTest {
 protected:
  NoMemoryOnDevices() : NoMemoryTest(2) {}
  struct Scene {
    TaskGraph& graph;
    Driver& device;
    Block& x;
    Block& y;
    std::atomic<long>& running;
    long launched = 0;

    /// `touches()`: what it accesses.
    template <class Touches>
    void kernel(Touches&& touches, Properties properties = {}) const {
      properties.space = &device;
      (void)has_memory([&] {
        (void)task(
            graph, "kernel", touches(),
            [&running = running, held = Held()](void* instance) {
              (void)held;
              std::function<void()> const work = [&running] {
                ++running;
                --running;
              };
              Shortage::Exempt const driver;
              static_cast<FakeDevice::Stream*>(instance)->enqueue(work);
            },
            properties);
      });
    }
  };
  struct Program {
    char const* name;
    std::function<void(Scene&)> run;
    std::function<void(TaskGraphOptions&, Driver&)> options = [](auto&, auto&) {};
  };

  static std::vector<Program> programs() {
    auto const mixed = [](Scene& s) {
      for (std::size_t k = 0; k < 16; ++k) {
        s.kernel([&] { return std::vector<Touch>{updates(s.x(k % 4, 1))}; });
        s.kernel([&] { return std::vector<Touch>{reads(s.x), adds(s.y)}; });
        if (k % 4 == 3)
          (void)has_memory(
              [&] { (void)task(s.graph, "host", {updates(s.x), reads(s.y)}, [held = Held()] {}); });
      }
    };
    return {
        {"a chain",
         [](Scene& s) {
           for (int k = 0; k < 30; ++k) s.kernel([&] { return std::vector<Touch>{updates(s.x)}; });
         }},
        {"kernels and tasks of the host", mixed},
        {"with times", mixed, [](TaskGraphOptions& o, Driver&) { o.record = true; }},
        {"launched by another thread", mixed,
         [](TaskGraphOptions&, Driver& d) { d.is_slow = true; }},
        {"serial", mixed, [](TaskGraphOptions& o, Driver&) { o.serial = true; }},
        {"exclusive kernels",
         [](Scene& s) {
           for (int k = 0; k < 20; ++k)
             s.kernel([&] { return std::vector<Touch>{excludes(s.x)}; }, {.priority = k % 3});
         }},
        {"a device that fails",
         [](Scene& s) {
           for (int k = 0; k < 10; ++k)
             s.kernel([&] {
               return std::vector<Touch>{updates(s.x(static_cast<std::size_t>(k % 3), 1))};
             });
           s.device.failed = true;
           (void)has_memory([&] { s.graph.wait(); });
           s.device.failed = false;
           for (int k = 0; k < 10; ++k) s.kernel([&] { return std::vector<Touch>{updates(s.y)}; });
         }},
        {"plans",
         [](Scene& s) {
           (void)has_memory([&] {
             Plan const plan = s.graph.record("plan", [&] {
               for (std::size_t k = 0; k < 6; ++k)
                 s.kernel([&] { return std::vector<Touch>{updates(s.x(k % 2, 1))}; });
             });
             (void)s.graph.replay(plan, 2);
             (void)s.graph.replay(plan, 2);
           });
         }},
    };
  }

  static void run(Program const& program) {
    Block x("x", 8), y("y", 8);
    std::atomic<long> running{0};
    std::atomic<long> afterwards{0};
    Driver device;
    {
      TaskGraphOptions options;
      options.workers = 2;
      options.streams = 3;
      program.options(options, device);
      TaskGraph graph(options);
      Scene scene{graph, device, x, y, running};
      (void)task(graph, "warm", {}, [] {});
      graph.wait();
      Shortage::begin();
      program.run(scene);
      (void)has_memory([&] { graph.wait(); });
      Shortage::end();
      (void)has_memory([&] { graph.wait(); });
      EXPECT_EQ(graph.in_flight(), 0u);
      for (int k = 0; k < 5; ++k)
        (void)task(graph, "after", {updates(x), updates(y)}, on_stream([&] { ++afterwards; }),
                   {.space = &device});
      graph.wait();
      EXPECT_EQ(afterwards, 5);
    }
    EXPECT_EQ(running, 0);  // one that has failed may still have been at work
    EXPECT_EQ(device.events, 0);
    EXPECT_EQ(device.streams, 0);
  }
  void run_all(bool all) {
    for (Program const& program : programs())
      each_allocation(program.name, all, [&] { run(program); });
  }
};

TEST_F(NoMemoryOnDevices, FailsWhatCannotBeLaunchedAndTheRestEnds) {
  run_all(false);
}
TEST_F(NoMemoryOnDevices, ThatStaysAwayFailsWhatCannotBeLaunchedAndTheRestEnds) {
  run_all(true);
}

}  // namespace
}  // namespace trellis
