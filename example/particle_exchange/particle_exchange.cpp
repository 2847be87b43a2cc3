// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A particle buffer is sent in chunks until all particles are gone; the receiving side looks into
// each chunk at run time and branches on its size. A chunk of size 0 is the last one. The case is
// that of the resource-register paper (section 6), with the channel between the two sides as a
// Token: one send and one receive for each chunk.
//
// Look at: the body of "receive". It finds out what there is to do and makes that its parts, a
// kernel for a full chunk, a host task for a partial one. What the branch does not need it gives
// up, so that who looks at that need not wait for the parts.
#include <Trellis.hpp>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using trellis::read, trellis::read_write, trellis::write, trellis::ResourcePolicy;
using Particles = Kokkos::View<int*, Kokkos::HostSpace>;  // a particle is its number

struct Options {
  int particles = 4242;
  int chunk = 100;
};

struct Chunk {
  Particles particles;
  int size = 0;
};

/// What both sides use. The channel has two slots: while one is emptied the other one can be
/// filled.
struct Exchange {
  Exchange(int particles, int chunk)
      : outgoing("outgoing", particles),
        inserted("inserted", particles),
        slots{Chunk{Particles("slot 0", chunk)}, Chunk{Particles("slot 1", chunk)}} {
    std::iota(outgoing.data(), outgoing.data() + particles, 0);
  }

  Particles outgoing;
  Particles inserted;
  int inserted_count = 0;  ///< belongs to `inserted`
  trellis::Token dump{"dump"};
  std::vector<int> dumped;  ///< stands behind `dump`
  trellis::Token channel{"channel", 2};
  std::array<Chunk, 2> slots;  ///< stand behind the parts of `channel`
};

/// The sending side: takes `size` particles from `first` on out of the buffer.
void send(trellis::TaskGraph& graph, Exchange& x, int slot, int first, int size) {
  trellis::host_task("send", ResourcePolicy(graph, read(x.outgoing), write(x.channel.part(slot))),
                     [&x, slot, first, size] {
                       Chunk& chunk = x.slots[slot];
                       chunk.size = size;
                       for (int i = 0; i < size; ++i) chunk.particles(i) = x.outgoing(first + i);
                     });
}

/// A full chunk becomes part of the buffer on this side.
void insert(trellis::TaskScope& receive, Exchange& x, int slot) {
  Particles const from = x.slots[slot].particles;
  Particles const to = x.inserted;
  int const first = x.inserted_count;
  int const size = x.slots[slot].size;
  x.inserted_count += size;
  trellis::parallel_for(
      "insert",
      ResourcePolicy(receive, size, trellis::on<Kokkos::DefaultHostExecutionSpace>,
                     read(x.channel.part(slot)), write(x.inserted)),
      KOKKOS_LAMBDA(int i) { to(first + i) = from(i); });
}

/// A partial chunk is put aside.
void dump(trellis::TaskScope& receive, Exchange& x, int slot) {
  trellis::host_task("dump", ResourcePolicy(receive, read(x.channel.part(slot)), write(x.dump)),
                     [&x, slot] {
                       Chunk const& chunk = x.slots[slot];
                       for (int i = 0; i < chunk.size; ++i) x.dumped.push_back(chunk.particles(i));
                     });
}

/// The receiving side. Before it runs nobody knows what it will do, so it asks for all that it may
/// need.
void receive(trellis::TaskGraph& graph, Exchange& x, int slot, int full_size) {
  trellis::host_task(
      "receive",
      ResourcePolicy(graph, read(x.channel.part(slot)), read_write(x.inserted), read_write(x.dump)),
      [&x, slot, full_size](trellis::TaskScope& self) {
        int const size = x.slots[slot].size;
        if (size == full_size) {
          self.release(x.dump);
          insert(self, x, slot);
        } else if (size > 0) {
          self.release(x.inserted);
          dump(self, x, slot);
        }
      });
}

/// Somebody else looks at both piles after each chunk.
void look(trellis::TaskGraph& graph, Exchange& x) {
  trellis::host_task("look at inserted", ResourcePolicy(graph, read(x.inserted)),
                     [&x] { return x.inserted_count; });
  trellis::host_task("look at dump", ResourcePolicy(graph, read(x.dump)),
                     [&x] { return x.dumped.size(); });
}

/// How many of the tasks with this label did not have to wait until the receiver was done.
std::size_t released(trellis::DependencyGraph const& graph, std::string const& label) {
  return static_cast<std::size_t>(
      std::count_if(graph.edges().begin(), graph.edges().end(), [&](auto const& edge) {
        return edge.released && graph.node(edge.from).label == "receive" &&
               graph.node(edge.to).label == label;
      }));
}

bool arrived_once_each(Exchange const& x) {
  std::vector<int> times(x.outgoing.extent(0));
  for (int i = 0; i < x.inserted_count; ++i) ++times.at(x.inserted(i));
  for (int particle : x.dumped) ++times.at(particle);
  return std::all_of(times.begin(), times.end(), [](int k) { return k == 1; });
}

bool run(Options const& options) {
  Exchange x(options.particles, std::min(options.chunk, std::max(options.particles, 1)));
  trellis::TaskGraphOptions graph_options;
  graph_options.record = true;
  trellis::TaskGraph graph(graph_options);

  // It opens when this thread waits. By then all that follows is in the graph.
  trellis::host_task("open", ResourcePolicy(graph, write(x.channel), trellis::main_thread), [] {});
  int sent = 0;
  int size = 0;
  int slot = 0;
  do {
    size = std::min(options.chunk, options.particles - sent);
    send(graph, x, slot, sent, size);
    receive(graph, x, slot, options.chunk);
    look(graph, x);
    sent += size;
    slot = 1 - slot;
  } while (size > 0);
  graph.wait();

  trellis::DependencyGraph const done = graph.dependency_graph();
  std::size_t const received = done.find("receive").size();
  std::size_t const full = done.find("insert").size();
  std::size_t const partial = done.find("dump").size();
  bool const complete = arrived_once_each(x);
  std::printf("%d particles in chunks of %d\n", options.particles, options.chunk);
  std::printf("%zu sent, %zu received: %zu full, %zu partial, %zu empty\n",
              done.find("send").size(), received, full, partial, received - full - partial);
  std::printf("%d particles inserted, %zu dumped\n", x.inserted_count, x.dumped.size());
  std::printf("given up early: the dump by %zu receivers, what was inserted by %zu\n",
              released(done, "look at dump"), released(done, "look at inserted"));
  std::printf("each particle arrived exactly once: %s\n", complete ? "yes" : "no");
  return complete;
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Sends a particle buffer in chunks; the receiver branches on the size of each.",
               "particle_exchange");
  app.add_option("--particles", options.particles, "how many there are")->capture_default_str();
  app.add_option("--chunk", options.chunk, "particles in a full chunk")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  if (options.particles < 0)
    throw std::runtime_error("--particles must not be negative, it is " +
                             std::to_string(options.particles));
  if (options.chunk < 1)
    throw std::runtime_error("--chunk must be at least 1, it is " + std::to_string(options.chunk));
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options const options = parse(argc, argv);
    Kokkos::ScopeGuard const kokkos;
    return run(options) ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "particle_exchange: %s\n", error.what());
    return 1;
  }
}
