// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <warn/Trellis_WarningReporter.hpp>

#include <iostream>
#include <utility>

namespace trellis::Impl {

void WarningReporter::note(Warning&& warning) {
  std::lock_guard const lock(m_mutex);
  Key key(warning.kind, warning.task, warning.place);
  if (auto const known = m_known.find(key); known != m_known.end()) {
    ++known->second.count;
  } else if (m_known.size() == most) {
    ++m_others;
  } else {
    m_unreported.push_back(warning);
    m_known.emplace(std::move(key), std::move(warning));
    m_any_unreported.store(true, std::memory_order_relaxed);
  }
}

void WarningReporter::tell() {
  if (!m_any_unreported.load(std::memory_order_relaxed)) return;
  std::vector<Warning> unreported;
  {
    std::lock_guard const lock(m_mutex);
    unreported.swap(m_unreported);
    m_any_unreported.store(false, std::memory_order_relaxed);
  }
  for (Warning const& each : unreported) hand_out(each);
}

void WarningReporter::tell_counts() {
  std::vector<Warning> again;
  std::uint64_t others = 0;
  {
    std::lock_guard const lock(m_mutex);
    for (auto const& [key, warning] : m_known)
      if (warning.count > 1) again.push_back(warning);
    m_known.clear();
    others = std::exchange(m_others, 0);
  }
  for (Warning const& each : again) hand_out(each);
  if (others > 0)
    std::cerr << "Trellis: " + m_graph + ": there were " + std::to_string(others) +
                     " more warnings, of labels and call sites that are not reported\n"
              << std::flush;
}

void WarningReporter::hand_out(Warning const& warning) const {
  if (m_handler == nullptr) {
    std::string text = "Trellis: " + m_graph + ": warning [";
    text.append(to_string(warning.kind)).append("]: ");
    if (warning.count > 1)
      text += std::to_string(warning.count) + " times in all: task \"" + warning.task + "\" (" +
              warning.place + ")";
    else
      text += warning.text;
    std::cerr << (text += '\n') << std::flush;
    return;
  }
  try {
    m_handler(warning);
  } catch (...) {
    std::cerr << "Trellis: the function that takes the warnings of " << m_graph
              << " threw an exception, which is ignored" << std::endl;
  }
}

}  // namespace trellis::Impl
