// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDPOOL_HPP
#define TRELLIS_FIELDPOOL_HPP

#include <fields/Trellis_FieldTarget.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// With this header models share the memory of their fields.
namespace trellis {

/// What a pool has, in bytes, and what it has done.
struct FieldPoolCounts {
  std::size_t live = 0;         ///< in blocks that are in use
  std::size_t idle = 0;         ///< in blocks that wait for the next use
  std::size_t most_live = 0;    ///< the largest `live` so far
  std::size_t most_held = 0;    ///< the largest `live + idle` so far
  std::uint64_t allocated = 0;  ///< blocks that were new
  std::uint64_t reused = 0;     ///< blocks that had been used before
};

namespace Impl {

/// One piece of memory of a pool, which has it until it is trimmed.
struct PoolBlock {
  /// What has been launched on a stream and may still use the memory when that is handed on.
  struct Use {
    DeviceAdapter* device;  ///< which the event belongs to
    void* instance;
    void* event;
  };
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::size_t place = 0;  ///< of the pool's
  bool is_new = true;     ///< nobody has had it before its present owner
  std::vector<Use> uses;  ///< of a device: the next user's stream has to wait for these
  int under_way = 0;      ///< guarded by the pool: tasks that use it on a device and are not over
  /// Blocks that are idle, by bytes.
  using IdleBlocks = std::multimap<std::size_t, PoolBlock*>;
  IdleBlocks::node_type idle;  ///< while it is in use: so that giving it back needs no memory
};

}  // namespace Impl

/// Memory for the fields of any number of models, on any number of graphs and threads. A block goes
/// back when the last task that needs it is over, and the next field with so many bytes at the same
/// place gets it, the block that was used last first; new memory is allocated only when there is
/// none. So a model that is submitted again and again allocates in its first pass alone.
///
/// It must not outlive Kokkos.
class FieldPool {
 public:
  FieldPool() = default;
  FieldPool(FieldPool const&) = delete;
  FieldPool& operator=(FieldPool const&) = delete;
  ~FieldPool() { trim(); }

  /// Frees what is idle, as far as no device may still be using it.
  void trim();
  [[nodiscard]] FieldPoolCounts counts() const;
  [[nodiscard]] FieldPoolCounts counts(FieldTarget const& where) const;

  // For models.
  static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
  enum class Idle : unsigned char {
    any,    ///< of a device: the block's `uses` are to be waited for
    quiet,  ///< nothing uses the block any more
  };
  /// A block of so many bytes. Idle blocks are freed first where there would be more than
  /// `most_held` bytes at this place.
  [[nodiscard]] Impl::PoolBlock* take(FieldTarget const& where, std::size_t bytes,
                                      std::string const& label, std::size_t most_held = any_number,
                                      Idle which = Idle::any);
  void give_back(Impl::PoolBlock* block) noexcept;
  /// A task uses the block on a device, until `end_use`, also when it has been given back before.
  void begin_use(Impl::PoolBlock* block);
  void end_use(Impl::PoolBlock* block);

 private:
  struct Place {
    FieldTarget target;
    FieldPoolCounts counts;
    Impl::PoolBlock::IdleBlocks idle;  ///< of one size: the one that was used last is the last one
  };
  Place& place_of(FieldTarget const& where);
  /// Until the place holds no more than this.
  void free_idle(Place& place, std::size_t most_held);

  mutable std::mutex m_mutex;
  std::deque<Place> m_places;
  FieldPoolCounts m_all;  ///< but for `live` and `idle`
};

}  // namespace trellis

#endif
