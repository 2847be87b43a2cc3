// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.hpp"

#include <algorithm>
#include <sstream>

namespace random_program {

namespace {

void write_access(std::ostream& out, Access const& access) {
  out << ' ' << to_string(access.how) << "(a" << access.array << '[' << access.first;
  for (auto const& [extent, stride] : access.dimensions) out << " + " << extent << "x" << stride;
  out << (access.tells_allocation ? "])" : "] unmanaged)");
}

void write_steps(std::ostream& out, std::vector<Step> const& steps) {
  for (Step const& step : steps) {
    if (step.kind == Step::Kind::submit) out << " submit(" << step.task << ')';
    if (step.kind == Step::Kind::wait_for) out << " wait(" << step.task << ')';
    if (step.kind == Step::Kind::pause) out << " pause";
    if (step.kind == Step::Kind::compute) out << " compute";
    if (step.kind == Step::Kind::wait_children) out << " wait_children";
    if (step.kind == Step::Kind::refine) out << " refine(" << step.task << ')';
    char const* const name = step.kind == Step::Kind::demote    ? " demote["
                             : step.kind == Step::Kind::release ? " release["
                             : step.kind == Step::Kind::local   ? " local["
                                                                : nullptr;
    if (name == nullptr) continue;
    out << name;
    for (Access const& access : step.accesses) write_access(out, access);
    out << " ]";
  }
}

}  // namespace

std::string to_string(Program const& program) {
  std::ostringstream out;
  Settings const& settings = program.settings;
  out << "seed " << program.seed << ": " << settings.workers << " workers, policy "
      << settings.policy << ", in flight " << settings.in_flight << ", record " << settings.record
      << (settings.fuses ? ", fuses" : "") << (settings.wild ? ", wild waits" : "")
      << "\narrays of";
  for (int const size : program.arrays) out << ' ' << size;
  out << " elements";
  for (int const token : program.tokens) out << ", a" << token << " is a token";
  out << '\n';
  for (Rule const& rule : program.rules) {
    out << (rule.exclusive ? "rule, exclusive:" : "rule, ordered:");
    for (int a = 0; a < tag_count; ++a)
      for (int b = 0; b < tag_count; ++b)
        if (rule.holds[a][b]) out << ' ' << a << '-' << b;
    out << '\n';
  }
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    Task const& task = program.tasks[t];
    out << "  task " << t << ':';
    if (task.owner >= 0) out << " child of " << task.owner;
    for (Access const& access : task.accesses) write_access(out, access);
    if (task.tag != 0) out << " tag(" << task.tag << ')';
    for (int const before : task.after) out << " after(" << before << ')';
    if (task.synchronizing) out << " synchronizing";
    if (task.main_thread) out << " main_thread";
    if (task.priority != 0) out << " priority(" << task.priority << ')';
    if (task.threads != 1) out << " threads(" << task.threads << ')';
    if (!task.steps.empty()) {
      out << " {";
      write_steps(out, body_of(task));
      out << " }";
    }
    if (!task.catches) out << " lets failures of its children pass";
    if (!task.refinement.empty()) {
      out << " or children";
      for (int const child : task.refinement) out << ' ' << child;
    }
    if (task.throws) out << " throws";
    out << '\n';
  }
  for (auto const& threads : program.phases)
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      out << (thread == 0 ? "phase, thread 0:" : "       thread " + std::to_string(thread) + ":");
      write_steps(out, threads[thread]);
      out << '\n';
    }
  return out.str();
}

}  // namespace random_program
