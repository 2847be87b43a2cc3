// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <base/Trellis_TouchedPages.hpp>
#include <warn/Trellis_WarnFlow.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace trellis::Impl {

namespace {

/// True for the same runs and strides at another place.
bool is_shifted(Area const& a, Area const& b) {
  if (a.run() != b.run() || a.rank() != b.rank()) return false;
  for (int k = 0; k < a.rank(); ++k)
    if (!(a.dimension(k) == b.dimension(k))) return false;
  return true;
}

bool is_same_call(Label const& a, Label const& b) {
  return a.site().line() == b.site().line() && a.place() == b.place() && a.view() == b.view();
}

std::string call_of(Label const& task) {
  return "task " + task.text();
}

std::string words_of(WarnArea const& area) {
  WarnAllocation const& of = area.of;
  bool const is_whole = area.area.rank() == 0 && area.area.begin() == of.begin &&
                        area.area.end() == of.end && of.shape.rank == 0;
  return is_whole ? "whole" : area_text(area.area, of.begin, of.shape);
}

std::string named(WarnArea const& area) {
  return '"' + area.of.label + "\" " + words_of(area);
}

}  // namespace

// --- what tasks name -----------------------------------------------------------------------------

/// Returns the known allocation with this area, if its memory is kept from being reused.
WarnAllocation* WarnFlow::known_at(Area const& area) {
  auto next = m_allocations.upper_bound(area.begin());
  if (next == m_allocations.begin()) return nullptr;
  WarnAllocation& before = *std::prev(next)->second;
  return before.hold != nullptr && area.end() <= before.end ? &before : nullptr;
}

void WarnFlow::forget(WarnAllocation& allocation, Dropped& dropped) {
  for (auto const& area : allocation.areas) over_after_wait(*area, false);
  auto const gone = m_allocations.find(allocation.begin);
  if (allocation.hold != nullptr)
    dropped.push_back(allocation.hold);
  else
    m_gone.push_back(std::move(gone->second));
  m_allocations.erase(gone);
}

/// Forgets allocations whose memory is not kept, if there is something else now. `is_kept`: the new
/// one is kept, and so more is known of it than of an otherwise equal one.
void WarnFlow::forget_others_at(ResourceInfo const& info, bool is_kept, Dropped& dropped) {
  for (;;) {
    auto next = m_allocations.lower_bound(info.end);
    if (next == m_allocations.begin()) return;
    WarnAllocation& last = *std::prev(next)->second;
    bool const is_it = last.begin == info.begin && last.end == info.end && !is_kept;
    if (last.end <= info.begin || last.hold != nullptr || is_it) return;
    forget(last, dropped);
  }
}

/// Null if it is unknown what memory this is.
WarnAllocation* WarnFlow::allocation_of(AccessRequest const& request, Dropped& dropped) {
  if (WarnAllocation* const known = known_at(request.area)) return known;
  ResourceInfo info;
  request.ops->describe(request.subject, info);
  if (info.begin >= info.end || request.area.begin() < info.begin || request.area.end() > info.end)
    return nullptr;
  if (++m_made > std::max<std::size_t>(16, m_allocations.size() / 4)) sweep(dropped);
  std::shared_ptr<ResourceHold> hold;
  if (request.ops->hold != nullptr) hold = request.ops->hold(request.subject);
  forget_others_at(info, hold != nullptr, dropped);
  auto const next = m_allocations.lower_bound(info.end);
  if (next != m_allocations.begin() && std::prev(next)->second->end > info.begin) {
    WarnAllocation& there = *std::prev(next)->second;
    return there.begin == info.begin && there.end == info.end ? &there : nullptr;
  }
  auto made = std::make_unique<WarnAllocation>(info, std::move(hold));
  return m_allocations.emplace(info.begin, std::move(made)).first->second.get();
}

WarnArea* WarnFlow::area_of(AccessRequest const& request, Dropped& dropped) {
  WarnAllocation* const in = allocation_of(request, dropped);
  if (in == nullptr) return nullptr;
  std::uint64_t const hash = request.area.hash();
  auto const [first, last] = in->by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (known->second->area == request.area) return known->second;
  if (in->areas.size() == most_areas) in->is_crowded = true;
  if (in->is_crowded) return nullptr;
  in->areas.push_back(std::make_unique<WarnArea>(request.area, *in));
  WarnArea& made = *in->areas.back();
  in->index.for_each_candidate(made.area, [&](void* item) {
    WarnArea& other = *static_cast<WarnArea*>(item);
    if (!overlaps(made.area, other.area)) return;
    made.overlaps.push_back({&other, contains(made.area, other.area)});
    other.overlaps.push_back({&made, contains(other.area, made.area)});
  });
  in->index.insert(made.area, &made);
  in->by_hash.emplace(hash, &made);
  return &made;
}

WarnFlow::Dropped WarnFlow::known_but_named_by(TaskSpec const& spec) {
  std::vector<WarnAllocation const*> named;
  for (AccessRequest const& request : spec.accesses)
    if (!request.area.empty()) named.push_back(known_at(request.area));
  std::sort(named.begin(), named.end());
  Dropped others;
  for (auto const& [begin, allocation] : m_allocations)
    if (allocation->hold != nullptr &&
        !std::binary_search(named.begin(), named.end(), allocation.get()))
      others.push_back(allocation->hold);
  return others;
}

// --- the flow of data ----------------------------------------------------------------------------

Sequence WarnFlow::submitted(TaskSpec const& spec, bool in_body, Dropped& dropped) {
  first_task_after_wait();
  m_gone.clear();
  std::uint64_t const looks = m_looks.load(std::memory_order_acquire);
  bool is_known = spec.ops->is_tracked;  // all predecessors are known, except for waits in its body
  bool is_plain = spec.ops->is_tracked;  // accesses only Views
  std::vector<Touch> touches;
  for (AccessRequest const& request : spec.accesses) {
    if (!request.counts()) continue;
    WarnArea* const area = area_of(request, dropped);
    bool const is_view = area != nullptr && area->of.is_tracked();
    is_plain = is_plain && is_view && request.state == nullptr;
    is_known = is_known && area != nullptr && request.state == nullptr;
    if (area == nullptr) continue;
    bool const is_sure = spec.ops->is_tracked && request.state == nullptr;
    bool const reads = request.mode != Mode::write || !is_sure;
    bool const writes = request.mode != Mode::read || request.state != nullptr;
    touches.push_back({area, request.mode, reads, writes, is_sure});
  }
  WarnOrder::Node& node = m_order.add(spec.label, looks);
  Sequence const task = m_order.last();
  // Rules and tags may order it. So do tasks that it names, and threads that tasks are bound to.
  node.unknown_before = !spec.after.empty() || !spec.tags.empty() || spec.synchronizing ||
                        spec.main_thread || !is_known || in_body;
  node.may_wait = spec.ops->may_wait;
  node.in_body = in_body;
  node.writes_only_views = is_plain && spec.ops->leaves_only_views;
  order(touches, task);
  if (spec.synchronizing) m_order.newest_is_barrier();
  task_after_wait(spec.label, is_plain);
  for (Touch const& touch : touches)
    if (touch.reads) read(touch, task, spec.label);
  for (Touch const& touch : touches)
    if (touch.writes) write(touch, task, spec.label);
  for (Touch const& touch : touches)
    if (touch.writes) look_at_captures(touch.area->of, *touch.area, task, spec.label);
  return task;
}

/// Two accesses to one area are ordered unless both read. That is so in most modes; for the others
/// it finds an order too many.
void WarnFlow::order(std::vector<Touch> const& touches, Sequence task) {
  WarnOrder::Node& node = m_order.newest();
  auto const behind = [&](WarnArea const& area, bool writes) {
    if (area.writer != 0 && area.writer != task) m_order.add_edge(area.writer, node);
    if (!writes) return;
    for (Sequence const reader : area.readers)
      if (reader != task) m_order.add_edge(reader, node);
  };
  for (Touch const& touch : touches) {
    behind(*touch.area, touch.writes);
    for (WarnArea::Overlap const& overlap : touch.area->overlaps)
      behind(*overlap.other, touch.writes);
  }
  WarnOrder::all_edges_are_there(node);
  for (Touch const& touch : touches) {
    if (touch.writes) {
      touch.area->writer = task;
      touch.area->readers.clear();
    } else {
      touch.area->readers.push_back(task);
    }
  }
}

void WarnFlow::read(Touch const& touch, Sequence task, Label const& label) {
  WarnArea& area = *touch.area;
  bool written = area.written;
  auto const look = [&](WarnArea& each) {
    written = written || each.written;
    if (each.unread.task != task) each.unread.task = 0;
    over_after_wait(each, true);
  };
  look(area);
  for (WarnArea::Overlap const& overlap : area.overlaps) look(*overlap.other);
  if (written || !touch.is_sure || !area.of.is_tracked()) return;
  if (touch.mode == Mode::read && area.early.task == 0)
    area.early = {label, task, m_looks.load(std::memory_order_relaxed)};
  // A task before it may do what it does not declare.
  if (touch.mode != Mode::exclusive && area.of.is_on_host && m_order.newest().before.empty() &&
      !m_order.newest().may_be_anywhere() && never_touched(area.area.begin(), area.area.end()))
    tell(WarningKind::read_unwritten, label, area,
         "reads " + named(area) + ", which nobody has written: its memory has never been touched");
}

void WarnFlow::write(Touch const& touch, Sequence task, Label const& label) {
  WarnArea& area = *touch.area;
  std::uint64_t const looks = m_looks.load(std::memory_order_relaxed);
  bool const overwrites = touch.mode == Mode::write && touch.is_sure && area.of.is_tracked();
  WarnArea::By early;
  auto const look = [&](WarnArea& each, bool covered) {
    if (each.early.task != 0 && each.early.task != task && each.early.looks == looks)
      early = std::exchange(each.early, {});
    if (overwrites && covered) over_after_wait(each, false);
    if (each.unread.task == 0 || each.unread.task == task) return;
    if (overwrites && each.unread.looks == looks) {
      if (covered)
        tell_overwritten(each, label, area);
      else if (is_shifted(each.area, area.area) && is_same_call(each.unread.label, label))
        tell(WarningKind::overwritten, label, area,
             "writes " + named(area) + ", and another task of this call " + words_of(each) +
                 "; nobody reads in between. Do the pieces overlap by mistake?");
    }
    if (covered) each.unread.task = 0;
  };
  bool const is_first = !area.written;
  look(area, true);
  for (WarnArea::Overlap const& overlap : area.overlaps) look(*overlap.other, overlap.covered);
  area.early = is_first ? early : WarnArea::By();
  area.written = true;
  area.unread.task = 0;
  if (touch.is_sure && area.of.is_tracked()) area.unread = {label, task, looks};
}

/// True if a task whose place in the order is known has named it.
bool WarnFlow::is_recent(WarnAllocation const& allocation) {
  return std::any_of(allocation.areas.begin(), allocation.areas.end(), [&](auto const& area) {
    Sequence const reader = area->readers.empty() ? 0 : area->readers.back();
    return m_order.find(std::max(area->writer, reader)) != nullptr;
  });
}

void WarnFlow::sweep(Dropped& dropped) {
  m_made = 0;
  std::uint64_t const looks = m_looks.load(std::memory_order_acquire);
  for (auto next = m_allocations.begin(); next != m_allocations.end();) {
    WarnAllocation& allocation = *(next++)->second;
    if (allocation.hold != nullptr ? allocation.hold->holders() > 1 : is_recent(allocation))
      continue;
    if (allocation.is_tracked())
      for (auto const& area : allocation.areas) {
        WarnArea::By const& unread = area->unread;
        if (unread.task == 0 || unread.looks != looks) continue;
        tell_early(area->early, unread, *area);
        tell(WarningKind::never_read, unread.label, *area,
             "writes " + named(*area) +
                 ", and nobody reads it: no task does, and the last View of it was gone before "
                 "anybody waited");
      }
    forget(allocation, dropped);
  }
}

void WarnFlow::forget_all(Dropped& dropped) {
  sweep(dropped);
  while (!m_allocations.empty()) forget(*m_allocations.begin()->second, dropped);
}

// --- what functors hold --------------------------------------------------------------------------

void WarnFlow::holds_undeclared(Sequence task, Label const& label,
                                std::vector<ResourceHold const*> const& holds) {
  std::uint64_t const looks = m_looks.load(std::memory_order_acquire);
  for (auto const& [begin, allocation] : m_allocations) {
    if (allocation->hold == nullptr ||
        std::find(holds.begin(), holds.end(), allocation->hold.get()) == holds.end())
      continue;
    for (auto const& area : allocation->areas) {
      WarnOrder::Node const* const writer = m_order.find(area->writer);
      if (area->writer == 0 || writer == nullptr || writer->looks != looks) continue;
      if (area->writer == task || writer->in_body) continue;
      bool const is_later = area->writer > task;
      if (is_later ? !m_order.may_reach(task, area->writer)
                   : !m_order.may_reach(area->writer, task)) {
        tell_undeclared(label, writer->label, *area);
        break;
      }
    }
    std::erase_if(allocation->captures,
                  [&](WarnArea::By const& other) { return other.looks != looks; });
    allocation->captures.push_back({label, task, looks});
  }
}

/// Its predecessors are known now, but were not when the task was submitted.
void WarnFlow::waits_for_none(Sequence task, Label const& label) {
  if (WarnOrder::Node* const node = m_order.find(task)) node->may_wait = false;
  for (auto const& [begin, allocation] : m_allocations) {
    if (allocation->captures.empty()) continue;
    for (auto const& area : allocation->areas)
      if (area->writer == task) look_at_captures(*allocation, *area, task, label);
  }
}

void WarnFlow::look_at_captures(WarnAllocation& allocation, WarnArea const& area, Sequence task,
                                Label const& label) {
  std::uint64_t const looks = m_looks.load(std::memory_order_relaxed);
  for (WarnArea::By& each : allocation.captures) {
    if (each.task == 0 || each.looks != looks || each.task == task) continue;
    if (m_order.may_reach(each.task, task)) continue;
    tell_undeclared(each.label, label, area);
    each.task = 0;
  }
}

// --- words ---------------------------------------------------------------------------------------

/// `text` goes on after the task.
void WarnFlow::tell(WarningKind kind, Label const& task, WarnArea const& area,
                    std::string const& text) {
  Warning warning;
  warning.kind = kind;
  warning.task = task.string();
  warning.place = task.place();
  warning.resource = area.of.label;
  warning.area = words_of(area);
  warning.text = call_of(task) + ' ' + text;
  m_teller.note(std::move(warning));
}

/// `writer` is the only task that has written the area, and no task has read that.
void WarnFlow::tell_early(WarnArea::By const& early, WarnArea::By const& writer,
                          WarnArea const& area) {
  if (early.task == 0 || early.task == writer.task || early.looks != writer.looks) return;
  tell(WarningKind::read_unwritten, early.label, area,
       "reads " + named(area) + ", which no task has written; " + call_of(writer.label) +
           " writes it later, and nobody reads that. Are the calls in the right order?");
}

void WarnFlow::tell_overwritten(WarnArea const& lost, Label const& by, WarnArea const& with) {
  tell_early(lost.early, lost.unread, lost);
  tell(WarningKind::overwritten, lost.unread.label, lost,
       "writes " + named(lost) + ", and " + call_of(by) + " writes " + words_of(with) +
           " over it; nobody reads it in between. If the second one goes on with what it finds, "
           "say read_write; if both use it as scratch memory, say exclusive");
}

void WarnFlow::tell_undeclared(Label const& holder, Label const& writer, WarnArea const& area) {
  tell(WarningKind::not_declared, holder, area,
       "captures \"" + area.of.label + "\", which it does not declare; " + call_of(writer) +
           " writes " + words_of(area) +
           ", and nothing orders the two. If it does not touch the View, say none(...)");
}

}  // namespace trellis::Impl
