// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <device/Trellis_CapturedGraph.hpp>

#include <algorithm>
#include <functional>

namespace trellis::Impl {

namespace {

/// A few instances that capture, with events for the order of the launches on them. A launch is
/// identified by its number over all rounds.
///
/// An edge of the graph takes the device time, so there is none where other edges lead to the same
/// launch. Each launch has a vector clock. For each lane it holds how many of the launches there
/// come before it, as the number behind the newest of them. A lane has the clock of its newest
/// launch.
class Lanes {
 public:
  Lanes(DeviceAdapter& device, std::vector<void*>& instances, std::size_t most,
        int threads_per_worker)
      : m_device(device),
        m_instances(instances),
        m_most(most),
        m_threads_per_worker(threads_per_worker) {}
  Lanes(Lanes const&) = delete;
  Lanes& operator=(Lanes const&) = delete;
  ~Lanes() {
    for (void* event : m_events)
      if (event != nullptr) m_device.release_event(event);
  }

  /// The first instance already captures; others join when they wait for its first event.
  void begin() { m_begin = record(0); }

  /// Chooses the lane for the next launch, ordered behind others.
  std::size_t place(std::vector<std::size_t> const& before) {
    m_before = before;
    std::sort(m_before.begin(), m_before.end(), std::greater<>());
    std::size_t const lane = choose();
    Clock& clock = m_clocks[lane];
    for (std::size_t const each : m_before) {
      if (at(clock, m_lane_of[each]) > each) continue;
      m_device.enqueue_wait(m_instances[lane], m_event_of[each]);
      merge(clock, m_clock_of[each]);
    }
    return lane;
  }
  void placed(std::size_t lane) {
    m_lane_of.push_back(lane);
    m_clocks[lane][lane] = m_lane_of.size();
    m_clock_of.push_back(m_clocks[lane]);
    m_event_of.push_back(record(lane));
  }
  void join() {
    for (std::size_t lane = 1; lane < m_clocks.size(); ++lane)
      m_device.enqueue_wait(m_instances[0], record(lane));
  }

 private:
  using Clock = std::vector<std::size_t>;
  static std::size_t at(Clock const& clock, std::size_t lane) {
    return lane < clock.size() ? clock[lane] : 0;
  }
  static void merge(Clock& clock, Clock const& other) {
    if (clock.size() < other.size()) clock.resize(other.size(), 0);
    for (std::size_t k = 0; k < other.size(); ++k) clock[k] = std::max(clock[k], other[k]);
  }
  [[nodiscard]] std::size_t newest(std::size_t lane) const { return m_clocks[lane][lane]; }

  /// Chooses a lane of a predecessor with nothing behind it. The next choices are a lane where
  /// everything comes before anyway, a new lane, and the lane whose newest launch is the oldest.
  std::size_t choose() {
    Clock all;
    for (std::size_t const each : m_before) {
      if (newest(m_lane_of[each]) == each + 1) return m_lane_of[each];
      merge(all, m_clock_of[each]);
    }
    for (std::size_t lane = 0; lane < m_clocks.size(); ++lane)
      if (newest(lane) <= at(all, lane)) return lane;
    if (m_clocks.empty() || m_clocks.size() < m_most) return open();
    std::size_t oldest = 0;
    for (std::size_t lane = 1; lane < m_clocks.size(); ++lane)
      if (newest(lane) < newest(oldest)) oldest = lane;
    return oldest;
  }
  std::size_t open() {
    std::size_t const lane = m_clocks.size();
    if (lane == m_instances.size())
      m_instances.push_back(m_device.make_instance(m_threads_per_worker));
    if (lane > 0) m_device.enqueue_wait(m_instances[lane], m_begin);
    m_clocks.emplace_back(lane + 1, 0);
    return lane;
  }
  void* record(std::size_t lane) {
    m_events.push_back(nullptr);  // stays so if the device has failed meanwhile, which throws
    return m_events.back() = m_device.record_event(m_instances[lane], false);
  }

  DeviceAdapter& m_device;
  std::vector<void*>& m_instances;
  std::size_t const m_most;
  int const m_threads_per_worker;
  void* m_begin = nullptr;
  std::vector<Clock> m_clocks;         ///< by lane
  std::vector<std::size_t> m_lane_of;  ///< by launch
  std::vector<Clock> m_clock_of;       ///< by launch
  std::vector<void*> m_event_of;       ///< by launch
  std::vector<void*> m_events;         ///< all
  std::vector<std::size_t> m_before;   ///< of the launch being placed, the newest first
};

}  // namespace

bool CapturedGraph::capture(DeviceAdapter& device, CaptureOrder const& order, std::size_t rounds,
                            std::size_t most_at_once, int threads_per_worker,
                            FunctionRef<void(std::size_t, void*)> run) {
  std::size_t const count = order.nodes.size();
  if (instances.empty()) instances.push_back(device.make_instance(threads_per_worker));
  if (!device.begin_capture(instances[0])) return false;
  try {
    Lanes lanes(device, instances, most_at_once, threads_per_worker);
    lanes.begin();
    std::vector<std::size_t> before;
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t place = 0; place < count; ++place) {
        CaptureOrder::Node const& node = order.nodes[place];
        before.clear();
        std::size_t const first = round * count;
        if (round > 0)
          for (std::size_t const each : node.after_previous) before.push_back(first - count + each);
        for (std::size_t const each : node.after) before.push_back(first + each);
        std::size_t const lane = lanes.place(before);
        run(place, instances[lane]);
        device.check_launch(instances[lane]);
        lanes.placed(lane);
      }
    lanes.join();
  } catch (...) {
    try {
      device.release_graph(device.end_capture(instances[0], nullptr));
    } catch (...) {  // discarding it was the purpose
    }
    throw;
  }
  handle = device.end_capture(instances[0], handle);
  return true;
}

void CapturedGraph::release(DeviceAdapter& device) noexcept {
  if (handle != nullptr) device.release_graph(handle);
  for (void* instance : instances) device.destroy_instance(instance);
  *this = {};
}

}  // namespace trellis::Impl
