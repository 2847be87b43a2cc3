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
class SpaceAdapter;

/// The type's name as a person writes it.
[[nodiscard]] std::string readable_name(std::type_info const& type);

/// What the typed fronts know of fusable tasks that have bodies of one type: see TaskOps.
struct FusionOps {
  /// The type of the functor, for people.
  std::string (*name)();
  /// Runs these bodies as one, with `label` as the name of the launch. Null: they have no such
  /// form, and a batch runs them one after the other on one thread. On a host space it returns when
  /// all are done. When it throws, `at` says which body did: those before it are done, or launched, and
  /// those behind have not begun. `at` is behind the last one, as it is at first, where nothing has
  /// begun and the whole is at fault: then each is run by itself.
  void (*run)(std::span<void* const> bodies, void* instance, Label const& label, std::size_t& at);
  /// On this instance nothing is launched: one after the other is as good, and each may throw.
  bool (*loops)(void* instance);
  /// The device of this number among those of the bodies' space, or of the space that batches of
  /// bodies of the host may go to; null: there is none. Null: they stay on the host.
  DeviceAdapter* (*device)(int number) = nullptr;
  /// Of bodies of the host: launches these as one on a stream of such a device. When it throws
  /// nothing has been launched. The last one of them `finish`es when all are done.
  void (*deploy)(std::span<void* const> bodies, void* instance, Label const& label) = nullptr;
};

}  // namespace trellis::Impl

#endif
