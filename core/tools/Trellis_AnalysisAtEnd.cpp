// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_WhatIf.hpp>
#include <engine/Trellis_Engine.hpp>
#include <tools/Trellis_SetGraphTools.hpp>
#include <graph/Trellis_Environment.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>

namespace trellis::Impl {
namespace {

/// Makes a policy like that of the graph, if it is known how to make one.
std::shared_ptr<SchedulingPolicy> policy_like(std::string_view name, Graph const& graph) {
  if (name == "fifo") return make_fifo_policy();
  if (name != "priority") return make_work_stealing_policy();
  auto policy = experimental::make_priority_policy();
  policy->learn(graph);
  return policy;
}

void write(std::string const& destination, std::string const& text) {
  static std::mutex mutex;
  static std::set<std::string> begun;  // the first graph of the process overwrites a file
  std::lock_guard const lock(mutex);
  if (destination == "stderr") {
    std::cerr << text << std::flush;
  } else if (destination == "stdout") {
    std::cout << text << std::flush;
  } else {
    std::ofstream file(destination,
                       begun.insert(destination).second ? std::ios::trunc : std::ios::app);
    if (!(file << text << std::flush))
      std::cerr << "Trellis: cannot write the analysis to \"" << destination << "\"" << std::endl;
  }
}

}  // namespace

void check_analysis_at_end(std::string const& graph) {
  std::optional<std::string> const destination = text_from(Variable::analysis);
  if (!destination || destination->empty() || *destination == "stderr" || *destination == "stdout")
    return;
  if (!std::ofstream(*destination, std::ios::app))
    throw Error(Error::Kind::bad_input, "Trellis: " + graph + " cannot write its analysis to \"" +
                                            *destination + "\" (TRELLIS_ANALYSIS)");
}

Trace trace_at_end(Engine& engine) {
  return engine.events().recorder() != nullptr ? engine.trace() : Trace();
}

std::string analysis_at_end(Engine& engine, Trace const& trace) {
  std::ostringstream out;
  out << "Trellis: analysis of " << engine.options().name
      << (engine.events().recorder()->is_complete()
              ? ""
              : ", whose record is incomplete: memory has run out")
      << '\n';
  write_analysis(out, trace);
  out << '\n';
  std::string_view const policy = engine.options().policy->name();
  write_predictions(out, trace, [&] { return policy_like(policy, trace.graph); });
  return out.str();
}

void write_analysis_at_end(Engine& engine) noexcept try {
  std::optional<std::string> const destination = text_from(Variable::analysis);
  if (!destination || destination->empty()) return;
  Trace const trace = trace_at_end(engine);
  if (!trace.graph.nodes().empty()) write(*destination, analysis_at_end(engine, trace));
} catch (std::exception const& error) {
  std::cerr << "Trellis: no analysis of " << engine.options().name << ": " << error.what()
            << std::endl;
}

}  // namespace trellis::Impl
