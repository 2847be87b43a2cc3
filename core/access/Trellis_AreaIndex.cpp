// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <access/Trellis_AreaIndex.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace trellis::Impl {

AreaIndex::Frame::Fit AreaIndex::Frame::box(Area const& area) const noexcept {
  std::uint64_t const pitch[axes - 1] = {pitch0, pitch1};
  std::uint64_t rest = area.begin() + phase;
  std::uint64_t span = area.end() - area.begin();
  int k = 0;
  Box box{{0, 0, 0}, {0, (pitch0 - 1) / pitch1, pitch1 - 1}};
  for (int a = 0; a < axes - 1; ++a) {
    if (a > 0 && pitch1 == pitch0) continue;
    std::uint64_t more = 0;
    for (; k < area.rank() && area.dimension(k).stride % pitch[a] == 0; ++k) {
      auto const [stride, extent] = area.dimension(k);
      more += stride / pitch[a] * (extent - 1);
      span -= stride * (extent - 1);
    }
    box.low[a] = rest / pitch[a];
    rest %= pitch[a];
    box.high[a] = box.low[a] + more;
    if (rest + span > pitch[a]) {  // continues in the next row: all of the inner axes
      box.high[a] += (rest + span - 1) / pitch[a];
      return {box, k == area.rank()};
    }
  }
  box.low[axes - 1] = rest;
  box.high[axes - 1] = rest + span - 1;
  return {box, k == area.rank()};
}

AreaIndex::Grid& AreaIndex::Frame::grid(Box const& box) {
  std::array<std::uint8_t, axes> size;
  for (int a = 0; a < axes; ++a)
    size[a] = static_cast<std::uint8_t>(std::bit_width(box.high[a] - box.low[a]));
  Grid* unused = nullptr;
  for (Grid& grid : grids) {
    if (grid.size == size) return grid;
    if (grid.entries.empty()) unused = &grid;
  }
  // Grids are reused, so there are never more grids than the largest number of areas at one time.
  if (unused == nullptr) unused = &grids.emplace_back();
  unused->size = unused->shift = size;
  unused->buckets.clear();
  return *unused;
}

void AreaIndex::Grid::grow() {
  Vector<std::uint32_t> more(std::max<std::size_t>(8, 2 * buckets.size()), no_entry);
  // Start with cells as small as the boxes; enlarge them until there are no more cells than
  // entries.
  Coordinates low, cells;
  low.fill(~std::uint64_t{0});
  cells.fill(0);
  for (Entry const& entry : entries)
    for (int a = 0; a < axes; ++a) {
      low[a] = std::min(low[a], entry.box.low[a]);
      cells[a] = std::max(cells[a], entry.box.low[a]);
    }
  for (int a = 0; a < axes; ++a) {
    shift[a] = size[a];
    if (!entries.empty()) cells[a] = ((cells[a] - low[a]) >> shift[a]) + 1;
  }
  while (static_cast<double>(cells[0]) * cells[1] * cells[2] > entries.size()) {
    auto const a = std::max_element(cells.begin(), cells.end()) - cells.begin();
    cells[a] = (cells[a] + 1) / 2;
    ++shift[a];
  }
  buckets = std::move(more);
  for (std::uint32_t n = 0; n < entries.size(); ++n)
    entries[n].next = std::exchange(bucket(cell(entries[n].box.low)), n);
}

void AreaIndex::Grid::insert(Box const& box, Area const& area, void* item) {
  if (entries.size() >= buckets.size()) grow();
  auto const n = static_cast<std::uint32_t>(entries.size());
  // Reserve before anything is changed.
  if (entries.size() == entries.capacity()) entries.reserve(std::max<std::size_t>(8, 2 * n));
  if (areas.size() == areas.capacity()) areas.reserve(std::max<std::size_t>(8, 2 * n));
  entries.push_back({box, item, std::exchange(bucket(cell(box.low)), n)});
  areas.push_back(area);
}

bool AreaIndex::Grid::erase(Box const& box, void* item) {
  if (entries.empty()) return false;
  std::uint32_t* link = &bucket(cell(box.low));
  while (*link != no_entry && entries[*link].item != item) link = &entries[*link].next;
  if (*link == no_entry) return false;
  std::uint32_t const n = std::exchange(*link, entries[*link].next);
  // The last entry moves to the free place.
  auto const last = static_cast<std::uint32_t>(entries.size() - 1);
  if (n != last) {
    link = &bucket(cell(entries[last].box.low));
    while (*link != last) link = &entries[*link].next;
    *link = n;
    entries[n] = entries[last];
    areas[n] = areas[last];
  }
  entries.pop_back();
  areas.pop_back();
  return true;
}

AreaIndex::Frame& AreaIndex::place(Area const& area, Frame::Fit& fit) {
  for (Frame& frame : m_frames) {
    fit = frame.box(area);
    if (fit.tight) return frame;
  }
  fit = m_frames.front().box(area);
  return m_frames.front();
}

void AreaIndex::add_frame(Area const& area) {
  std::uint64_t const pitch0 = area.rank() > 0 ? area.dimension(0).stride : no_pitch;
  std::uint64_t const pitch1 = area.rank() > 1 ? area.dimension(1).stride : pitch0;
  for (Frame const& frame : m_frames)
    if (frame.pitch0 == pitch0 && frame.pitch1 == pitch1) return;

  Vector<Frame> old = std::exchange(m_frames, {});
  for (Frame& frame : old)
    if (frame.pitch0 != no_pitch) m_frames.push_back({frame.pitch0, frame.pitch1, frame.phase, {}});
  std::uint64_t const phase = pitch0 == no_pitch ? 0 : pitch0 - m_base % pitch0;
  m_frames.push_back({pitch0, pitch1, phase, {}});
  std::sort(m_frames.begin(), m_frames.end(), [](Frame const& a, Frame const& b) {
    return std::pair(a.pitch0, a.pitch1) > std::pair(b.pitch0, b.pitch1);
  });
  Frame::Fit fit;
  for (Frame const& frame : old)
    for (Grid const& grid : frame.grids)
      for (std::size_t n = 0; n < grid.entries.size(); ++n) {
        Frame& to = place(grid.areas[n], fit);
        to.grid(fit.box).insert(fit.box, grid.areas[n], grid.entries[n].item);
      }
}

void AreaIndex::insert(Area const& area, void* item) {
  if (area.empty()) return;
  if (m_base == 0) m_base = area.begin();
  if (m_frames.empty()) add_frame(area);
  Frame::Fit fit;
  Frame* frame = &place(area, fit);
  if (!fit.tight) {
    if (m_size == 0 && m_frames.size() == max_frames) m_frames.clear();  // a new start
    if (m_frames.size() < max_frames) add_frame(area);
    frame = &place(area, fit);
  }
  frame->grid(fit.box).insert(fit.box, area, item);
  ++m_size;
}

void AreaIndex::erase(Area const& area, void* item) {
  if (area.empty()) return;
  Frame::Fit fit;
  Frame& frame = place(area, fit);
  [[maybe_unused]] bool const found = frame.grid(fit.box).erase(fit.box, item);
  assert(found);
  --m_size;
}

}  // namespace trellis::Impl
