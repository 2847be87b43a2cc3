// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_DEVICES_HPP
#define TRELLIS_TEST_DEVICES_HPP

#include <Simulated/Trellis_SimulatedDevice.hpp>
#include <Trellis_Error.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Test {

using Kind = SimulatedRecord::Kind;

inline std::shared_ptr<SimulatedClock> virtual_clock() {
  return std::make_shared<SimulatedClock>(SimulatedClock::Time::virtual_time);
}

/// A stream for as long as this lives.
class Stream {
 public:
  explicit Stream(SimulatedDevice& device)
      : m_device(&device), m_instance(device.make_instance()) {}
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  ~Stream() { m_device->destroy_instance(m_instance); }
  operator void*() const { return m_instance; }
  [[nodiscard]] SimulatedDevice& device() const { return *m_device; }

  void launch(std::string name, double units = -1, std::function<void()> function = {}) const {
    SimulatedDevice::launch(m_instance, {std::move(function), std::move(name), units});
  }
  void launch(std::function<void()> function) const { launch("work", -1, std::move(function)); }

 private:
  SimulatedDevice* m_device;
  void* m_instance;
};

class Event {
 public:
  explicit Event(Stream const& stream, bool timed = false)
      : m_device(&stream.device()), m_event(stream.device().record_event(stream, timed)) {}
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;
  ~Event() { m_device->release_event(m_event); }
  operator void*() const { return m_event; }
  [[nodiscard]] bool has_passed() const { return m_device->has_passed(m_event); }

 private:
  SimulatedDevice* m_device;
  void* m_event;
};

/// `stream` waits for what has been launched on `other`.
inline void join(Stream const& stream, Stream const& other) {
  Event const event(other);
  stream.device().enqueue_wait(stream, event);
}

/// As the engine does: asks, and says when it has nothing else to do. Returns false when that takes
/// too long.
inline bool wait(Event const& event, SimulatedDevice& device) {
  auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!event.has_passed()) {
    device.host_is_idle();
    if (std::chrono::steady_clock::now() > give_up) return false;
  }
  return true;
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "no exception";
}

/// What the records of these kinds say.
inline std::vector<std::string> texts(SimulatedDevice const& device,
                                      std::vector<Kind> const& kinds = {}) {
  std::vector<std::string> texts;
  for (SimulatedRecord const& record : device.log())
    if (kinds.empty() || std::find(kinds.begin(), kinds.end(), record.kind) != kinds.end())
      texts.push_back(record.text());
  return texts;
}

/// When work of this name began and ended.
inline std::pair<std::int64_t, std::int64_t> times(SimulatedDevice const& device,
                                                   std::string const& name) {
  for (SimulatedRecord const& record : device.log())
    if (record.name == name && record.kind != Kind::error) return {record.begin, record.end};
  return {-2, -2};
}
using Times = std::pair<std::int64_t, std::int64_t>;

/// Closed until it is opened; nobody waits for ever.
class Gate {
 public:
  void open() { m_promise.set_value(); }
  bool pass() const {
    return m_open.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }

 private:
  std::promise<void> m_promise;
  std::shared_future<void> m_open = m_promise.get_future().share();
};

/// Both kinds of time.
class EitherTime : public testing::TestWithParam<bool> {
 protected:
  static bool is_virtual() { return GetParam(); }
  static std::shared_ptr<SimulatedClock> make_clock() {
    return is_virtual() ? virtual_clock()
                        : std::make_shared<SimulatedClock>(SimulatedClock::Time::real);
  }
};
inline std::string name_of_time(testing::TestParamInfo<bool> const& info) {
  return info.param ? "Virtual" : "Real";
}

}  // namespace trellis::Test

#endif
