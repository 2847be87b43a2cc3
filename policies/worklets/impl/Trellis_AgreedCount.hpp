// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_AGREEDCOUNT_HPP
#define TRELLIS_IMPL_AGREEDCOUNT_HPP

#include <Trellis_Label.hpp>
#include <worklets/Trellis_WorkItem.hpp>
#include <worklets/impl/Trellis_ItemRange.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace trellis::worklets::Impl {

/// The numbers of items that a call's arguments have when its task is launched. If they differ, the
/// task fails.
struct AgreedCount : ItemCount {
  struct Each {
    std::string name;
    char const* domain;
    Extents known;  ///< used if `late` is empty
    std::function<std::int64_t()> late;
    /// Returns the extents of `late`, if they are known before the task is launched. It may be
    /// empty.
    std::function<std::optional<Extents>()> early;
  };
  Label task;
  char const* domain;  ///< the domain that the worklet runs over
  std::vector<Each> counts;

  [[nodiscard]] std::int64_t resolve() const;
  /// Returns how many items a domain has, if that is known before the task is launched.
  [[nodiscard]] std::optional<Extents> early(char const* of_domain) const;
  [[nodiscard]] static std::tuple<> annotations() { return {}; }
};

/// An AgreedCount. `stays`: it is the same in each replay of a recorded iteration of a model.
template <bool stays>
struct AgreedCountThat : AgreedCount {
  static constexpr bool stays_in_an_iteration = stays;
};

}  // namespace trellis::worklets::Impl

#endif
