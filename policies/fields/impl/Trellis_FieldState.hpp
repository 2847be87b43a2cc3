// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FIELDSTATE_HPP
#define TRELLIS_IMPL_FIELDSTATE_HPP

#include <Trellis_Area.hpp>
#include <Trellis_Label.hpp>
#include <task/Trellis_AccessRequest.hpp>
#include <fields/Trellis_FieldPool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

namespace trellis {

/// Says how a field has its memory.
enum class FieldStorage : unsigned char {
  transient,   ///< from a pool, from the first task that needs it to the end of the last one
  persistent,  ///< always, of its own
  external,    ///< the program's own View
};

namespace Impl {

/// Reserves addresses without memory that nothing else has. The areas of a field without memory are
/// among them.
class ReservedRange {
 public:
  ReservedRange() = default;
  explicit ReservedRange(std::size_t bytes);
  ReservedRange(ReservedRange&& other) noexcept
      : m_begin(std::exchange(other.m_begin, nullptr)), m_bytes(other.m_bytes) {}
  ReservedRange& operator=(ReservedRange&& other) noexcept {
    std::swap(m_begin, other.m_begin);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }
  ~ReservedRange();
  [[nodiscard]] void* begin() const { return m_begin; }

 private:
  void* m_begin = nullptr;
  std::size_t m_bytes = 0;
};

/// Memory that a field has between iterations. It goes back to its pool when it is no longer used.
class KeptBlock {
 public:
  /// `place` is one of the model's places; `over` is called at the end.
  KeptBlock(std::shared_ptr<FieldPool> pool, PoolBlock* block, std::size_t place,
            std::function<void()> over)
      : m_pool(std::move(pool)), m_block(block), m_place(place), m_over(std::move(over)) {}
  KeptBlock(KeptBlock const&) = delete;
  KeptBlock& operator=(KeptBlock const&) = delete;
  ~KeptBlock() {
    m_pool->give_back(m_block);
    m_over();
  }
  [[nodiscard]] void* memory() const { return m_block->memory; }
  [[nodiscard]] std::size_t bytes() const { return m_block->bytes; }
  [[nodiscard]] std::size_t place() const { return m_place; }

 private:
  std::shared_ptr<FieldPool> const m_pool;
  PoolBlock* const m_block;
  std::size_t const m_place;
  std::function<void()> const m_over;
};
using KeptPtr = std::shared_ptr<KeptBlock const>;

/// A part of a field: in each direction the first index, and the one past the last.
using FieldBox = std::array<std::pair<std::size_t, std::size_t>, Area::max_rank>;

/// The shape of a field: its type and its extents. Strides count elements.
struct FieldShape {
  std::type_index type = typeid(void);  ///< type of data and layout; void: unknown yet
  std::size_t element_bytes = 0;
  int rank = 0;
  bool has_extents = false;
  std::array<std::size_t, Area::max_rank> extents{};
  std::array<std::size_t, Area::max_rank> strides{};
  std::size_t bytes = 0;  ///< from the first element to the end of the last

  [[nodiscard]] FieldBox whole() const;
};

/// A field that the program has on the host and on a device, and for which it knows the newer side:
/// a DualView.
struct TwoSides {
  std::size_t device_place = 0;  ///< index of the target; the other side is at `place`
  struct Valid {
    bool on_host = true;
    bool on_device = true;
    friend bool operator==(Valid const&, Valid const&) = default;
  };
  std::function<Valid()> get;
  std::function<void(Valid)> set;
};

/// The data that a model has of a field. Handles and tasks share it.
///
/// A field that tasks need at several places has a copy at each of them but one. The copy is a
/// `FieldState` of its own, which the field owns. For iterations, predictions and limits a copy is
/// like a transient field that one task computes: the task that copies. So it exists from that task
/// to the end of its last reader, in the memory and in the order of its own iteration. Later
/// iterations, and tasks that write the field between iterations, cannot find it.
///
/// The address of its areas is that of the memory that it has between iterations, else one of a
/// reserved range. So a task that uses the memory of a persistent field by a View, and one that
/// names the field, touch the same bytes. The address changes only with the memory itself. Tasks
/// before the change use other memory than tasks after it, and this field does not order them.
struct FieldState {
  /// `model` is a number that no other model has.
  FieldState(Label label, std::uint64_t model) : name(std::move(label)), owner(model) {}

  Label const name;  ///< with the source location that named it first
  std::uint64_t const owner;
  FieldShape shape;
  FieldStorage storage = FieldStorage::transient;
  bool is_locked = false;
  bool is_required = false;
  /// Its target in the model: where it has memory between iterations, or is computed. For an
  /// external field it is known from the beginning.
  std::size_t place = 0;
  void* external = nullptr;
  std::shared_ptr<void const> held;  ///< the View that owns the memory
  std::string held_label;            ///< its label
  std::source_location bound_at;     ///< where it was bound last
  ReservedRange range;
  std::vector<std::shared_ptr<FieldState>> copies;  ///< by place; null: it has had no copy there
  std::shared_ptr<TwoSides const> sides;            ///< of an external field; null: one side

  /// True if it has memory between iterations.
  [[nodiscard]] bool keeps_values() const {
    return storage != FieldStorage::transient || is_locked || is_required;
  }
  [[nodiscard]] KeptPtr kept() const {
    std::lock_guard const lock(m_mutex);
    return m_kept;
  }
  void keep(KeptPtr block) {
    std::lock_guard const lock(m_mutex);
    m_kept.swap(block);
  }
  /// Returns its memory between iterations; null if it has none.
  [[nodiscard]] void* memory() const {
    if (external != nullptr) return external;
    KeptPtr const block = kept();
    return block != nullptr ? block->memory() : nullptr;
  }
  [[nodiscard]] void const* identity() const {
    void const* const here = memory();
    return here != nullptr ? here : range.begin();
  }
  /// Sets the shape, and reserves addresses if the size is known.
  void set_shape(FieldShape const& to);
  [[nodiscard]] Area area(FieldBox const& box) const { return area(box, identity()); }
  /// Returns the area when the field has this memory.
  [[nodiscard]] Area area(FieldBox const& box, void const* memory) const;
  [[nodiscard]] std::string text() const { return '"' + name.string() + '"'; }
  /// True if the memory at the addresses of this field may have this label. The memory of a bound
  /// field has two labels. Otherwise a task that names the View and one that names the field would
  /// rename it again and again.
  [[nodiscard]] bool may_be_called(std::string_view label) const {
    return name.view() == label || (external != nullptr && held_label == label);
  }

 private:
  mutable std::mutex m_mutex;
  KeptPtr m_kept;
};

/// A field, or a part of it, as an annotation names it.
class FieldArea {
 public:
  FieldArea(std::shared_ptr<FieldState> field) : m_field(std::move(field)) {}
  FieldArea(std::shared_ptr<FieldState> field, FieldBox const& box)
      : m_field(std::move(field)), m_is_whole(false), m_box(box) {}
  [[nodiscard]] std::shared_ptr<FieldState> const& field() const { return m_field; }
  [[nodiscard]] bool is_whole() const { return m_is_whole; }
  /// Returns the box of a part.
  [[nodiscard]] FieldBox const& box() const { return m_box; }
  [[nodiscard]] Area area() const {
    return m_field->area(m_is_whole ? m_field->shape.whole() : m_box);
  }

 private:
  std::shared_ptr<FieldState> m_field;
  bool m_is_whole = true;
  FieldBox m_box{};
};
inline Area area_of(FieldArea const& area) {
  return area.area();
}
void describe_field_state(FieldState const& field, ResourceInfo& info);
void describe_field(void const* subject, ResourceInfo& info);
[[nodiscard]] bool field_may_have_label(void const* subject, std::string const& label);

/// Binds the memory that fields have for the task that the calling thread launches.
class FieldBinding {
 public:
  struct Entry {
    FieldState const* field;
    void* memory;
  };
  explicit FieldBinding(std::span<Entry const> entries)
      : m_entries(entries), m_outer(std::exchange(t_now, this)) {}
  FieldBinding(FieldBinding const&) = delete;
  FieldBinding& operator=(FieldBinding const&) = delete;
  ~FieldBinding() { t_now = m_outer; }
  /// Returns the bound memory. Throws `Error` when the field has none.
  [[nodiscard]] static void* memory_of(FieldState const& field);

 private:
  static thread_local constinit FieldBinding const* t_now;
  std::span<Entry const> m_entries;
  FieldBinding const* m_outer;
};

}  // namespace Impl
}  // namespace trellis

#endif
