// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_Text.hpp>
#include <tools/Trellis_TraceRows.hpp>

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace trellis {
namespace {

using Json = nlohmann::ordered_json;

// The trace-event format counts in microseconds. Three decimals of a double are exact up to 2^53
// ns, 104 days.
double microseconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1000.0;
}

// Returns a time as it stands in the file.
double shifted(std::uint64_t ns, ChromeTraceOptions const& options) {
  return static_cast<double>(static_cast<std::int64_t>(ns) + options.shift.count()) / 1000.0;
}

// Labels may hold any bytes; those that are not UTF-8 become U+FFFD where the event is written.
std::string dump(Json const& event) {
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Writes events as they come: the whole document is never in memory.
class Events {
 public:
  explicit Events(std::ostream& out) : m_out(out) { Impl::put(m_out, "{\"traceEvents\":["); }

  void add(Json const& event) {
    Impl::put(m_out, (m_first ? "\n" : ",\n") + dump(event));
    m_first = false;
  }

  void finish(Json const& other) {
    Impl::put(m_out, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":" + dump(other) + "}\n");
  }

 private:
  std::ostream& m_out;
  bool m_first = true;
};

Json metadata(char const* name, int process, std::size_t tid, Json args) {
  return {{"name", name}, {"ph", "M"}, {"pid", process}, {"tid", tid}, {"args", std::move(args)}};
}

// Adds the members of an object that the caller has given as text.
void add_members(Json& to, std::string const& text, char const* what) {
  if (text.empty()) return;
  Json const given = Json::parse(text, nullptr, false);
  if (!given.is_object())
    throw Error(Error::Kind::bad_input, std::string("Trellis: ChromeTraceOptions::") + what +
                                            " is no JSON object: " + text);
  to.update(given);
}

std::string category(TaskRecord const& task) {
  return task.pattern.empty() ? "task" : task.pattern;
}

// The arguments include the two delays before the task ran: how long it was pending, and how long
// it was ready.
Json arguments(TaskRecord const& task, ChromeTraceOptions const& options) {
  Json args{{"id", task.id}, {"state", to_string(task.state)}};
  if (!task.accesses.empty()) {
    Json accesses = Json::array();
    for (AccessRecord const& access : task.accesses) accesses.push_back(Impl::to_text(access));
    args["accesses"] = std::move(accesses);
  }
  if (!task.pattern.empty()) args["pattern"] = task.pattern;
  if (!task.space.empty()) args["space"] = task.space;
  if (std::string site = Impl::call_site(task); !site.empty()) args["call_site"] = std::move(site);
  if (task.priority != 0) args["priority"] = task.priority;
  if (task.threads != 0) args["threads"] = task.threads;
  if (task.batch != 0) args["batch"] = task.batch;
  if (task.main_thread) args["main_thread"] = true;
  if (task.synchronizing) args["synchronizing"] = true;
  if (task.submitted_ns != 0) args["submitted_us"] = shifted(task.submitted_ns, options);
  if (task.submitted_ns != 0 && task.ready_ns >= task.submitted_ns) {
    args["pending_us"] = microseconds(task.ready_ns - task.submitted_ns);
  }
  if (task.ready_ns != 0 && task.started_ns >= task.ready_ns) {
    args["ready_us"] = microseconds(task.started_ns - task.ready_ns);
  }
  if (options.arguments != nullptr) add_members(args, options.arguments(task), "arguments");
  return args;
}

// Returns the time at which an edge's arrow leaves its source. Viewers bind it to the slice that is
// open at this time, and a slice is closed at its end, so the arrow leaves one nanosecond before.
// It leaves earlier where the target did not wait for the end: a task may release a resource while
// it runs, and a launch on another stream waits on the device.
std::uint64_t departure(Impl::Slice const& source, Impl::Slice const& target) {
  std::uint64_t const last = source.end > source.begin ? source.end - 1 : source.begin;
  return std::min(last, target.begin);
}

}  // namespace

void Trace::write_chrome_json(std::ostream& out, ChromeTraceOptions const& options) const {
  Json added = Json::object();  // before anything is written, as it may be wrong
  add_members(added, options.other_data, "other_data");
  Impl::TraceRows const trace(*this);
  int const process = options.process;
  auto const time = [&](std::uint64_t ns) { return shifted(ns, options); };
  Events events(out);

  // Thread ids begin with 1 for the first lanes of all rows; the further lanes come behind. The
  // sort index keeps a row together.
  std::vector<std::size_t> further(trace.names.size());
  std::size_t tid = trace.names.size() + 1;
  std::size_t index = 0;
  events.add(metadata("process_name", process, 0, {{"name", options.process_name}}));
  events.add(metadata("process_sort_index", process, 0, {{"sort_index", process}}));
  auto const name_thread = [&](std::size_t thread, std::string const& name) {
    events.add(metadata("thread_name", process, thread, {{"name", name}}));
    events.add(metadata("thread_sort_index", process, thread, {{"sort_index", index++}}));
  };
  for (std::size_t row = 0; row != trace.names.size(); ++row) {
    name_thread(row + 1, trace.names[row]);
    further[row] = tid;
    for (std::size_t lane = 1; lane != trace.lanes[row]; ++lane) {
      name_thread(tid++, trace.names[row] + " (lane " + std::to_string(lane + 1) + ")");
    }
  }
  auto const thread = [&](Impl::Slice const& slice) {
    return slice.lane == 0 ? slice.row + 1 : further[slice.row] + slice.lane - 1;
  };

  struct Slices {
    std::size_t first;
    std::size_t last;
  };
  std::unordered_map<TaskId, Slices> slices_of;
  for (std::size_t i = 0; i != trace.slices.size(); ++i) {
    auto const known = slices_of.try_emplace(trace.slices[i].task->id, Slices{i, i}).first;
    if (trace.slices[i].is_late) known->second.last = i;
  }

  // The arrows of each slice are written right behind it: viewers sort events by time, in file
  // order where times are equal, and bind an arrow to the slice that its thread entered last.
  struct Arrow {
    std::size_t edge;
    std::size_t source;
    std::size_t target;
  };
  std::vector<Arrow> arrows;
  std::vector<std::vector<std::size_t>> of_slice(trace.slices.size());
  for (std::size_t e = 0; e != graph.edges().size(); ++e) {
    auto const before = slices_of.find(graph.edges()[e].from);
    auto const after = slices_of.find(graph.edges()[e].to);
    if (before == slices_of.end() || after == slices_of.end()) continue;
    std::size_t const from = before->second.last, to = after->second.first;
    // Slices are sorted by begin; an arrow back in time cannot be drawn.
    if (to <= from) continue;
    of_slice[from].push_back(arrows.size());
    of_slice[to].push_back(arrows.size());
    arrows.push_back({e, from, to});
  }

  for (std::size_t i = 0; i != trace.slices.size(); ++i) {
    Impl::Slice const& slice = trace.slices[i];
    TaskRecord const& task = *slice.task;
    bool const failed = task.state == TaskState::failed;
    Json event{{"name", failed ? "FAILED " + task.label : task.label},
               {"cat", category(task)},
               {"ph", "X"},
               {"ts", time(slice.begin)},
               {"dur", microseconds(slice.end - slice.begin)},
               {"pid", process},
               {"tid", thread(slice)},
               {"args", arguments(task, options)}};
    // This is how long it lay in its stream's queue.
    if (slice.begin > task.started_ns && !slice.is_late)
      event["args"]["queued_us"] = microseconds(slice.begin - task.started_ns);
    if (failed) event["cname"] = "terrible";
    events.add(event);
    for (std::size_t const a : of_slice[i]) {
      Arrow const& arrow = arrows[a];
      bool const leaves = arrow.source == i;
      std::string_view const reason = to_string(graph.edges()[arrow.edge].reason);
      std::uint64_t const ts = leaves ? departure(slice, trace.slices[arrow.target]) : slice.begin;
      Json flow{{"name", reason},       {"cat", "edge"},  {"ph", leaves ? "s" : "f"},
                {"id", arrow.edge + 1}, {"ts", time(ts)}, {"pid", process},
                {"tid", thread(slice)}};
      if (!leaves) flow["bp"] = "e";
      events.add(flow);
    }
  }

  std::size_t cancelled = 0;
  for (TaskRecord const& task : graph.nodes()) {
    if (task.state != TaskState::cancelled) continue;
    if (cancelled++ == 0) name_thread(tid, "cancelled");
    // These tasks have no begin; the time is that of the last event known of them.
    std::uint64_t const ts = std::max({task.finished_ns, task.ready_ns, task.submitted_ns});
    events.add({{"name", "CANCELLED " + task.label},
                {"cat", category(task)},
                {"ph", "i"},
                {"s", "t"},
                {"ts", time(ts)},
                {"pid", process},
                {"tid", tid},
                {"args", arguments(task, options)}});
  }

  Json other{{"generator", "Trellis"},        {"clock", options.clock},
             {"tasks", graph.nodes().size()}, {"tasks_run", trace.tasks},
             {"tasks_cancelled", cancelled},  {"edges", graph.edges().size()},
             {"edges_drawn", arrows.size()}};
  other.update(added);
  events.finish(other);
}

}  // namespace trellis
