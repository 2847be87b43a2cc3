// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's instance, as a base policy names it, on a device in software, so that this is tested
// where there is no GPU: a space of Kokkos whose instances are streams of that device. (Policies of
// tasks on Simulated name a host space, so they cannot name one of its streams.)
#include "FakeDevice.hpp"
#include "Timing.hpp"

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace trellis::Test {

/// As `Kokkos::Cuda` is to a GPU. It has loops over a range, and no more.
class Streamed {
 public:
  using execution_space = Streamed;
  using memory_space = Kokkos::HostSpace;
  using device_type = Kokkos::Device<Streamed, Kokkos::HostSpace>;
  using size_type = std::size_t;
  using index_type = std::ptrdiff_t;
  using array_layout = Kokkos::LayoutRight;
  using scratch_memory_space = Kokkos::ScratchMemorySpace<Streamed>;

  Streamed() : m_stream(default_stream()) {}
  explicit Streamed(FakeDevice::Stream stream) : m_stream(std::move(stream)) {}
  [[nodiscard]] FakeDevice::Stream stream() const { return m_stream; }

  static constexpr char const* name() { return "Streamed"; }
  void fence(std::string const& = {}) const {
    std::promise<void> done;
    stream().enqueue([&] { done.set_value(); });
    done.get_future().wait();
  }
  static void impl_static_fence(std::string const&) { Streamed().fence(); }
#ifdef KOKKOS_ENABLE_DEPRECATED_CODE_4
  static int concurrency() { return 1; }
#else
  int concurrency() const { return 1; }
#endif
  void print_configuration(std::ostream& out, bool = false) const { out << name() << '\n'; }
  static bool impl_is_initialized() { return Kokkos::is_initialized(); }
  [[nodiscard]] std::uint32_t impl_instance_id() const noexcept { return 1; }
  friend bool operator==(Streamed const& a, Streamed const& b) {
    return a.m_stream.queue() == b.m_stream.queue();
  }

 private:
  static FakeDevice::Stream const& default_stream() {
    static FakeDevice::Stream const stream;
    return stream;
  }
  FakeDevice::Stream m_stream;
};

/// The engine's instances are such spaces, as a body sees them.
class StreamedDevice final : public FakeDevice {
 public:
  void* make_instance(int threads) override {
    std::unique_ptr<Stream> const made(static_cast<Stream*>(FakeDevice::make_instance(threads)));
    return new Streamed(*made);
  }
  void destroy_instance(void* instance) noexcept override {
    --streams;
    delete static_cast<Streamed*>(instance);
  }
  void* copy_instance(void const* theirs) override {
    ++streams;
    return new Streamed(*static_cast<Streamed const*>(theirs));
  }
  [[nodiscard]] bool same_queue(void const* a, void const* b) const override {
    return *static_cast<Streamed const*>(a) == *static_cast<Streamed const*>(b);
  }
  void* record_event(void* instance, bool timed) override {
    Stream stream = static_cast<Streamed*>(instance)->stream();
    return FakeDevice::record_event(&stream, timed);
  }
  void enqueue_wait(void* instance, void* event) override {
    Stream stream = static_cast<Streamed*>(instance)->stream();
    FakeDevice::enqueue_wait(&stream, event);
  }
};

inline StreamedDevice& streamed_device() {
  static StreamedDevice device;
  return device;
}

}  // namespace trellis::Test

template <>
struct trellis::Impl::AdapterOf<trellis::Test::Streamed> {
  static constexpr bool exists = true;
  using result_space = Kokkos::HostSpace;
  static Impl::DeviceAdapter& get(int = 0) { return Test::streamed_device(); }
  static Impl::DeviceAdapter& get(Test::Streamed const&) { return get(); }
};

template <>
struct Kokkos::Tools::Experimental::DeviceTypeTraits<trellis::Test::Streamed> {
  static constexpr DeviceType id = DeviceType::Unknown;
  static int device_id(trellis::Test::Streamed const&) { return 0; }
};

template <class Functor, class... Properties>
class Kokkos::Impl::ParallelFor<Functor, Kokkos::RangePolicy<Properties...>,
                                trellis::Test::Streamed> {
 public:
  using Policy = RangePolicy<Properties...>;
  ParallelFor(Functor const& functor, Policy const& policy)
      : m_functor(functor), m_policy(policy) {}
  /// What is enqueued must not keep the stream.
  void execute() const {
    m_policy.space().stream().enqueue(
        [functor = m_functor, begin = m_policy.begin(), end = m_policy.end()] {
          for (auto k = begin; k < end; ++k) functor(k);
        });
  }

 private:
  Functor m_functor;
  Policy m_policy;
};

namespace trellis {
namespace {
namespace users_instances {

using Test::FakeDevice;
using Test::Gate;
using Test::Streamed;
using Test::streamed_device;

constexpr int size = 20;
using Values = Kokkos::View<double*, Kokkos::HostSpace>;
using Streams = Kokkos::RangePolicy<Streamed>;

struct SetTo {
  Values x;
  double value;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { x(i) = value; }
};
/// Notes where it runs.
struct Add {
  Values from;
  Values to;
  std::thread::id* where = nullptr;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    to(i) += from(i);
    if (where != nullptr) *where = std::this_thread::get_id();
  }
};

std::thread::id thread_of(Streamed const& space) {
  std::promise<std::thread::id> id;
  space.stream().enqueue([&] { id.set_value(std::this_thread::get_id()); });
  return id.get_future().get();
}
std::vector<double> elements_of(Values const& x) {
  return {x.data(), x.data() + x.extent(0)};
}
std::vector<double> all(double value) {
  return std::vector<double>(size, value);
}

class UsersInstances : public Test::Timed {
 protected:
  static TaskGraphOptions one_stream() {
    TaskGraphOptions options;
    options.workers = 1;
    options.streams = 1;
    return options;
  }
  /// A serial graph runs a task in the call that submits it, before what the test does next.
  static bool is_serial() { return *TaskGraph(one_stream()).options().serial; }
  Values x{"x", size}, y{"y", size};
  Gate gate;
  Streamed const theirs{FakeDevice::Stream()};  // may wait for the gate until it is gone
  int const streams_before = streamed_device().streams;
};

TEST_F(UsersInstances, AreWhereTheTaskRunsBehindWhatTheUserHasLaunched) {
  if (is_serial()) GTEST_SKIP() << "the gate is opened behind the calls";
  Values const launched("launched", size);
  theirs.stream().enqueue([&] { EXPECT_TRUE(gate.pass()); });
  Kokkos::parallel_for(Streams(theirs, 0, size), SetTo{launched, 3});  // no access says so
  {
    TaskGraph graph(one_stream());
    std::thread::id where;
    Future<void> const sees =
        parallel_for("sees it", ResourcePolicy(graph, Streams(theirs, 0, size), read_write(x)),
                     Add{launched, x, &where});
    Future<void> const elsewhere =
        parallel_for("elsewhere", ResourcePolicy(graph, Streams(0, size), write(y)), SetTo{y, 5});
    elsewhere.wait();
    EXPECT_EQ(elements_of(y), all(5));
    EXPECT_FALSE(sees.is_done());
    EXPECT_EQ(streamed_device().streams, streams_before + 2) << "the graph's, and the user's";
    gate.open();
    graph.wait();
    EXPECT_EQ(elements_of(x), all(3));
    EXPECT_EQ(where, thread_of(theirs));
  }
  EXPECT_EQ(streamed_device().streams, streams_before);
}

TEST_F(UsersInstances, AreOrderedWithOtherStreamsOnTheDevice) {
  if (is_serial()) GTEST_SKIP() << "the gate is opened behind the calls";
  theirs.stream().enqueue([&] { EXPECT_TRUE(gate.pass()); });
  TaskGraph graph(one_stream());
  int const waits = streamed_device().waits;
  parallel_for("mine", ResourcePolicy(graph, Streams(theirs, 0, size), write(x)), SetTo{x, 2});
  parallel_for("anywhere", ResourcePolicy(graph, Streams(0, size), read(x), read_write(y)),
               Add{x, y});
  std::thread::id where;
  parallel_for("mine again",
               ResourcePolicy(graph, Streams(theirs, 0, size), read(y), read_write(x)),
               Add{y, x, &where});
  EXPECT_EQ(streamed_device().waits - waits, 2) << "for the other one's event, in each direction";
  gate.open();
  graph.wait();
  EXPECT_EQ(elements_of(x), all(4));
  EXPECT_EQ(where, thread_of(theirs));
}

TEST_F(UsersInstances, MayBeDroppedWhileTasksAreOnThem) {
  if (is_serial()) GTEST_SKIP() << "the gate is opened behind the calls";
  TaskGraph graph(one_stream());
  {
    Streamed const dropped{FakeDevice::Stream()};
    dropped.stream().enqueue([&] { EXPECT_TRUE(gate.pass()); });
    parallel_for("on it", ResourcePolicy(graph, Streams(dropped, 0, size), write(x)), SetTo{x, 2});
  }
  gate.open();
  graph.wait();
  EXPECT_EQ(elements_of(x), all(2));
}

TEST_F(UsersInstances, TheDefaultOneIsNone) {
  TaskGraph graph(one_stream());
  std::thread::id where;
  parallel_for("anywhere", ResourcePolicy(graph, Streams(Streamed(), 0, size), read_write(x)),
               Add{y, x, &where});
  graph.wait();
  EXPECT_NE(where, std::thread::id());
  EXPECT_NE(where, thread_of(Streamed())) << "the graph has streams of its own";
}

}  // namespace users_instances
}  // namespace
}  // namespace trellis
