// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FUSIONOPS_HPP
#define TRELLIS_IMPL_FUSIONOPS_HPP

#include <Trellis_Label.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <typeinfo>

namespace trellis::Impl {

class DeviceAdapter;

/// Returns the type's name as a person writes it.
[[nodiscard]] std::string readable_name(std::type_info const& type);

/// What the typed front ends know of fusable tasks with bodies of one type: see TaskOps.
struct FusionOps {
  /// The type of the functor, for people to read.
  std::string (*name)();
  /// Runs these bodies as one, with `label` as the name of the launch. Null: they have no such
  /// form, and a batch runs them one after the other on one thread. On a host space it returns when
  /// all are done. When it throws, `at` is the position of the body that did. Those before it are
  /// done, or launched; those behind it have not begun. `at` is behind the last one, as at first,
  /// if nothing has begun and the whole has failed: then each is run by itself.
  void (*run)(std::span<void* const> bodies, void* instance, Label const& label, std::size_t& at);
  /// True if nothing is launched on this instance: running one after the other is as good, and each
  /// may throw.
  bool (*loops)(void* instance);
  /// Returns the device with this number of the bodies' space, or of the space that batches of host
  /// bodies may go to. Returns null if there is none. Null: the bodies remain on the host.
  DeviceAdapter* (*device)(int number) = nullptr;
  /// Launches host bodies as one on a stream of such a device. When it throws, nothing has been
  /// launched. The last of the bodies `finish`es when all are done.
  void (*offload)(std::span<void* const> bodies, void* instance, Label const& label) = nullptr;
};

}  // namespace trellis::Impl

#endif
