// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <mpi/Trellis_MpiError.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_Outstanding.hpp>
#include <mpi/impl/Trellis_UnusedHandles.hpp>
#include <base/Trellis_ProgressSource.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace trellis::Impl {
namespace {

/// The Outstanding of each graph that has sent anything. It is dropped when its graph is gone and
/// another graph comes.
struct All {
  std::mutex mutex;
  std::vector<std::unique_ptr<Outstanding>> of_graphs;
};
All& all() {
  static All* const made = new All;  // Kokkos, MPI and graphs may end in any order
  return *made;
}

/// Finds which of these are over, and how, as MPI_Testsome does.
///
/// In MPICH and its derivatives MPI_Testsome loses the error of a persistent receive, and gives
/// errors to the handler of MPI_COMM_WORLD, which ends the program as a rule (seen with 4.2.1).
/// There each request is tested by itself, some of them in each call, from `next` on.
int test_some(Vector<MPI_Request>& requests, [[maybe_unused]] std::size_t& next, int& over,
              Vector<int>& indices, Vector<MPI_Status>& statuses) {
#ifdef MPICH_VERSION
  constexpr std::size_t most = 64;
  int code = MPI_SUCCESS;
  over = 0;
  for (std::size_t k = 0; k < std::min(requests.size(), most); ++k) {
    next = next + 1 < requests.size() ? next + 1 : 0;
    auto const at = static_cast<std::size_t>(over);
    int is_over = 0;
    int const said = MPI_Test(&requests[next], &is_over, &statuses[at]);
    if (is_over == 0 && said == MPI_SUCCESS) continue;
    statuses[at].MPI_ERROR = said;
    indices[at] = static_cast<int>(next);
    ++over;
    if (said != MPI_SUCCESS) code = MPI_ERR_IN_STATUS;
  }
  return code;
#else
  return MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &over, indices.data(),
                      statuses.data());
#endif
}

}  // namespace

Outstanding& Outstanding::of(TaskHandle const& task) {
  static thread_local struct {
    TaskHandle graph;
    Outstanding* outstanding = nullptr;
  } last;
  if (last.outstanding != nullptr && is_same_graph(last.graph, task)) return *last.outstanding;
  std::vector<std::unique_ptr<Outstanding>> gone;
  std::lock_guard const lock(all().mutex);
  auto& of_graphs = all().of_graphs;
  auto found = std::find_if(of_graphs.begin(), of_graphs.end(),
                            [&](auto const& each) { return is_same_graph(each->graph(), task); });
  if (found == of_graphs.end()) {
    gone.reserve(of_graphs.size());
    of_graphs.reserve(of_graphs.size() + 1);
    auto const live = std::stable_partition(of_graphs.begin(), of_graphs.end(), [](auto const& it) {
      return static_cast<bool>(it->graph().pin());
    });
    std::move(live, of_graphs.end(), std::back_inserter(gone));
    of_graphs.erase(live, of_graphs.end());
    of_graphs.push_back(std::make_unique<Outstanding>(task));
    found = of_graphs.end() - 1;
  }
  last.graph = (*found)->graph();
  last.outstanding = found->get();
  return **found;
}

Outstanding::Outstanding(TaskHandle const& task)
    : m_graph{task.control, task.generation, nullptr, 0} {
  struct Poll {
    Outstanding* outstanding;
    bool operator()() const { return outstanding->poll(); }
    [[nodiscard]] std::string report() const { return outstanding->report(); }
  };
  m_progress = GraphInternals::add_progress(
      m_graph, std::make_shared<ProgressFunction<Poll>>(is_for_main_thread(), Poll{this}));
}

void Outstanding::add(MPI_Request request, bool is_kept, Message& message,
                      MessageCompletion&& completion) {
  {
    std::lock_guard const lock(m_lock);
    m_new.push_back({request, {&message, std::move(completion), is_kept}});
    m_any_new.store(true, std::memory_order_relaxed);
  }
  m_progress.ask();
}

void Outstanding::take_new() {
  if (!m_any_new.load(std::memory_order_relaxed)) return;
  {
    std::lock_guard const lock(m_lock);
    m_taken.swap(m_new);
    m_any_new.store(false, std::memory_order_relaxed);
  }
  for (New& each : m_taken) {
    m_requests.push_back(each.request);
    m_entries.push_back(std::move(each.entry));
  }
  m_taken.clear();
}

/// Cancels the receives of tasks that have been cancelled, so that these do not wait for ever.
void Outstanding::cancel_where_asked() {
  for (std::size_t k = 0; k < m_entries.size(); ++k) {
    Entry& entry = m_entries[k];
    if (entry.is_cancelled || !entry.message->may_be_cancelled()) continue;
    if (!entry.message->is_unwanted() &&
        !std::visit([](auto const& to) { return to.stop_requested(); }, entry.completion))
      continue;
    entry.is_cancelled = true;
    MPI_Cancel(&m_requests[k]);
  }
}

bool Outstanding::poll() {
  constexpr unsigned polls_between_looks = 16;  // a nap of half a millisecond may be between two
  take_new();
  if (m_requests.empty()) return false;
  m_indices.resize(m_requests.size());
  m_statuses.resize(m_requests.size());
  int over = 0;
  int code = MPI_SUCCESS;
  {
    MpiLock const within_mpi;
    if (++m_polls % polls_between_looks == 0) cancel_where_asked();
    code = test_some(m_requests, m_next, over, m_indices, m_statuses);
    UnusedHandles::free_all();
  }
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  if (code != MPI_SUCCESS && error_class != MPI_ERR_IN_STATUS) {
    // MPI does not say which request has failed: none of them can be polled any more.
    for (Entry& entry : m_entries) say(*entry.message, entry.completion, code, m_statuses[0]);
    m_requests.clear();
    m_entries.clear();
    return false;
  }
  if (over == MPI_UNDEFINED || over <= 0) return true;
  for (int k = 0; k < over; ++k) {
    MPI_Status const& status = m_statuses[static_cast<std::size_t>(k)];
    auto const which = static_cast<std::size_t>(m_indices[static_cast<std::size_t>(k)]);
    Entry& entry = m_entries[which];
    int const error = code == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR;
    if (error != MPI_SUCCESS && entry.is_kept) entry.message->has_failed(m_requests[which]);
    say(*entry.message, entry.completion, error, status);
    entry.message = nullptr;  // the message may be gone
  }
  std::size_t left = 0;
  for (std::size_t k = 0; k < m_entries.size(); ++k) {
    if (m_entries[k].message == nullptr) continue;
    if (left != k) {
      m_entries[left] = std::move(m_entries[k]);
      m_requests[left] = m_requests[k];
    }
    ++left;
  }
  m_entries.erase(m_entries.begin() + static_cast<std::ptrdiff_t>(left), m_entries.end());
  m_requests.resize(left);
  return left > 0;
}

std::string Outstanding::report() const {
  constexpr std::size_t most = 100;
  std::vector<Message const*> all;
  for (Entry const& entry : m_entries) all.push_back(entry.message);
  {
    // These have not been polled yet. They stay until a poll, and none happens meanwhile.
    std::lock_guard const adding(m_lock);
    for (New const& each : m_new) all.push_back(each.entry.message);
  }
  std::string text;
  for (std::size_t k = 0; k < std::min(all.size(), most); ++k)
    text += "  outstanding: " + all[k]->describe() + "\n";
  if (all.size() > most)
    text += "  and " + std::to_string(all.size() - most) + " more outstanding\n";
  return text;
}

}  // namespace trellis::Impl
