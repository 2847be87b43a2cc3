// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ACCESSREQUEST_HPP
#define TRELLIS_IMPL_ACCESSREQUEST_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Area.hpp>
#include <task/Trellis_AnyState.hpp>
#include <task/Trellis_ViewShape.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace trellis::Impl {

/// What a resource is asked for only when an area of it is first accessed.
struct ResourceInfo {
  std::string label;
  std::uintptr_t begin = 0;  ///< the allocation
  std::uintptr_t end = 0;
  ViewShape shape{};
  bool is_on_host = false;  ///< a Kokkos allocation in ordinary memory of the host
};

/// Keeps an allocation alive, and knows how many other references to it exist.
class ResourceHold {
 public:
  virtual ~ResourceHold() = default;
  /// References to the allocation, including this one.
  [[nodiscard]] virtual long holders() const = 0;
  /// The address that stands for the allocation in everything that refers to it.
  [[nodiscard]] virtual void const* record() const = 0;
  /// The first address and the one behind the last.
  [[nodiscard]] virtual std::pair<std::uintptr_t, std::uintptr_t> addresses() const = 0;
  /// For each byte of the View that is held: true if it has no value, and may be anything.
  [[nodiscard]] virtual std::span<bool const> padding() const = 0;
};

/// Distinguishes a resource from others that have had its addresses before. It is a number that no
/// other allocation has, or one of these.
struct Identity {
  /// It lies in some allocation, perhaps in one that is not known.
  static constexpr std::uint64_t within = 0;
  /// Memory of the program's, which may be freed and allocated anew without notice.
  static constexpr std::uint64_t of_program = 1;
  /// No other resource has ever had its addresses, or will have them.
  static constexpr std::uint64_t by_address = 2;
  static constexpr std::uint64_t first_allocation = 3;
  /// These bits mark the identity of an allocation that the host cannot write. Only Kokkos' record
  /// distinguishes it, so an earlier one may have had the same address and label. Once the program
  /// has waited for a failed task, that failure does not cancel later tasks.
  static constexpr std::uint64_t by_record = std::uint64_t{3} << 62;
  /// Returns an identity that no allocation has had.
  [[nodiscard]] static std::uint64_t next();
};

/// What the engine may ask the subject of an access (a View) during submission.
struct SubjectOps {
  void (*describe)(void const* subject, ResourceInfo& info);
  /// False when the subject has a label that differs from this one. It is cheap. Null: a subject's
  /// label never changes.
  bool (*may_have_label)(void const* subject, std::string const& label) = nullptr;
  /// Null, also as a result: the references to the subject are not counted.
  std::unique_ptr<ResourceHold> (*hold)(void const* subject) = nullptr;
  /// Returns the Identity. It is cheap. Null: `by_address`.
  std::uint64_t (*identity)(void const* subject) = nullptr;
  bool is_atomic = false;  ///< a View whose element operations are atomic
};

/// One access as the typed front ends pass it.
struct AccessRequest {
  Area area;
  Mode mode;
  void const* subject;
  SubjectOps const* ops;
  /// A user's state, or null; then `mode` is `write`. It lives during the call.
  StatePtr const* state = nullptr;

  [[nodiscard]] std::uint64_t identity() const {
    return ops->identity != nullptr ? ops->identity(subject) : Identity::by_address;
  }
  [[nodiscard]] bool counts() const { return mode != Mode::none && !area.empty(); }
  [[nodiscard]] AccessKind kind() const {
    return {mode, state != nullptr ? state->get() : nullptr};
  }
};

[[nodiscard]] inline ResourceInfo info_of(AccessRequest const& request) {
  ResourceInfo info;
  request.ops->describe(request.subject, info);
  return info;
}

/// The text of a request for messages: `"x"` for the whole of a resource, or where it is unknown
/// what the area is a part of; else `"x" [2, 5) x [0, 8)`, see area_text.
[[nodiscard]] std::string name_of(AccessRequest const& request, ResourceInfo const& info);
[[nodiscard]] inline std::string name_of(AccessRequest const& request) {
  return name_of(request, info_of(request));
}

}  // namespace trellis::Impl

#endif
