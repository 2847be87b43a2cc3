// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out for futures that are senders: each operation is completed once.
#include <Trellis.hpp>
#include <senders/Trellis_Sender.hpp>

#include "NoMemory.hpp"

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>

namespace trellis::Test {
namespace {

/// How often receivers have been told something. They take no memory.
struct Told {
  std::atomic<int> values{0};
  std::atomic<int> errors{0};
  std::atomic<int> stops{0};
  [[nodiscard]] int all() const { return values + errors + stops; }
};
struct CountingReceiver {
  using receiver_concept = stdexec::receiver_t;
  Told* told;
  Held held = {};
  void set_value(int n) && noexcept {
    EXPECT_EQ(n, 7);
    ++told->values;
  }
  void set_value() && noexcept { ++told->values; }
  void set_error(std::exception_ptr const& problem) && noexcept {
    EXPECT_NE(problem, nullptr);
    ++told->errors;
  }
  void set_stopped() && noexcept { ++told->stops; }
};
template <class T>
struct Operation {
  using Type =
      decltype(stdexec::connect(experimental::as_sender(Future<T>()), CountingReceiver{nullptr}));
  Type operation;
  Operation(Future<T> const& future, Told& told)
      : operation(stdexec::connect(experimental::as_sender(future), CountingReceiver{&told})) {}
};

class NoMemorySenders : public NoMemoryTest {
 protected:
  static void run(bool is_serial, bool fails) {
    TaskGraphOptions options;
    options.workers = 2;
    options.serial = is_serial;
    Told told;
    int started = 0;
    std::deque<Operation<int>> of_numbers;
    std::deque<Operation<void>> of_nothing;
    {
      TaskGraph graph(options);
      host_task("warm", ResourcePolicy(graph), [] {});
      graph.wait();
      Shortage::begin();
      for (int k = 0; k < 6; ++k) {
        Future<int> seven;
        Future<void> behind;
        call_until_done([&] {
          seven = host_task("seven", ResourcePolicy(graph), [fails, k, held = Held()] {
            if (fails && k % 2 == 0) throw std::runtime_error("no seven");
            return 7;
          });
        });
        call_until_done(
            [&] { behind = host_task("behind", ResourcePolicy(graph, after(seven)), [] {}); });
        auto const start = [&](auto& operations, auto const& future) {
          call_until_done([&] { operations.emplace_back(future, told); });
          ++started;
          stdexec::start(operations.back().operation);
        };
        start(of_numbers, seven);
        start(of_nothing, behind);
        if (k == 3) has_memory([&] { graph.cancel(behind); });
      }
      has_memory([&] { graph.wait(); });
      Shortage::end();
      has_memory([&] { graph.wait(); });
      EXPECT_EQ(told.all(), started);
      if (Shortage::failed() == 0 && !fails) {
        EXPECT_EQ(told.errors, 0);
      }
    }
    EXPECT_EQ(told.all(), started);
  }
};

TEST_F(NoMemorySenders, CompleteEachOperationOnce) {
  for (bool const all : {false, true})
    for (bool const is_serial : {false, true})
      for (bool const fails : {false, true})
        each_allocation(is_serial ? "serial senders" : "senders", all,
                        [&] { run(is_serial, fails); });
}

}  // namespace
}  // namespace trellis::Test
