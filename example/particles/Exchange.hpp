// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_EXCHANGE_HPP
#define TRELLIS_EXAMPLE_PARTICLES_EXCHANGE_HPP

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ParticleBuffer.hpp"
#include "Slab.hpp"

/// This header sends particles to the neighbours, in chunks. It is the event loop of the
/// resource-register paper (section 6). A task takes a chunk out of the particle buffer and reports
/// its size, and so much is sent. The receiver branches on the size that has come.
///
///     sender                                    receiver
///       do                                        size = receive(chunk)
///         size = take a chunk out of the buffer   size == 0           nothing
///         send(size, chunk)                       size == chunk       insert it, and receive again
///       while (size == chunk)                     size < chunk        insert it; it was the last
///
/// The number of messages is not known in advance. So this is one task, whose children are the
/// messages. Its body runs again when those of a round are complete, and no thread waits meanwhile.
namespace particles {

/// What came in, during one step or many. (One exchange at a time counts.)
struct ChunksReceived {
  long full = 0;
  long partial = 0;
  long empty = 0;
  long particles = 0;
  ChunksReceived& operator+=(ChunksReceived const& other) {
    full += other.full;
    partial += other.partial;
    empty += other.empty;
    particles += other.particles;
    return *this;
  }
};

/// The exchange buffers of a rank, for both sides. A chunk is received into one slot while the
/// previous one is still being inserted.
struct ChunkSlots {
  using Chunk = Kokkos::View<Particle*, Kokkos::HostSpace>;
  explicit ChunkSlots(int size)
      : out{Chunk("chunk to the west", size), Chunk("chunk to the east", size)},
        in{{{Chunk("chunk from the west, a", size), Chunk("chunk from the west, b", size)},
            {Chunk("chunk from the east, a", size), Chunk("chunk from the east, b", size)}}} {}
  std::array<Chunk, 2> out;
  std::array<std::array<Chunk, 2>, 2> in;
};

/// The body of the task.
class Exchange {
 public:
  /// All arguments but the buffers must outlive it. `releases`: it gives up early what it does not
  /// need.
  Exchange(Slab const& slab, ChunkSlots const& slots, ChunksReceived& counts, bool releases)
      : m_comm(slab.exchanges),
        m_counts(&counts),
        m_releases(releases),
        m_sides{{{slab.tiles.front().leaving[west], slab.arriving[west], slab.neighbours[west],
                  west, slots.out[west], slots.in[west]},
                 {slab.tiles.back().leaving[east], slab.arriving[east], slab.neighbours[east], east,
                  slots.out[east], slots.in[east]}}} {}

  /// Returns what it reads and writes. (A policy refers to what it names: neither may be moved
  /// from.)
  template <class Target>
  static auto policy(Target& target, trellis::priority urgency, Slab const& slab,
                     ChunkSlots const& slots) {
    using trellis::read_write, trellis::write;
    return trellis::ResourcePolicy(target, urgency, read_write(slab.exchanges),
                                   read_write(slab.tiles.front().leaving[west]),
                                   read_write(slab.tiles.back().leaving[east]),
                                   read_write(slab.arriving[west]), read_write(slab.arriving[east]),
                                   write(slots.out), write(slots.in[west]), write(slots.in[east]));
  }

  void operator()(trellis::TaskScope& self) {
    bool again = false;
    for (OneSide& side : m_sides) {
      std::int64_t const came = side.received.valid() ? side.received.get().count : -1;
      bool const last_was_sent = side.count.valid() && side.count.get() < side.out.extent_int(0);
      ChunkSlots::Chunk const& chunk = side.in[static_cast<std::size_t>(m_round % 2)];
      side.count = {};
      side.received = {};
      if (!side.is_sent && !last_was_sent) send(self, side);
      // The next chunk is requested before the last one is inserted, so that it travels meanwhile.
      if (!side.is_received && (came < 0 || came == chunk.extent_int(0))) receive(self, side);
      again = again || side.count.valid() || side.received.valid();
      if (came >= 0) branch(self, side, chunk, static_cast<int>(came));
      side.is_sent = side.is_sent || last_was_sent;
    }
    ++m_round;
    if (again) self.respawn();
  }

 private:
  struct OneSide {
    ParticleBuffer leaving, arriving;
    int peer;
    Side side;
    ChunkSlots::Chunk out;
    std::array<ChunkSlots::Chunk, 2> in;
    bool is_sent = false;      ///< all of it
    bool is_received = false;  ///< all of it
    trellis::Future<int> count{};
    trellis::Future<trellis::mpi::Received> received{};
  };

  void send(trellis::TaskScope& self, OneSide& side) const {
    side.count = trellis::host_task(
        "take a chunk",
        trellis::ResourcePolicy(self, trellis::read_write(side.leaving), trellis::write(side.out)),
        [](ParticleBuffer const& from, ChunkSlots::Chunk const& chunk) {
          std::size_t const count = std::min(from->size(), chunk.extent(0));
          std::copy(from->end() - static_cast<std::ptrdiff_t>(count), from->end(), chunk.data());
          from->resize(from->size() - count);
          return static_cast<int>(count);
        });
    trellis::mpi::send(std::string("send particles ") + name_of(side.side), self, m_comm, side.out,
                       side.count, side.peer, side.side);
  }
  void receive(trellis::TaskScope& self, OneSide& side) const {
    side.received = trellis::mpi::recv(std::string("recv particles ") + name_of(side.side), self,
                                       m_comm, side.in[static_cast<std::size_t>((m_round + 1) % 2)],
                                       side.peer, opposite(side.side));
  }

  void branch(trellis::TaskScope& self, OneSide& side, ChunkSlots::Chunk const& chunk, int size) {
    if (size == 0) {
      ++m_counts->empty;
    } else if (size == chunk.extent_int(0)) {
      ++m_counts->full;
      insert(side, chunk, size);
    } else {
      ++m_counts->partial;
      insert(side, chunk, size);
    }
    m_counts->particles += size;
    side.is_received = size < chunk.extent_int(0);
    // Tasks that wait for these particles need not wait for those from the other side.
    if (side.is_received && m_releases) self.release(side.arriving);
  }
  static void insert(OneSide const& side, ChunkSlots::Chunk const& chunk, int size) {
    side.arriving->insert(side.arriving->end(), chunk.data(), chunk.data() + size);
  }

  trellis::mpi::Communicator m_comm;
  ChunksReceived* m_counts;
  bool m_releases;
  int m_round = 0;
  std::array<OneSide, 2> m_sides;
};

}  // namespace particles

#endif
