// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Communication.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace example {
namespace {

using Nanoseconds = std::uint64_t;
struct Interval {
  Nanoseconds begin;
  Nanoseconds end;
};
bool is_earlier(Interval const& a, Interval const& b) {
  return a.begin < b.begin;
}

/// The tasks of all exchanges with one neighbour, or in a plan of those of every other step. One
/// task of a kind is complete before the next one of its kind begins, so the k-th of each kind
/// belong together.
struct Exchanges {
  std::vector<Interval> pack, send, recv, unpack;

  void add_to(std::vector<Interval>& all, std::string const& name) {
    for (auto* const of_kind : {&pack, &send, &recv, &unpack})
      std::sort(of_kind->begin(), of_kind->end(), is_earlier);
    auto const fits = [&](std::vector<Interval> const& kind) {
      return kind.empty() || kind.size() == send.size();
    };
    if (recv.size() != send.size() || !fits(pack) || !fits(unpack))
      throw std::runtime_error("the trace of the recorded run lacks messages of '" + name + "'");
    for (std::size_t k = 0; k < send.size(); ++k) {
      Interval whole{send[k].begin, std::max(send[k].end, recv[k].end)};
      if (!pack.empty()) whole.begin = pack[k].begin;
      if (!unpack.empty()) whole.end = std::max(whole.end, unpack[k].end);
      all.push_back(whole);
    }
  }
};

bool remove_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}
bool remove_begin(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

}  // namespace

Communication communication_of(trellis::Trace const& trace,
                               std::function<Role(std::string_view)> const& role_of) {
  std::map<std::string, Exchanges, std::less<>> by_name;
  std::vector<Interval> steps, exchanges;
  Communication result;
  Interval whole{~Nanoseconds{0}, 0};
  for (trellis::TaskRecord const& task : trace.graph.nodes()) {
    if (task.row < 0 || task.finished_ns == 0) continue;
    Interval const ran{task.started_ns, task.finished_ns};
    whole = {std::min(whole.begin, ran.begin), std::max(whole.end, ran.end)};
    std::string_view label = task.label;
    Role const role = role_of(label);
    if (role == Role::computes) {
      steps.push_back(ran);
    } else if (role == Role::exchanges) {
      exchanges.push_back(ran);
    } else if (role == Role::none) {
      continue;
    } else if (remove_begin(label, "send ")) {
      bool const packs = remove_end(label, ": pack");
      Exchanges& of = by_name[std::string(label)];
      (packs ? of.pack : of.send).push_back(ran);
    } else if (remove_begin(label, "recv ")) {
      bool const unpacks = remove_end(label, ": unpack");
      Exchanges& of = by_name[std::string(label)];
      // Another task with this label only has the value of the future, after the unpacking.
      if (unpacks || task.completes_later) (unpacks ? of.unpack : of.recv).push_back(ran);
    }
  }
  for (auto& [name, of] : by_name) of.add_to(exchanges, name);

  // This goes through all beginnings and ends: between two of them nothing changes.
  struct Change {
    Nanoseconds at;
    int exchanges;
    int steps;
  };
  std::vector<Change> changes;
  for (Interval const& exchange : exchanges) {
    changes.push_back({exchange.begin, 1, 0});
    changes.push_back({exchange.end, -1, 0});
  }
  for (Interval const& step : steps) {
    changes.push_back({step.begin, 0, 1});
    changes.push_back({step.end, 0, -1});
  }
  std::sort(changes.begin(), changes.end(),
            [](Change const& a, Change const& b) { return a.at < b.at; });
  int under_way = 0, computing = 0;
  Nanoseconds before = 0;
  double computed = 0;
  for (Change const& change : changes) {
    double const seconds = 1e-9 * static_cast<double>(change.at - before);
    before = change.at;
    if (under_way > 0) {
      result.under_way += seconds;
      computed += seconds * computing;
      if (computing > 0) result.hidden += seconds;
    }
    under_way += change.exchanges;
    computing += change.steps;
  }
  if (whole.end > whole.begin) result.seconds = 1e-9 * static_cast<double>(whole.end - whole.begin);
  if (result.under_way > 0) result.computing = computed / result.under_way;
  result.exchanges = static_cast<double>(exchanges.size());
  return result;
}

}  // namespace example
