// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many small kernels on tiles of one array: as fusable tasks that become one launch, each by
// itself, and as one kernel that somebody has written by hand over the same work.
#include "Parts.hpp"
#include "Stamps.hpp"

#include <Trellis_Fusion.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpu {
namespace {

using Range = Kokkos::RangePolicy<Space>;

struct Update {
  Row y;
  Stamp stamp;
  KOKKOS_FUNCTION void operator()(int i) const {
    stamp.start(i % 32 == 0);
    y(i) = 0.5 * y(i) + 1;
    stamp.stop(i % 32 == 0);
  }
};

struct Tiles {
  Tiles(int count, int elements)
      : all("y", static_cast<std::size_t>(count) * static_cast<std::size_t>(elements)) {
    for (int k = 0; k < count; ++k)
      each.push_back(Kokkos::subview(all, std::pair(k * elements, (k + 1) * elements)));
  }
  [[nodiscard]] static int size(Row const& row) { return static_cast<int>(row.extent(0)); }
  Row all;
  std::vector<Row> each;
  std::shared_ptr<Stamps> stamps;  ///< null: none are taken
  [[nodiscard]] Update update(Row const& row) const {
    return {row, stamps == nullptr ? Stamp{} : stamps->at(0)};
  }
};

/// One kernel over all tiles, or one for each, on one instance.
class OneStream final : public Runner {
 public:
  OneStream(Tiles const& tiles, bool whole) : m_tiles(tiles), m_whole(whole) {}
  void submit() override {
    if (m_whole)
      launch(m_tiles.all);
    else
      for (Row const& tile : m_tiles.each) launch(tile);
  }
  void wait() override { m_instance.fence(); }

 private:
  void launch(Row const& row) const {
    Kokkos::parallel_for(Range(m_instance, 0, Tiles::size(row)), m_tiles.update(row));
  }
  Tiles const& m_tiles;
  bool const m_whole;
  Space m_instance = Kokkos::Experimental::partition_space(Space(), 1).at(0);
};

/// Tasks, with advice. Replayed: a plan, which on a device is a graph.
class Tasks final : public Runner {
 public:
  Tasks(Tiles const& tiles, std::shared_ptr<trellis::Orchestration> const& advice)
      : m_tiles(tiles) {
    m_graph.orchestrate(advice);
  }
  void submit() override {
    for (Row const& tile : m_tiles.each)
      trellis::parallel_for("update",
                            trellis::ResourcePolicy(m_graph, Range(0, Tiles::size(tile)),
                                                    trellis::fusable, trellis::read_write(tile)),
                            m_tiles.update(tile));
  }
  void wait() override { m_graph.wait(); }

 private:
  Tiles const& m_tiles;
  trellis::TaskGraph m_graph;
};

std::unique_ptr<Runner> make(std::string const& model, Tiles const& tiles) {
  if (model == "by_hand") return std::make_unique<OneStream>(tiles, true);
  if (model == "one_stream") return std::make_unique<OneStream>(tiles, false);
  if (model == "fused")
    return std::make_unique<Tasks>(tiles, trellis::make_fuse_immediately(tiles.each.size()));
  if (model == "unfused") return std::make_unique<Tasks>(tiles, trellis::make_native());
  return std::make_unique<Replayed>([&tiles](trellis::TaskGraph& graph) {
    for (Row const& tile : tiles.each)
      trellis::parallel_for(
          "update",
          trellis::ResourcePolicy(graph, Range(0, Tiles::size(tile)), trellis::read_write(tile)),
          tiles.update(tile));
  });
}

std::vector<double> values_of(Row const& row) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), row);
  return {host.data(), host.data() + host.size()};
}

}  // namespace

void run_batches(Options const& options, Report& report) {
  for (int const count : {options.batch / 16, options.batch})
    for (int const elements : {64, 1024, on_gpu ? 65536 : 2048}) {
      if (count < 2) continue;
      Tiles tiles(count, elements);
      std::string const part =
          "batch of " + std::to_string(count) + " x " + std::to_string(elements);
      report.begin_table(part,
                         "us until all are submitted, until all are done, and on the device from "
                         "the first kernel's begin to the last one's end");
      for (char const* const model :
           {"by_hand", "fused", "unfused", "trellis_plan", "one_stream"}) {
        if (!options.wants(model)) continue;
        tiles.stamps = nullptr;
        Kokkos::deep_copy(tiles.all, 3.0);
        Times times;
        {
          auto const runner = make(model, tiles);
          runner->submit();
          runner->wait();
          for (double const value : values_of(tiles.all))
            if (value != 2.5) {
              report.add_failure(std::string(model) + ", " + part);
              break;
            }
          times = measure(*runner, options.repetitions, [] {});
        }
        // Once more, with stamps: these cost time, and are not part of the times above.
        tiles.stamps = std::make_shared<Stamps>(1);
        std::vector<double> spans;
        {
          auto const runner = make(model, tiles);
          for (int k = -2; k < options.repetitions; ++k) {
            tiles.stamps->clear();
            runner->submit();
            runner->wait();
            if (k >= 0) spans.push_back(tiles.stamps->seconds());
          }
        }
        report.add(part, model, true,
                   {{"submitted_us", times.submitted * 1e6},
                    {"done_us", times.done * 1e6},
                    {"device_us", median(spans) * 1e6}});
      }
    }
}

}  // namespace gpu
