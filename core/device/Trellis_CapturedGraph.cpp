// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <device/Trellis_CapturedGraph.hpp>

#include <algorithm>

namespace trellis::Impl {

namespace {

/// A few instances that capture, with events for the order of the launches on them. A launch is
/// known by its number over all rounds.
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

  /// The first one has been told to capture; others join when they wait for its first event.
  void begin() { m_begin = record(0); }

  /// Where the next launch goes, ordered behind others: the lane of one of these with nothing
  /// behind it, else a fresh one, else the one whose last launch is the oldest.
  std::size_t place(std::vector<std::size_t> const& before) {
    std::size_t lane = m_last.size();
    for (std::size_t const each : before)
      if (m_last[m_lane_of[each]] == each) lane = m_lane_of[each];
    if (lane == m_last.size()) {
      if (lane < m_most || lane == 0)
        open();
      else
        lane = static_cast<std::size_t>(std::min_element(m_last.begin(), m_last.end()) -
                                        m_last.begin());
    }
    for (std::size_t const each : before)
      if (m_lane_of[each] != lane) m_device.enqueue_wait(m_instances[lane], m_event_of[each]);
    return lane;
  }
  /// It has been done there.
  void placed(std::size_t lane, bool somebody_waits) {
    m_last[lane] = m_lane_of.size();
    m_lane_of.push_back(lane);
    m_event_of.push_back(somebody_waits ? record(lane) : nullptr);
  }
  void join() {
    for (std::size_t lane = 1; lane < m_last.size(); ++lane)
      m_device.enqueue_wait(m_instances[0], record(lane));
  }

 private:
  void open() {
    std::size_t const lane = m_last.size();
    if (lane == m_instances.size())
      m_instances.push_back(m_device.make_instance(m_threads_per_worker));
    if (lane > 0) m_device.enqueue_wait(m_instances[lane], m_begin);
    m_last.push_back(0);
  }
  void* record(std::size_t lane) {
    m_events.push_back(nullptr);  // stays so when the device has failed meanwhile, which throws
    return m_events.back() = m_device.record_event(m_instances[lane], false);
  }

  DeviceAdapter& m_device;
  std::vector<void*>& m_instances;
  std::size_t const m_most;
  int const m_threads_per_worker;
  void* m_begin = nullptr;
  std::vector<std::size_t> m_last;     ///< by lane: the newest launch
  std::vector<std::size_t> m_lane_of;  ///< by launch
  std::vector<void*> m_event_of;       ///< by launch
  std::vector<void*> m_events;         ///< all
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
        lanes.placed(lane, round + 1 < rounds || node.leads_on);
      }
    lanes.join();
  } catch (...) {
    try {
      device.release_graph(device.end_capture(instances[0], nullptr));
    } catch (...) {  // it has been given up, and that was the purpose
    }
    throw;
  }
  handle = device.end_capture(instances[0], handle);
  stale = false;
  return true;
}

void CapturedGraph::release(DeviceAdapter& device) noexcept {
  if (handle != nullptr) device.release_graph(handle);
  for (void* instance : instances) device.destroy_instance(instance);
  *this = {};
}

}  // namespace trellis::Impl
