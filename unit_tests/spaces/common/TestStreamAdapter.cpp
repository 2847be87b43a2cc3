// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/Trellis_StreamAdapter.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What spaces/Cuda and spaces/HIP share, over a runtime that only notes what it is asked for:
/// there need be no GPU. (That theirs have the functions which this takes is for their compilers to
/// say.)
namespace trellis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StrEq;
using testing::ThrowsMessage;

enum Code { success, not_ready, too_much, lost };

struct StandInStream {
  int device = 0;
  std::array<void const*, 2> scratch{};  ///< what Kokkos would keep for its kernels
};
struct StandInEvent {
  unsigned flags = 0;
  int device = 0;
};
struct StandInGraph {};
struct StandInExec {};

/// The state of the runtime. Each test begins with a new one.
struct StandIn {
  int devices = 3;
  int current = 0;
  Code last = success;
  std::map<std::string, Code> fails;  ///< by the name of the call
  std::vector<std::string> calls;     ///< but for those that ask for a device or choose one
  int streams = 0, events = 0, graphs = 0, executables = 0;  ///< that there are
  bool same_shape = true;
};
StandIn the_runtime;

Code called(char const* name) {
  the_runtime.calls.emplace_back(name);
  auto const found = the_runtime.fails.find(name);
  Code const code = found == the_runtime.fails.end() ? success : found->second;
  if (code != success) the_runtime.last = code;
  return code;
}

struct StandInSpace {
  StandInSpace() = default;
  explicit StandInSpace(StandInStream* stream_) : stream(stream_) {}
  StandInStream* stream = nullptr;  ///< null: the default stream, on device 1
};

/// `N`: for tests of what happens only once.
template <int N>
struct Runtime {
  using Space = StandInSpace;
  using Code = trellis::Code;
  using Stream = StandInStream*;
  using Event = StandInEvent*;
  using Graph = StandInGraph*;
  using GraphExec = StandInExec*;

  static constexpr Code success = trellis::success;
  static constexpr Code not_ready = trellis::not_ready;
  static constexpr unsigned own_order = 5, with_time = 6, without_time = 7;
  static constexpr char relaxed = 'r';

  static char const* name() { return "StandIn"; }
  static char const* error_name(Code code) { return code == lost ? "LOST" : "TOO_MUCH"; }
  static char const* error_text(Code code) { return code == lost ? "it is lost" : "too much"; }
  static Code last_error() { return std::exchange(the_runtime.last, success); }
  static Stream stream_of(Space const& space) { return space.stream; }
  static int device_of(Space const& space) { return space.stream ? space.stream->device : 1; }
  static std::array<void const*, 2> scratch_of(Space const& space) { return space.stream->scratch; }

  static Code count(int* devices) {
    *devices = the_runtime.devices;
    return called("count");
  }
  static Code get(int* device) {
    *device = the_runtime.current;
    return success;
  }
  static Code set(int device) {
    the_runtime.current = device;
    return success;
  }
  static Code make_stream(Stream* stream, unsigned flags) {
    EXPECT_EQ(flags, own_order);
    Code const code = called("make_stream");
    if (code == success) *stream = new StandInStream{the_runtime.current}, ++the_runtime.streams;
    return code;
  }
  static Code end_stream(Stream stream) {
    delete stream;
    --the_runtime.streams;
    return called("end_stream");
  }
  static Code make_event(Event* event, unsigned flags) {
    Code const code = called("make_event");
    if (code == success) *event = new StandInEvent{flags, the_runtime.current};
    the_runtime.events += code == success;
    return code;
  }
  static Code end_event(Event event) {
    delete event;
    --the_runtime.events;
    return called("end_event");
  }
  static Code record(Event event, Stream stream) {
    EXPECT_EQ(event->device, stream->device);
    return called("record");
  }
  static Code wait(Stream, Event, unsigned) { return called("wait"); }
  static Code query(Event) { return called("query"); }
  static Code elapsed(float* milliseconds, Event, Event) {
    *milliseconds = 1.5F;
    return called("elapsed");
  }
  static Code begin(Stream, char mode) {
    EXPECT_EQ(mode, relaxed);
    return called("begin");
  }
  /// As CUDA: a capture that failed may return a graph.
  static Code end(Stream, Graph* graph) {
    *graph = new StandInGraph;
    ++the_runtime.graphs;
    return called("end");
  }
  static Code end_graph(Graph graph) {
    delete graph;
    --the_runtime.graphs;
    return called("end_graph");
  }
  static Code make_exec(GraphExec* executable, Graph, unsigned long long) {
    Code const code = called("make_exec");
    if (code == success) *executable = new StandInExec, ++the_runtime.executables;
    return code;
  }
  static Code launch(GraphExec, Stream stream) {
    EXPECT_EQ(the_runtime.current, stream->device);
    return called("launch");
  }
  static Code end_exec(GraphExec executable) {
    delete executable;
    --the_runtime.executables;
    return called("end_exec");
  }
  static Code update(GraphExec, Graph) {
    if (!the_runtime.same_shape) the_runtime.last = too_much;
    return the_runtime.same_shape ? success : too_much;
  }

  static constexpr Impl::RuntimeCall count_devices{&count, "count"};
  static constexpr Impl::RuntimeCall get_device{&get, "get"};
  static constexpr Impl::RuntimeCall set_device{&set, "set"};
  static constexpr Impl::RuntimeCall create_stream{&make_stream, "make_stream"};
  static constexpr Impl::RuntimeCall destroy_stream{&end_stream, "end_stream"};
  static constexpr Impl::RuntimeCall create_event{&make_event, "make_event"};
  static constexpr Impl::RuntimeCall destroy_event{&end_event, "end_event"};
  static constexpr Impl::RuntimeCall record_event{&record, "record"};
  static constexpr Impl::RuntimeCall wait_for_event{&wait, "wait"};
  static constexpr Impl::RuntimeCall query_event{&query, "query"};
  static constexpr Impl::RuntimeCall time_between{&elapsed, "elapsed"};
  static constexpr Impl::RuntimeCall begin_capture{&begin, "begin"};
  static constexpr Impl::RuntimeCall end_capture{&end, "end"};
  static constexpr Impl::RuntimeCall destroy_graph{&end_graph, "end_graph"};
  static constexpr Impl::RuntimeCall instantiate{&make_exec, "make_exec"};
  static constexpr Impl::RuntimeCall launch_graph{&launch, "launch"};
  static constexpr Impl::RuntimeCall destroy_executable{&end_exec, "end_exec"};
};

using Adapter = Impl::StreamAdapter<Runtime<0>>;

/// Kokkos' end empties the pools of an adapter, so it must be there then.
Adapter& new_adapter(int device = 2, bool is_default = false) {
  the_runtime = {};
  static std::vector<std::unique_ptr<Adapter>>& all = *new std::vector<std::unique_ptr<Adapter>>;
  return *all.emplace_back(std::make_unique<Adapter>(device, is_default));
}
StandInStream* stream_of(void* instance) {
  return static_cast<StandInSpace*>(instance)->stream;
}

TEST(StreamAdapter, AStreamIsMadeOnItsDeviceAndGoesBackToThePool) {
  Adapter& adapter = new_adapter();
  void* const first = adapter.make_instance(1);
  StandInStream* const stream = stream_of(first);
  EXPECT_EQ(stream->device, 2);
  EXPECT_EQ(the_runtime.current, 0) << "the caller's device";
  adapter.destroy_instance(first);
  EXPECT_EQ(the_runtime.streams, 1);
  void* const second = adapter.make_instance(1);
  void* const third = adapter.make_instance(1);
  EXPECT_EQ(stream_of(second), stream);
  EXPECT_NE(stream_of(third), stream);
  EXPECT_THAT(the_runtime.calls, ElementsAre("make_stream", "make_stream"));
  adapter.destroy_instance(second);
  adapter.destroy_instance(third);
}

TEST(StreamAdapter, AUsersStreamStaysTheUsers) {
  Adapter& adapter = new_adapter();
  StandInStream stream{2};
  StandInSpace const space(&stream);
  void* const copy = adapter.copy_instance(&space);
  void* const own = adapter.make_instance(1);
  EXPECT_TRUE(adapter.same_queue(copy, &space));
  EXPECT_FALSE(adapter.same_queue(copy, own));
  adapter.destroy_instance(copy);
  EXPECT_THAT(the_runtime.calls, ElementsAre("make_stream"));
  void* const another = adapter.make_instance(1);
  EXPECT_NE(stream_of(another), &stream) << "it is not in the pool";
  adapter.destroy_instance(own);
  adapter.destroy_instance(another);
}

TEST(StreamAdapter, EventsKeepNoTimeUnlessAskedTo) {
  Adapter& adapter = new_adapter();
  void* const instance = adapter.make_instance(1);
  void* const plain = adapter.record_event(instance, false);
  void* const timed = adapter.record_event(instance, true);
  EXPECT_EQ(adapter.nanoseconds_between(timed, timed), 1'500'000);
  adapter.release_event(plain);
  adapter.release_event(timed);
  EXPECT_EQ(the_runtime.events, 2);
  EXPECT_EQ(adapter.record_event(instance, true), timed);
  EXPECT_EQ(adapter.record_event(instance, false), plain);
  EXPECT_EQ(the_runtime.events, 2) << "each came from its own pool";
  EXPECT_THAT(the_runtime.calls, ElementsAre("make_stream", "make_event", "record", "make_event",
                                             "record", "elapsed", "record", "record"));
  adapter.release_event(plain);
  adapter.release_event(timed);
  adapter.destroy_instance(instance);
}

TEST(StreamAdapter, AnEventThatHasNotPassedIsNoError) {
  Adapter& adapter = new_adapter();
  void* const instance = adapter.make_instance(1);
  void* const event = adapter.record_event(instance, false);
  the_runtime.fails["query"] = not_ready;
  EXPECT_FALSE(adapter.has_passed(event));
  EXPECT_NO_THROW(adapter.check_launch(instance));
  the_runtime.fails.clear();
  EXPECT_TRUE(adapter.has_passed(event));
  adapter.release_event(event);
  adapter.destroy_instance(instance);
}

TEST(StreamAdapter, AnErrorNamesTheDeviceAndTheCall) {
  Adapter& adapter = new_adapter();
  void* const instance = adapter.make_instance(1);
  void* const event = adapter.record_event(instance, false);
  the_runtime.fails = {
      {"query", lost}, {"record", too_much}, {"wait", too_much}, {"make_stream", too_much}};
  auto const says = [](char const* text) { return ThrowsMessage<std::runtime_error>(StrEq(text)); };
  EXPECT_THAT([&] { (void)adapter.has_passed(event); },
              says("Trellis: StandIn device 2: the device says LOST: it is lost"));
  EXPECT_THAT([&] { adapter.record_event(instance, false); },
              says("Trellis: StandIn device 2: record says TOO_MUCH: too much"));
  EXPECT_THAT([&] { adapter.enqueue_wait(instance, event); },
              says("Trellis: StandIn device 2: wait says TOO_MUCH: too much"));
  EXPECT_THAT([&] { adapter.make_instance(1); },
              says("Trellis: StandIn device 2: make_stream says TOO_MUCH: too much"));
  EXPECT_NO_THROW(adapter.check_launch(instance)) << "none of these is told twice";
  EXPECT_EQ(the_runtime.current, 0);
  the_runtime.last = lost;
  EXPECT_THAT([&] { adapter.check_launch(instance); },
              says("Trellis: StandIn device 2: the launch says LOST: it is lost"));
  the_runtime.fails.clear();
  adapter.release_event(adapter.record_event(instance, false));
  EXPECT_EQ(the_runtime.events, 2) << "the event that could not be recorded is in the pool";
  adapter.release_event(event);
  adapter.destroy_instance(instance);
}

TEST(StreamAdapter, AGraphIsUpdatedInPlaceOrReplaced) {
  Adapter& adapter = new_adapter();
  void* const instance = adapter.make_instance(1);
  auto const capture = [&](void* old) {
    EXPECT_TRUE(adapter.begin_capture(instance));
    return adapter.end_capture(instance, old);
  };
  void* const first = capture(nullptr);
  EXPECT_EQ(capture(first), first);
  EXPECT_EQ(the_runtime.executables, 1);
  the_runtime.same_shape = false;
  the_runtime.fails["make_exec"] = too_much;
  EXPECT_THROW(capture(first), std::runtime_error);
  EXPECT_EQ(the_runtime.executables, 1) << "the old graph is still there";
  the_runtime.fails.clear();
  void* const second = capture(first);
  EXPECT_EQ(the_runtime.executables, 1) << "the old graph has been released";
  EXPECT_NO_THROW(adapter.check_launch(instance)) << "another shape is no error of a launch";
  adapter.launch_graph(instance, second);
  EXPECT_EQ(the_runtime.calls.back(), "launch");
  adapter.release_graph(second);
  EXPECT_EQ(the_runtime.executables, 0);
  EXPECT_EQ(the_runtime.graphs, 0) << "what was captured is not needed any more";
  EXPECT_EQ(the_runtime.current, 0);
  adapter.destroy_instance(instance);
}

TEST(StreamAdapter, ACaptureThatFailsLeavesNothing) {
  Adapter& adapter = new_adapter();
  void* const instance = adapter.make_instance(1);
  adapter.begin_capture(instance);
  the_runtime.fails["end"] = too_much;
  EXPECT_THAT([&] { adapter.end_capture(instance, nullptr); },
              ThrowsMessage<std::runtime_error>(HasSubstr("end says TOO_MUCH")));
  EXPECT_EQ(the_runtime.graphs, 0);
  EXPECT_EQ(the_runtime.executables, 0);
  the_runtime.fails["begin"] = too_much;
  EXPECT_THROW(adapter.begin_capture(instance), std::runtime_error);
  EXPECT_EQ(the_runtime.current, 0);
  adapter.destroy_instance(instance);
}

TEST(StreamAdapter, AGraphMustNotUseMemoryThatKokkosHasReplaced) {
  Adapter& adapter = new_adapter();
  int memory[3];
  void* const one = adapter.make_instance(1);
  void* const two = adapter.make_instance(1);
  void* event = nullptr;
  auto const launch = [&](void* instance, void const* scratch) {
    stream_of(instance)->scratch[1] = scratch;
    adapter.check_launch(instance);
  };
  /// A kernel on each of two streams, the second of them behind the first, and one more there.
  auto const capture = [&](void const* first, void const* second, void const* third) {
    adapter.begin_capture(one);
    launch(one, first);
    event = adapter.record_event(one, false);
    adapter.enqueue_wait(two, event);
    adapter.release_event(event);
    launch(two, second);
    launch(two, third);
    return adapter.end_capture(one, nullptr);
  };
  // Memory that there was none of before is used by no earlier kernel.
  adapter.release_graph(capture(&memory[0], &memory[1], &memory[1]));
  auto const replaced = ThrowsMessage<std::runtime_error>(
      StrEq("Trellis: StandIn device 2: a kernel made Kokkos replace scratch memory that an "
            "earlier one of the graph uses"));
  EXPECT_THAT([&] { capture(&memory[2], &memory[1], &memory[1]); }, replaced);
  EXPECT_THAT([&] { capture(&memory[2], &memory[1], &memory[0]); }, replaced);
  EXPECT_EQ(the_runtime.graphs, 0);
  EXPECT_EQ(the_runtime.executables, 0);
  // The next attempt finds enough of it.
  adapter.release_graph(capture(&memory[2], &memory[0], &memory[0]));
  // Outside of captures it may be replaced.
  launch(one, &memory[1]);
  adapter.release_graph(capture(&memory[1], &memory[0], &memory[0]));
  adapter.destroy_instance(one);
  adapter.destroy_instance(two);
}

TEST(StreamAdapter, ThereIsOneForEachDevice) {
  using Devices = Impl::StreamAdapter<Runtime<1>>;
  the_runtime = {};
  the_runtime.fails["count"] = lost;
  EXPECT_THAT([] { Devices::of_default(); },
              ThrowsMessage<std::runtime_error>(StrEq("Trellis: count says LOST: it is lost")));
  the_runtime = {};
  EXPECT_EQ(&Devices::of_default(), &Devices::of(1));
  EXPECT_EQ(Devices::of(1).name(), "StandIn");
  EXPECT_EQ(Devices::of(2).name(), "StandIn device 2");
  EXPECT_TRUE(Devices::of(0).can_wait_for(Devices::of(2)));
  EXPECT_FALSE(Devices::of(0).can_wait_for(new_adapter())) << "another runtime's";
  for (int const wrong : {-1, 3})
    EXPECT_THAT([wrong] { Devices::of(wrong); },
                ThrowsMessage<Error>(StrEq("Trellis: there is no StandIn device " +
                                           std::to_string(wrong) + ": the process sees 3")));
}

}  // namespace
}  // namespace trellis
