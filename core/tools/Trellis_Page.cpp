// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_PageFiles.hpp>
#include <tools/Trellis_Page.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Impl::TimelineStyle;
using Impl::Fold;
using Impl::LabelTimes;
using Impl::PageOptions;
using Impl::Slice;
using Impl::TraceLook;

using Json = nlohmann::ordered_json;

/// Returns a value as it may stand in a script element: it has no "<".
std::string as_json(Json const& value) {
  std::string const json = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  for (char const c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

/// Texts that many tasks share, each once. The first one is empty.
class Texts {
 public:
  Texts() { (*this)(""); }
  std::size_t operator()(std::string const& text) {
    auto const [known, is_new] = m_index.try_emplace(text, m_all.size());
    if (is_new) m_all.push_back(text);
    return known->second;
  }
  [[nodiscard]] std::vector<std::string> const& all() const { return m_all; }

 private:
  std::map<std::string, std::size_t> m_index;
  std::vector<std::string> m_all;
};

/// Writes the page's data as JSON: an array for each property, with a value for each task. Times
/// are nanoseconds since the first task began. In the scripts this is `D`, and tasks are indices
/// into its arrays.
class Data {
 public:
  Data(std::ostream& out, TraceLook const& look, std::vector<Fold> const& folds,
       PageOptions const& options)
      : m_out(out), m_look(look), m_folds(folds), m_options(options) {
    choose_tasks();
  }

  void write() {
    m_text = "{\"title\":" + as_json(m_options.title);
    add("summary", Impl::summary_of(m_look));
    list("files", m_options.files,
         [](auto const& file) { return Json::array({file.first, file.second}); });
    add("span", m_look.rows.end - m_look.rows.begin);
    add("all", nodes().size());
    add("path", m_look.critical_ns);
    write_rows();
    write_families();
    write_tasks();
    write_slices();
    write_hidden();
    write_accesses();
    write_edges();
    write_folds();
    write_counters();
    list("texts", m_texts.all());
    list("notes", m_notes);
    Impl::put(m_out, m_text + '}');
  }

 private:
  [[nodiscard]] std::vector<TaskRecord> const& nodes() const { return m_look.trace.graph.nodes(); }

  void key(std::string_view name) { ((m_text += ",\n\"") += name) += "\":"; }
  void add(std::string_view name, Json const& value) {
    key(name);
    m_text += as_json(value);
  }
  template <class Range, class F = std::identity>
  void list(std::string_view name, Range const& range, F const& value_of = {}) {
    key(name);
    char const* before = "[";
    for (auto const& item : range) {
      auto const value = value_of(item);
      m_text += std::exchange(before, ",");
      if constexpr (std::is_arithmetic_v<std::remove_const_t<decltype(value)>>)
        m_text += std::to_string(value);
      else
        m_text += as_json(value);
      Impl::put_if_long(m_out, m_text);
    }
    m_text += *before == '[' ? "[]" : "]";
  }
  /// A list with a number for each task that is shown.
  template <class F>
  void column(std::string_view name, F const& number_of) {
    list(name, m_shown, [&](std::size_t p) { return number_of(nodes()[p], p); });
  }
  [[nodiscard]] std::int64_t since_begin(std::uint64_t ns) const {
    return static_cast<std::int64_t>(ns) - static_cast<std::int64_t>(m_look.rows.begin);
  }
  void times(std::string_view name, std::uint64_t TaskRecord::* time) {
    list(name, m_shown, [&](std::size_t p) {
      return nodes()[p].*time == 0 ? Json() : Json(since_begin(nodes()[p].*time));
    });
  }

  /// If there are too many tasks, it chooses the critical path, those that failed, and the longest.
  void choose_tasks() {
    for (std::size_t p = 0; p != nodes().size(); ++p) m_shown.push_back(p);
    if (m_shown.size() > m_options.most_tasks) {
      auto const rank = [&](std::size_t p) {
        bool const first = m_look.is_critical[p] || nodes()[p].state == TaskState::failed;
        return std::pair(first, Impl::time_of(nodes()[p]));
      };
      std::nth_element(
          m_shown.begin(), m_shown.begin() + static_cast<std::ptrdiff_t>(m_options.most_tasks),
          m_shown.end(), [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
      std::uint64_t longest = 0;
      for (std::size_t k = m_options.most_tasks; k != m_shown.size(); ++k)
        longest = std::max(longest, Impl::time_of(nodes()[m_shown[k]]));
      m_shown.resize(m_options.most_tasks);
      std::sort(m_shown.begin(), m_shown.end());
      m_notes.push_back("This page shows " + std::to_string(m_shown.size()) + " of " +
                        with_count(nodes().size(), "task") + ". It leaves out the shortest ones, " +
                        "of at most " + duration(longest) +
                        " each; the timeline has them as grey bars, and all tables count them.");
    }
    m_index.assign(nodes().size(), TraceLook::none);
    for (std::size_t k = 0; k != m_shown.size(); ++k) m_index[m_shown[k]] = k;
  }

  void write_rows() {
    std::vector<std::uint64_t> const busy = m_look.rows.busy();
    std::vector<std::size_t> rows(busy.size());
    for (std::size_t row = 0; row != rows.size(); ++row) rows[row] = row;
    list("rows", rows, [&](std::size_t row) {
      return Json::array(
          {m_look.rows.names[row], std::min(m_look.rows.lanes[row], most_lanes), busy[row]});
    });
  }

  [[nodiscard]] static std::int64_t family_of(std::optional<Look> const& look) {
    return look ? static_cast<std::int64_t>(look->family) : -1;
  }

  void write_families() {
    list("families", m_look.palette.families(), [&](Family const& family) {
      Json colours = Json::array();
      for (std::size_t s = 0; s != family.shades(); ++s)
        colours.push_back(hex(shaded(family.hue, s)));
      return Json::array({family.name, family.tasks, colours});
    });
    list("labels", Impl::label_times(m_look), [&](LabelTimes const& label) {
      return Json::array({label.name, family_of(label.look), label.tasks, label.time,
                          label.shortest, label.longest, label.ready, label.run, label.critical,
                          label.failed});
    });
  }

  void write_tasks() {
    using P = std::size_t;
    column("id", [](TaskRecord const& task, P) { return task.id; });
    column("label", [&](TaskRecord const& task, P) { return m_texts(task.label); });
    list("family", m_shown, [&](P p) { return family_of(m_look.looks[p]); });
    column("shade", [&](TaskRecord const&, P p) {
      return m_look.looks[p] ? m_look.looks[p]->shade : std::size_t{0};
    });
    column("state", [](TaskRecord const& task, P) { return static_cast<int>(task.state); });
    times("submitted", &TaskRecord::submitted_ns);
    times("ready", &TaskRecord::ready_ns);
    column("kind", [&](TaskRecord const& task, P) { return m_texts(kind_of(task)); });
    column("place", [&](TaskRecord const& task, P) { return m_texts(Impl::call_site(task)); });
    column("parent", [&](TaskRecord const& task, P) {
      auto const parent = m_look.position.find(task.parent);
      std::size_t const k =
          parent == m_look.position.end() ? TraceLook::none : m_index[parent->second];
      return k == TraceLook::none ? std::int64_t{-1} : static_cast<std::int64_t>(k);
    });
    std::vector<std::size_t> path;
    for (std::size_t const slice : m_look.critical) {
      std::size_t const k = m_index[m_look.of(m_look.rows.slices[slice])];
      if (k != TraceLook::none) path.push_back(k);
    }
    list("critical", path);
  }

  [[nodiscard]] static std::string kind_of(TaskRecord const& task) {
    std::string text = task.pattern;
    auto const with = [&](std::string const& part) {
      if (!text.empty() && !part.empty()) text += ", ";
      text += part;
    };
    with(task.space);
    if (task.main_thread) with("main thread");
    if (task.synchronizing) with("synchronizing");
    if (task.threads != 0)
      with(std::to_string(task.threads) + (task.threads == 1 ? " thread" : " threads"));
    if (task.priority != 0) with("priority " + std::to_string(task.priority));
    if (task.batch != 0) with("batch " + std::to_string(task.batch));
    return text;
  }

  void write_slices() {
    std::vector<std::size_t> slices, tasks;
    for (std::size_t s = 0; s != m_look.rows.slices.size(); ++s) {
      std::size_t const p = m_look.of(m_look.rows.slices[s]);
      if (m_index[p] == TraceLook::none) continue;
      slices.push_back(s);
      tasks.push_back(m_index[p]);
    }
    list("slice_task", tasks);
    auto const of = [&](std::string_view name, auto const& value_of) {
      list(name, slices, [&](std::size_t s) { return value_of(m_look.rows.slices[s]); });
    };
    of("slice_row", [](Slice const& s) { return s.row; });
    of("slice_lane", [](Slice const& s) { return std::min(s.lane, most_lanes - 1); });
    of("slice_begin", [&](Slice const& s) { return s.begin - m_look.rows.begin; });
    of("slice_time", [](Slice const& s) { return s.end - s.begin; });
    of("slice_late", [](Slice const& s) { return s.is_late ? 1 : 0; });
  }

  /// Tells for parts of each row how much of them, of 9, the tasks take that are left out.
  void write_hidden() {
    constexpr std::size_t parts = 1000;
    std::vector<std::vector<double>> share;
    if (m_shown.size() != nodes().size())
      share.assign(m_look.rows.names.size(), std::vector<double>(parts, 0));
    double const part = static_cast<double>(m_look.rows.end - m_look.rows.begin) / parts;
    for (Slice const& slice : m_look.rows.slices) {
      if (share.empty() || part <= 0) break;
      if (m_index[m_look.of(slice)] != TraceLook::none) continue;
      double const from = static_cast<double>(slice.begin - m_look.rows.begin) / part;
      double const to = static_cast<double>(slice.end - m_look.rows.begin) / part;
      for (auto k = static_cast<std::size_t>(from); k < parts && static_cast<double>(k) < to; ++k)
        share[slice.row][k] +=
            std::min(to, static_cast<double>(k + 1)) - std::max(from, static_cast<double>(k));
    }
    list("hidden", share, [](std::vector<double> const& row) {
      std::string digits;
      for (double const of : row)
        digits += static_cast<char>('0' + std::lround(9 * std::min(1.0, of)));
      return digits;
    });
  }

  /// For each task the number of its accesses, then those of all tasks, one after the other.
  void write_accesses() {
    std::vector<std::size_t> accesses;
    column("accesses", [&](TaskRecord const& task, std::size_t) {
      std::size_t const room = m_options.most_accesses - accesses.size();
      std::size_t const count = std::min(room, task.accesses.size());
      for (std::size_t a = 0; a != count; ++a) {
        AccessRecord const& access = task.accesses[a];
        std::string const number =
            access.label_is_shared ? " #" + std::to_string(access.resource_id) : "";
        accesses.push_back(
            m_texts(access.mode + '\t' + access.resource + number + '\t' + access.area));
      }
      m_left_out += task.accesses.size() - count;
      return count;
    });
    list("access", accesses);
    if (m_left_out != 0)
      m_notes.push_back("Of the accesses " + std::to_string(m_left_out) + " are left out.");
  }

  void write_edges() {
    std::vector<EdgeRecord const*> edges;
    std::size_t left_out = 0;
    for (EdgeRecord const& edge : m_look.trace.graph.edges()) {
      if (index_of(edge.from) == TraceLook::none || index_of(edge.to) == TraceLook::none) continue;
      if (edges.size() < m_options.most_edges)
        edges.push_back(&edge);
      else
        ++left_out;
    }
    using E = EdgeRecord const*;
    list("from", edges, [&](E edge) { return index_of(edge->from); });
    list("to", edges, [&](E edge) { return index_of(edge->to); });
    list("counts", edges,
         [&](E edge) { return is_dependency(edge->reason) && !edge->released ? 1 : 0; });
    list("reason", edges, [&](E edge) {
      std::string const text = std::string(to_string(edge->reason));
      return m_texts(text + (edge->released ? ", released" : ""));
    });
    if (left_out != 0)
      m_notes.push_back("Of the edges between these tasks " + std::to_string(left_out) +
                        " are left out.");
  }
  [[nodiscard]] std::size_t index_of(TaskId id) const { return m_index[m_look.position.at(id)]; }

  void write_folds() {
    list("folds", m_folds, [&](Fold const& fold) {
      Json all_nodes = Json::array(), node = Json::array();
      for (Fold::Node const& each : fold.nodes) {
        Json values = Json::array({each.label, each.tasks.size(), each.time, each.inner});
        for (std::size_t const count : each.states) values.push_back(count);
        all_nodes.push_back(std::move(values));
      }
      for (std::size_t const p : m_shown) node.push_back(fold.node_of[p]);
      return Json{{"by", static_cast<int>(fold.by)},
                  {"steps", fold.steps},
                  {"nodes", std::move(all_nodes)},
                  {"node", std::move(node)}};
    });
  }

  void write_counters() {
    Impl::Counters const counters = Impl::counters_of(m_look, 600);
    list("time", counters.time_ns, [&](std::uint64_t ns) { return since_begin(ns); });
    list("counted_spawned", counters.spawned);
    list("counted_pending", counters.pending);
    list("counted_ready", counters.ready);
    list("counted_running", counters.running);
  }

  static constexpr std::size_t most_lanes = 6;

  std::ostream& m_out;
  TraceLook const& m_look;
  std::vector<Fold> const& m_folds;
  PageOptions const& m_options;
  std::vector<std::size_t> m_shown;  ///< positions
  std::vector<std::size_t> m_index;  ///< of each task, by position, among the shown ones
  std::size_t m_left_out = 0;
  std::vector<std::string> m_notes;
  Texts m_texts;
  std::string m_text;
};

std::string analysis_of(TraceLook const& look) {
  if (look.trace.graph.nodes().empty()) return "no tasks recorded\n";
  std::ostringstream text;
  try {
    write_analysis(text, look.trace);
  } catch (Error const& error) {
    return std::string(error.what()) + '\n';
  }
  return text.str();
}

/// Writes a file of page/ (see TrellisLibrary.cmake). A name in double braces stands for another
/// file, or for what `write` writes for it.
template <class F>
void put_file(std::ostream& out, std::string_view name, F const& write) {
  auto const find = [](std::string_view wanted) {
    return std::find_if(std::begin(Impl::page_files), std::end(Impl::page_files),
                        [&](auto const& file) { return file.first == wanted; });
  };
  std::string_view rest = find(name)->second;
  for (std::size_t at = rest.find("{{"); at != rest.npos; at = rest.find("{{")) {
    Impl::put(out, rest.substr(0, at));
    std::size_t const end = rest.find("}}", at);
    std::string_view const hole = rest.substr(at + 2, end - at - 2);
    if (auto const file = find(hole); file != std::end(Impl::page_files))
      Impl::put(out, file->second);
    else
      write(hole);
    rest.remove_prefix(end + 2);
  }
  Impl::put(out, rest);
  Impl::put(out, "\n");
}

}  // namespace

void Impl::write_page(std::ostream& out, TraceLook const& look, PageOptions const& options) {
  std::vector<Fold> const folds = pictured_folds(look);
  put_file(out, "page.html", [&](std::string_view hole) {
    if (hole == "title") {
      put(out, xml(options.title));
    } else if (hole == "graphs") {
      for (Fold const& fold : folds)
        put(out, "<div class=\"graph\" hidden>" + graph_svg(look, fold) + "</div>\n");
    } else if (hole == "analysis") {
      put(out, xml(options.analysis.empty() ? analysis_of(look) : options.analysis));
    } else if (hole == "statistics") {
      put(out, xml(statistics_text(look)));
    } else if (hole == "data") {
      Data(out, look, folds, options).write();
    }
  });
}

void Impl::write_list_page(std::ostream& out, std::vector<GraphEntry> const& entries) {
  put_file(out, "list.html", [&](std::string_view hole) {
    if (hole == "number") return put(out, with_count(entries.size(), "graph"));
    for (GraphEntry const& entry : entries)
      put(out, "<p class=\"entry\"><a href=\"" + xml(entry.folder) + "/index.html\">" +
                   xml(entry.title) + "</a><br>" + xml(entry.summary) +
                   "<br><span class=\"soft\">" + xml(entry.folder) + ", " + xml(entry.time) +
                   "</span></p>\n");
  });
}

void Trace::write_html(std::ostream& out) const {
  Impl::write_page(out, Impl::TraceLook(*this), {});
}

}  // namespace trellis
