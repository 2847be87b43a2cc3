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

/// Says how many bytes a pool has, and what it has done.
struct FieldPoolCounts {
  std::size_t live = 0;         ///< bytes in blocks that are in use
  std::size_t idle = 0;         ///< bytes in blocks that wait for the next use
  std::size_t most_live = 0;    ///< the largest `live` so far
  std::size_t most_held = 0;    ///< the largest `live + idle` so far
  std::uint64_t allocated = 0;  ///< blocks that were new
  std::uint64_t reused = 0;     ///< blocks that had been used before
};

namespace Impl {

/// One piece of memory of a pool, which keeps it until it is trimmed.
struct PoolBlock {
  /// Work launched on a stream that may still use the memory when a new owner gets it.
  struct Use {
    DeviceAdapter* device;  ///< device that the event belongs to
    void* instance;
    void* event;
  };
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::size_t place = 0;  ///< index among the pool's places
  bool is_new = true;     ///< it has had no owner before the present one
  std::vector<Use> uses;  ///< on a device: the next user's stream must wait for these
  int under_way = 0;      ///< tasks that use it on a device and are not over; guarded by the pool
  /// The idle blocks, by bytes.
  using IdleBlocks = std::multimap<std::size_t, PoolBlock*>;
  IdleBlocks::node_type idle;  ///< node for its time in use, so that giving it back needs no memory
};

}  // namespace Impl

/// Has memory for the fields of any number of models, on any number of graphs and threads. A block
/// goes back when the last task that needs it is over. The next field with the same number of bytes
/// at the same place gets it, the last used block first. New memory is allocated only when there is
/// no such block. So a model that is submitted again and again allocates only in its first
/// iteration.
///
/// It must not outlive Kokkos.
class FieldPool {
 public:
  FieldPool() = default;
  FieldPool(FieldPool const&) = delete;
  FieldPool& operator=(FieldPool const&) = delete;
  ~FieldPool() { trim(); }

  /// Frees the idle blocks, except those that a device may still be using.
  void trim();
  [[nodiscard]] FieldPoolCounts counts() const;
  [[nodiscard]] FieldPoolCounts counts(FieldTarget const& where) const;

  // Called by models.
  static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
  enum class Idle : unsigned char {
    any,    ///< on a device: the new user must wait for the block's `uses`
    quiet,  ///< nothing uses the block any more
  };
  /// Returns a block of `bytes` bytes. Idle blocks are freed first if there would be more than
  /// `most_held` bytes at this place.
  [[nodiscard]] Impl::PoolBlock* take(FieldTarget const& where, std::size_t bytes,
                                      std::string const& label, std::size_t most_held = any_number,
                                      Idle which = Idle::any);
  void give_back(Impl::PoolBlock* block) noexcept;
  /// Notes that a task uses the block on a device until `end_use`, even if the block is given back
  /// before.
  void begin_use(Impl::PoolBlock* block);
  void end_use(Impl::PoolBlock* block);

 private:
  struct Place {
    FieldTarget target;
    FieldPoolCounts counts;
    Impl::PoolBlock::IdleBlocks idle;  ///< among blocks of one size the last used one comes last
  };
  Place& place_of(FieldTarget const& where);
  /// Frees idle blocks until the place holds no more than `most_held`.
  void free_idle(Place& place, std::size_t most_held);

  mutable std::mutex m_mutex;
  std::deque<Place> m_places;
  FieldPoolCounts m_all;  ///< without `live` and `idle`
};

}  // namespace trellis

#endif
