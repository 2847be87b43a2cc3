// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_STREAMADAPTER_HPP
#define TRELLIS_STREAMADAPTER_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <common/Trellis_FinalizeHook.hpp>
#include <common/Trellis_HandlePool.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The adapter for devices whose runtime has streams, events and graphs captured from streams, as
/// CUDA and HIP do. A class `Runtime` has what differs between such runtimes, see spaces/Cuda. The
/// one in unit_tests/spaces only notes its calls.
namespace trellis::Impl {

/// A function of a runtime, and its name in errors.
template <class Code, class... Arguments>
struct RuntimeCall {
  constexpr RuntimeCall(Code (*function_)(Arguments...), char const* name_)
      : function(function_), name(name_) {}
  Code operator()(Arguments... arguments) const { return function(arguments...); }

  Code (*function)(Arguments...);
  char const* name;
};

/// Says what a thread captures.
struct StreamCapture {
  std::uint64_t number = 0;       ///< 0: nothing
  bool scratch_replaced = false;  ///< something in it uses memory that has been freed
};
inline thread_local StreamCapture this_capture{};
/// It only makes numbers, and orders nothing.
inline std::atomic<std::uint64_t> last_capture{0};

/// The adapter of one device. Its instances are Kokkos instances on streams of their own, which
/// do not wait for the default stream. Events keep no time unless asked to. Streams and events go
/// back to pools, which are emptied when Kokkos ends: destroying an instance frees its scratch
/// memory, and that would stop the device.
///
/// Nothing here waits for the device. Any number of graphs may use an adapter at a time.
///
/// `Runtime` has
/// - types: `Space` (of Kokkos), `Code` (of errors), `Stream`, `Event`, `Graph`, `GraphExec`, the
///   last four of them pointers;
/// - values: `success`, `not_ready`, `own_order` (a stream that does not wait for the default
///   stream), `with_time` and `without_time` (events), `relaxed` (a capture);
/// - functions: `name()` of the space, `error_name(code)`, `error_text(code)`, `last_error()`
///   (which resets it), `stream_of(space)`, `device_of(space)`, `scratch_of(space)`, and
///   `update(executable, graph)`. (`scratch_of` returns an array of the memory that Kokkos keeps
///   for the kernels of an instance.)
/// - the RuntimeCalls used below.
template <class Runtime>
class StreamAdapter final : public DeviceAdapter {
 public:
  using Space = typename Runtime::Space;
  using Code = typename Runtime::Code;

  StreamAdapter(int device, bool is_default)
      : m_number(device),
        m_name(std::string(Runtime::name()) +
               (is_default ? "" : " device " + std::to_string(device))) {
    // Graphs that end later destroy what they give back, see the destroy functions.
    push_finalize_hook([this] { close_pools(); });
  }

  /// Returns the device that Kokkos was initialised with.
  static StreamAdapter& of_default() {
    static StreamAdapter& adapter =
        *all().at(static_cast<std::size_t>(Runtime::device_of(Space())));
    return adapter;
  }
  /// Returns device `device`, as the runtime numbers the devices that the process sees. Throws
  /// `Error` when there is no such device.
  static StreamAdapter& of(int device) {
    if (device < 0 || device >= static_cast<int>(all().size()))
      throw Error(Error::Kind::bad_input, "Trellis: there is no " + std::string(Runtime::name()) +
                                              " device " + std::to_string(device) +
                                              ": the process sees " + std::to_string(all().size()));
    return *all()[static_cast<std::size_t>(device)];
  }

  [[nodiscard]] std::string_view name() const override { return m_name; }
  [[nodiscard]] std::string type() const override { return std::string(Runtime::name()); }

  // --- instances

  void* make_instance(int /*threads*/) override {
    Instance* const instance = m_instances.take([this] {
      OnDevice const here(m_number);
      typename Runtime::Stream stream = nullptr;
      check(Runtime::create_stream, &stream, Runtime::own_order);
      try {
        return new Instance(Space(stream), stream);
      } catch (...) {
        quietly(Runtime::destroy_stream, stream);
        throw;
      }
    });
    return static_cast<Space*>(instance);
  }
  void destroy_instance(void* instance) noexcept override {
    if (ours(instance)->owned == nullptr || !m_instances.put(ours(instance)))
      destroy(ours(instance));
  }
  void* copy_instance(void const* theirs) override {
    return static_cast<Space*>(new Instance(space_of(theirs), nullptr));
  }
  /// A stream can wait for events of any device.
  [[nodiscard]] bool can_wait_for(DeviceAdapter const& other) const override {
    return &other == this || dynamic_cast<StreamAdapter const*>(&other) != nullptr;
  }
  [[nodiscard]] bool same_queue(void const* a, void const* b) const override {
    return stream_of(a) == stream_of(b);
  }

  // --- events

  /// Checks the launch, as Kokkos does not.
  void check_launch(void* instance) override {
    check(Runtime::last_error(), "the launch");
    if (this_capture.number == 0) return;
    Scratch const now = Runtime::scratch_of(space_of(instance));
    if (was_replaced(ours(instance)->scratch, now)) this_capture.scratch_replaced = true;
    ours(instance)->scratch = now;
  }
  void* record_event(void* instance, bool timed) override {
    Event* const event = (timed ? m_timed_events : m_events).take([&] {
      OnDevice const here(m_number);
      auto made = std::make_unique<Event>(Event{nullptr, timed});
      check(Runtime::create_event, &made->handle,
            timed ? Runtime::with_time : Runtime::without_time);
      return made.release();
    });
    Code const code = Runtime::record_event(event->handle, stream_of(instance));
    if (code != Runtime::success) {
      release_event(event);
      check(code, Runtime::record_event.name);
    }
    return event;
  }
  void enqueue_wait(void* instance, void* event) override {
    ours(instance)->join_capture();
    check(Runtime::wait_for_event, stream_of(instance), static_cast<Event*>(event)->handle, 0U);
  }
  [[nodiscard]] bool has_passed(void* event) override {
    Code const code = Runtime::query_event(static_cast<Event*>(event)->handle);
    if (code == Runtime::not_ready) {
      forget_error();  // else the next launch would seem to have failed
      return false;
    }
    check(code, "the device");
    return true;
  }
  void release_event(void* event) noexcept override {
    auto* const ours = static_cast<Event*>(event);
    if (!(ours->timed ? m_timed_events : m_events).put(ours)) destroy(ours);
  }
  /// Accurate to half a microsecond if the two are less than a few seconds apart: the runtimes
  /// return a float of milliseconds.
  [[nodiscard]] std::int64_t nanoseconds_between(void* earlier, void* later) override {
    float milliseconds = 0;
    check(Runtime::time_between, &milliseconds, static_cast<Event*>(earlier)->handle,
          static_cast<Event*>(later)->handle);
    return std::llround(static_cast<double>(milliseconds) * 1e6);
  }

  // --- graphs

  /// The functors must reach their kernels as arguments, see Trellis_LaunchPolicy.hpp.
  bool begin_capture(void* instance) override {
    OnDevice const here(m_number);
    // The mode is relaxed because Kokkos allocates and copies when a file's first kernel is
    // launched, and when an instance is made. None of that belongs into the graph or waits for a
    // stream that captures. In another mode it would fail, partly without an error.
    check(Runtime::begin_capture, stream_of(instance), Runtime::relaxed);
    this_capture = {last_capture.fetch_add(1, std::memory_order_relaxed) + 1, false};
    ours(instance)->join_capture();
    return true;
  }
  /// Throws when a kernel has made Kokkos replace scratch memory that the graph already uses. The
  /// next attempt then finds enough memory in the instances.
  void* end_capture(void* instance, void* old) override {
    OnDevice const here(m_number);
    bool const scratch_replaced = std::exchange(this_capture, {}).scratch_replaced;
    typename Runtime::Graph captured = nullptr;
    Code const code = Runtime::end_capture(stream_of(instance), &captured);
    struct Destroy {
      typename Runtime::Graph graph;
      ~Destroy() {
        if (graph != nullptr) quietly(Runtime::destroy_graph, graph);
      }
    } const destroy{captured};
    check(code, Runtime::end_capture.name);
    if (scratch_replaced)
      throw std::runtime_error(
          "Trellis: " + m_name +
          ": a kernel made Kokkos replace scratch memory that an earlier one of the graph uses");

    auto executable = static_cast<typename Runtime::GraphExec>(old);
    if (executable != nullptr) {
      if (Runtime::update(executable, captured) == Runtime::success) return executable;
      forget_error();  // it has another shape, so a new one is made
    }
    typename Runtime::GraphExec made = nullptr;
    check(Runtime::instantiate, &made, captured, 0U);
    if (executable != nullptr) release_graph(executable);
    return made;
  }
  void launch_graph(void* instance, void* graph) override {
    OnDevice const here(m_number);
    check(Runtime::launch_graph, static_cast<typename Runtime::GraphExec>(graph),
          stream_of(instance));
  }
  /// A graph that is being executed is freed when it is over.
  void release_graph(void* graph) noexcept override {
    quietly(Runtime::destroy_executable, static_cast<typename Runtime::GraphExec>(graph));
  }

 private:
  using Scratch = decltype(Runtime::scratch_of(std::declval<Space const&>()));

  /// Bodies get the address of the Space in it.
  struct Instance : Space {
    Instance(Space const& space, typename Runtime::Stream stream) : Space(space), owned(stream) {}

    /// Called before the first launch in a capture.
    void join_capture() {
      if (this_capture.number == 0 || capture == this_capture.number) return;
      capture = this_capture.number;
      scratch = Runtime::scratch_of(*this);
    }

    typename Runtime::Stream owned;  ///< null: the stream is the user's
    std::uint64_t capture = 0;       ///< the latest capture that it took part in
    Scratch scratch{};               ///< at its last launch in that capture
  };
  struct Event {
    typename Runtime::Event handle;
    bool timed;
  };

  /// Makes the device current for a scope in which something is made, launched or captured.
  /// Recording, waiting and queries need no current device.
  class OnDevice {
   public:
    explicit OnDevice(int device) {
      if (Runtime::get_device(&m_before) != Runtime::success) m_before = -1;
      if (m_before == device)
        m_before = -1;
      else
        quietly(Runtime::set_device, device);
    }
    OnDevice(OnDevice const&) = delete;
    OnDevice& operator=(OnDevice const&) = delete;
    ~OnDevice() {
      if (m_before >= 0) quietly(Runtime::set_device, m_before);
    }

   private:
    int m_before = -1;
  };

  static Space const& space_of(void const* instance) {
    return *static_cast<Space const*>(instance);
  }
  static Instance* ours(void* instance) {
    return static_cast<Instance*>(static_cast<Space*>(instance));
  }
  static typename Runtime::Stream stream_of(void const* instance) {
    return Runtime::stream_of(space_of(instance));
  }
  /// Kokkos replaces this memory when a kernel needs more.
  static bool was_replaced(Scratch const& before, Scratch const& now) {
    for (std::size_t k = 0; k < now.size(); ++k)
      if (before[k] != nullptr && before[k] != now[k]) return true;
    return false;
  }

  static std::string words_for(Code code) {
    return std::string(" says ") + Runtime::error_name(code) + ": " + Runtime::error_text(code);
  }
  void check(Code code, char const* who) const {
    if (code == Runtime::success) return;
    forget_error();  // it is reported once, unless the device is lost
    throw std::runtime_error("Trellis: " + m_name + ": " + who + words_for(code));
  }
  template <class... Parameters, class... Arguments>
  void check(RuntimeCall<Code, Parameters...> const& call, Arguments... arguments) const {
    check(call(arguments...), call.name);
  }

  /// For calls whose errors cannot be handled.
  template <class... Parameters, class... Arguments>
  static void quietly(RuntimeCall<Code, Parameters...> const& call, Arguments... arguments) {
    static_cast<void>(call(arguments...));
  }
  static void forget_error() { static_cast<void>(Runtime::last_error()); }

  static void destroy(Instance* instance) noexcept {
    typename Runtime::Stream const stream = instance->owned;
    OnDevice const here(Runtime::device_of(*instance));
    delete instance;  // the part of Kokkos first
    if (stream != nullptr) quietly(Runtime::destroy_stream, stream);
  }
  static void destroy(Event* event) noexcept {
    quietly(Runtime::destroy_event, event->handle);
    delete event;
  }
  void close_pools() noexcept {
    for (Instance* const instance : m_instances.close()) destroy(instance);
    for (Event* const event : m_events.close()) destroy(event);
    for (Event* const event : m_timed_events.close()) destroy(event);
  }

  /// They are made at first use and never destroyed: static objects may still refer to them.
  static std::vector<StreamAdapter*> const& all() {
    static std::vector<StreamAdapter*> const& adapters = *[] {
      int count = 0;
      Code const code = Runtime::count_devices(&count);
      if (code != Runtime::success)
        throw std::runtime_error(std::string("Trellis: ") + Runtime::count_devices.name +
                                 words_for(code));
      auto* const made = new std::vector<StreamAdapter*>;
      int const chosen = Runtime::device_of(Space());
      for (int device = 0; device < count; ++device)
        made->push_back(new StreamAdapter(device, device == chosen));
      return made;
    }();
    return adapters;
  }

  int const m_number;
  std::string const m_name;
  HandlePool<Instance*> m_instances;
  HandlePool<Event*> m_events;
  HandlePool<Event*> m_timed_events;
};

}  // namespace trellis::Impl

#endif
