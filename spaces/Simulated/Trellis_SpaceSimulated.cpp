// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <common/Trellis_FinalizeHook.hpp>
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis_Spaces.hpp>

#define TRELLIS_IMPL_MAKES_MEMORY_SPACES
#include <common/Trellis_KokkosInternals.hpp>
#undef TRELLIS_IMPL_MAKES_MEMORY_SPACES

#include <cstring>
#include <map>
#include <mutex>
#include <ostream>
#include <vector>

TRELLIS_IMPL_MAKE_DEVICE_MEMORY_SPACE(trellis::SimulatedSpace);
TRELLIS_IMPL_MAKE_HOST_MEMORY_SPACE(trellis::SimulatedHostPinnedSpace);

namespace trellis {

namespace {

using Devices = std::vector<std::unique_ptr<SimulatedDevice>>;

Devices make_devices(std::vector<SimulatedDeviceOptions> const& all) {
  Devices devices;
  for (SimulatedDeviceOptions options : all) {
    options.number = static_cast<int>(devices.size());
    if (!devices.empty()) options.clock = devices.front()->options().clock;
    devices.push_back(std::make_unique<SimulatedDevice>(options));
  }
  return devices;
}

Devices& all_devices() {
  static Devices all = make_devices({SimulatedDeviceOptions()});
  return all;
}

}  // namespace

void Simulated::configure(SimulatedDeviceOptions const& options, int count) {
  if (count < 1)
    throw Error(Error::Kind::bad_input,
                "Trellis: there cannot be " + std::to_string(count) + " simulated devices");
  configure_each(std::vector(static_cast<std::size_t>(count), options));
}

void Simulated::configure_each(std::vector<SimulatedDeviceOptions> const& options) {
  if (options.empty())
    throw Error(Error::Kind::bad_input, "Trellis: there cannot be 0 simulated devices");
  for (auto const& device : all_devices())
    if (device->live_streams() > 0 || device->live_bytes() > 0)
      throw Error(Error::Kind::bad_input,
                  "Trellis: the simulated devices cannot be replaced, device " +
                      std::to_string(device->options().number) + " still has " +
                      std::to_string(device->live_streams()) + " streams of graphs and " +
                      std::to_string(device->live_bytes()) + " bytes of Views");
  all_devices() = make_devices(options);
}

int Simulated::device_count() {
  return static_cast<int>(all_devices().size());
}

SimulatedDevice& Simulated::device(int number) {
  if (number < 0 || number >= device_count())
    throw Error(Error::Kind::bad_input, "Trellis: there is no simulated device " +
                                            std::to_string(number) + ", there are " +
                                            std::to_string(device_count()));
  return *all_devices()[static_cast<std::size_t>(number)];
}

void Simulated::print_configuration(std::ostream& out, bool /*verbose*/) const {
  out << "Simulated devices: " << device_count() << '\n';
}

namespace Impl {

struct HostInstances::Idle {
  std::mutex lock;
  std::vector<void*> instances;
};

void* HostInstances::take() {
  {
    std::lock_guard const lock(m_idle->lock);
    if (!m_idle->instances.empty()) {
      void* const instance = m_idle->instances.back();
      m_idle->instances.pop_back();
      return instance;
    }
  }
  return m_space.make_instance(1);
}

void HostInstances::give_back(void* instance) {
  std::lock_guard const lock(m_idle->lock);
  m_idle->instances.push_back(instance);
}

HostInstances::HostInstances(SpaceAdapter& space)
    : m_space(space), m_idle(std::make_shared<Idle>()) {
  push_finalize_hook([&space, idle = m_idle] {
    std::lock_guard const lock(idle->lock);
    for (void* const instance : idle->instances) space.destroy_instance(instance);
    idle->instances.clear();
  });
}

HostInstances& host_instances(SpaceAdapter& space) {
  static std::mutex lock;
  static std::map<SpaceAdapter*, HostInstances> all;
  std::lock_guard const guard(lock);
  return all.try_emplace(&space, space).first->second;
}

void CopiedAtOnce::copy(void* to, void const* from, std::size_t bytes) {
  AsDevice const here;
  std::memcpy(to, from, bytes);
}

}  // namespace Impl
}  // namespace trellis
