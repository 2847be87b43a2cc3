// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDTARGET_HPP
#define TRELLIS_FIELDTARGET_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <common/Trellis_RunOn.hpp>
#include <Trellis_Spaces.hpp>
#include <fields/impl/Trellis_FieldTransfer.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

/// With this header you name the places where fields have their memory: `trellis::host`,
/// `trellis::target<trellis::Simulated>(1)`.
namespace trellis {

namespace Impl {

/// The functions that make memory of a place, and fill it from another place. There is one object
/// for each space, so its address identifies the space.
struct FieldMemoryOps {
  std::string_view name;
  void* (*allocate)(int number, std::string const& label, std::size_t bytes);
  void (*free)(int number, void* memory, std::size_t bytes);
  TransferOps const& (*transfer)(FieldWay way);  ///< null for the host, which copies nothing
  std::size_t (*available)(int number);          ///< bytes that can still be allocated
};

template <class Space>
struct FieldMemoryOf {
  using memory_space = typename Space::memory_space;
  static void* allocate(int number, std::string const& label, std::size_t bytes) {
    if constexpr (is_foreign_v<Space>)
      return memory_space(number).allocate(label.c_str(), bytes);
    else
      return Kokkos::kokkos_malloc<memory_space>(label, bytes);
  }
  static void free(int number, void* memory, std::size_t bytes) {
    if constexpr (is_foreign_v<Space>)
      memory_space(number).deallocate(memory, bytes);
    else
      Kokkos::kokkos_free<memory_space>(memory);
  }
  static std::size_t available(int number) {
    if constexpr (requires { AdapterOf<Space>::available_bytes(number); })
      return AdapterOf<Space>::available_bytes(number);
    static_cast<void>(number);
    return std::numeric_limits<std::size_t>::max();
  }
};
template <class Space>
inline FieldMemoryOps const field_memory{Space::name(), &FieldMemoryOf<Space>::allocate,
                                         &FieldMemoryOf<Space>::free, &transfer_ops<Space>,
                                         &FieldMemoryOf<Space>::available};
FieldMemoryOps const& host_field_memory();

struct HostTarget {};

}  // namespace Impl

/// The host as the target of a field.
inline constexpr Impl::HostTarget host{};

/// A place where fields have memory: the host, or one device. It is a value type.
class FieldTarget {
 public:
  FieldTarget(Impl::HostTarget = {}) : m_memory(&Impl::host_field_memory()) {}
  FieldTarget(Impl::FieldMemoryOps const& memory, int number, Impl::DeviceAdapter* device)
      : m_memory(&memory), m_number(number), m_device(device) {}

  /// Returns a name like "Host" or "Simulated 1".
  [[nodiscard]] std::string name() const {
    return m_device == nullptr ? "Host"
                               : std::string(m_memory->name) + ' ' + std::to_string(m_number);
  }
  /// Returns the device; null for the host.
  [[nodiscard]] Impl::DeviceAdapter* device() const { return m_device; }
  /// Returns the functions of the space; targets of one space share them.
  [[nodiscard]] Impl::FieldMemoryOps const* memory() const { return m_memory; }
  /// Returns the type. Targets of one type are alike: tasks take the same time there.
  [[nodiscard]] std::string type() const { return m_device == nullptr ? "Host" : m_device->type(); }
  /// Allocates. The label is for tools.
  [[nodiscard]] void* allocate(std::string const& label, std::size_t bytes) const {
    return m_memory->allocate(m_number, label, bytes);
  }
  void free(void* memory, std::size_t bytes) const { m_memory->free(m_number, memory, bytes); }
  /// Returns how many bytes can still be allocated there; the largest number if that is unknown.
  [[nodiscard]] std::size_t available() const { return m_memory->available(m_number); }
  friend bool operator==(FieldTarget const&, FieldTarget const&) = default;

 private:
  Impl::FieldMemoryOps const* m_memory;
  int m_number = 0;
  Impl::DeviceAdapter* m_device = nullptr;
};

/// Returns a device of this space, by its number; for a host space, the host.
template <class Space>
[[nodiscard]] FieldTarget target(int number = 0) {
  if constexpr (Impl::AdapterOf<Space>::exists &&
                (Impl::DeviceSpace<Space> || Impl::is_foreign_v<Space>)) {
    return {Impl::field_memory<Space>, number, &Impl::AdapterOf<Space>::get(number)};
  } else {
    static_cast<void>(number);
    return host;
  }
}

namespace Impl {
/// Returns where a View has its memory, by default.
template <class V>
FieldTarget default_target() {
  using Memory = typename V::memory_space;
  if constexpr (CanTouch<Kokkos::DefaultHostExecutionSpace, Memory>::value)
    return host;
  else
    return target<typename Memory::execution_space>();
}
}  // namespace Impl

}  // namespace trellis

#endif
