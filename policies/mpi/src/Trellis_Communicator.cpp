// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <kernel/Trellis_HelpedGraphs.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Session.hpp>
#include <mpi/impl/Trellis_CommunicatorState.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_UnusedHandles.hpp>

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace trellis::Impl {
namespace {

/// Keeps the states of communicators that were made elsewhere, until these are freed or MPI is
/// finalised.
struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<CommunicatorState>> kept;
};
Registry& registry() {
  static Registry* const made = new Registry;  // MPI may be finalised after all destructors
  return *made;
}

/// The state that it takes out is destroyed without the mutex.
int forget(MPI_Comm, int, void* attribute, void*) {
  std::shared_ptr<CommunicatorState> taken;
  std::lock_guard const lock(registry().mutex);
  auto& kept = registry().kept;
  auto const found = std::find_if(kept.begin(), kept.end(),
                                  [&](auto const& each) { return each.get() == attribute; });
  if (found != kept.end()) {
    taken = std::move(*found);
    kept.erase(found);
  }
  return MPI_SUCCESS;
}

/// MPI calls this when it is finalised: it first frees the attributes of MPI_COMM_SELF.
int forget_all(MPI_Comm, int, void*, void*) {
  UnusedHandles::free_all();
  free_datatypes();
  std::vector<std::shared_ptr<CommunicatorState>> taken;
  std::lock_guard const lock(registry().mutex);
  taken.swap(registry().kept);
  return MPI_SUCCESS;
}

int attribute_key() {
  static int const key = [] {
    int made = MPI_KEYVAL_INVALID;
    require_success(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget, &made, nullptr),
                    "MPI_Comm_create_keyval");
    int of_all = MPI_KEYVAL_INVALID;
    require_success(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget_all, &of_all, nullptr),
                    "MPI_Comm_create_keyval");
    require_success(MPI_Comm_set_attr(MPI_COMM_SELF, of_all, nullptr), "MPI_Comm_set_attr");
    return made;
  }();
  return key;
}

std::string name_of(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  require_success(MPI_Comm_get_name(comm, name, &length), "MPI_Comm_get_name");
  if (length > 0) return {name, static_cast<std::size_t>(length)};
  return unused_name(name_of_ranks(world_ranks(comm)));
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  require_success(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}
int size_of(MPI_Comm comm) {
  int size = 0;
  require_success(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}
int largest_tag_of(MPI_Comm comm) {
  int* largest = nullptr;
  int is_there = 0;
  require_success(MPI_Comm_get_attr(comm, MPI_TAG_UB, &largest, &is_there), "MPI_Comm_get_attr");
  return is_there != 0 ? *largest : 32767;  // the standard guarantees this
}

void require_communicator(MPI_Comm comm) {
  require_mpi();
  if (comm == MPI_COMM_NULL)
    throw Error(Error::Kind::bad_input, "Trellis: MPI_COMM_NULL is no communicator for messages");
  int is_inter = 0;
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    throw Error(Error::Kind::bad_input,
                "Trellis: an intercommunicator is no communicator for MPI tasks");
}

}  // namespace

CommunicatorState::CommunicatorState(MPI_Comm comm, std::string name, bool is_own, WireOrder order)
    : m_comm(comm),
      m_is_own(is_own),
      m_order(order),
      m_rank(rank_in(comm)),
      m_size(size_of(comm)),
      m_largest_tag(largest_tag_of(comm)),
      m_name(std::move(name)),
      m_note(comm, m_name),
      m_channels(m_name, {2, std::int64_t{m_size} + 1, std::int64_t{m_largest_tag} + 2}),
      m_collective(m_name + " (collective)") {
  if (is_for_main_thread()) HelpedGraphs::main_naps();
}

CommunicatorState::~CommunicatorState() {
  if (m_is_own) UnusedHandles::add_communicator(m_comm);
}

void CommunicatorState::put_attribute() {
  require_success(MPI_Comm_set_attr(m_comm, attribute_key(), this), "MPI_Comm_set_attr");
}

std::shared_ptr<CommunicatorState> CommunicatorState::find_or_make(MPI_Comm comm) {
  require_communicator(comm);
  static std::mutex* const one_at_a_time = new std::mutex;
  MpiLock const within_mpi;  // this lock comes first, as a program may hold it by a Guard
  std::lock_guard const lock(*one_at_a_time);
  void* found = nullptr;
  int is_there = 0;
  require_success(MPI_Comm_get_attr(comm, attribute_key(), &found, &is_there), "MPI_Comm_get_attr");
  if (is_there != 0)
    if (auto state = static_cast<CommunicatorState*>(found)->weak_from_this().lock()) return state;
  auto state = std::make_shared<CommunicatorState>(comm, name_of(comm), false, WireOrder::right);
  state->put_attribute();
  std::lock_guard const registered(registry().mutex);
  registry().kept.push_back(state);
  return state;
}

mpi::Communicator CommunicatorState::from_raw(MPI_Comm comm) {
  auto state = find_or_make(comm);
  if (!state->m_returns_errors.exchange(true, std::memory_order_relaxed)) {
    MpiLock const lock;
    require_success(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  return mpi::Communicator(std::move(state));
}

mpi::Communicator CommunicatorState::own(MPI_Comm comm, std::string&& name, WireOrder order) {
  require_success(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_set_name(comm, name.substr(0, MPI_MAX_OBJECT_NAME - 1).c_str());
  auto state = std::make_shared<CommunicatorState>(comm, std::move(name), true, order);
  state->m_returns_errors = true;
  state->put_attribute();
  return mpi::Communicator(std::move(state));
}

mpi::Communicator CommunicatorState::duplicate(MPI_Comm comm, std::optional<WireOrder> asked) {
  auto const from = find_or_make(comm);
  UnusedHandles::free_all();
  MpiLock const lock;
  MPI_Comm made = MPI_COMM_NULL;
  require_success(MPI_Comm_dup(comm, &made), "MPI_Comm_dup");
  WireOrder const order = asked.value_or(from->order());
  mpi::Communicator const copy =
      own(made, from->name() + "/" + std::to_string(from->m_derived.fetch_add(1)), order);
  // A rank with another order than the sender would mistake elements for others.
  int const mine = static_cast<int>(order);
  int ends[2] = {mine, -mine};
  require_success(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, made), "MPI_Allreduce");
  if (ends[0] != -ends[1])
    throw Error(Error::Kind::bad_input,
                "Trellis: some ranks duplicate " + from->name() +
                    " for messages in the order of Kokkos::LayoutLeft, others for that of "
                    "Kokkos::LayoutRight");
  return copy;
}

mpi::Communicator CommunicatorState::split(MPI_Comm comm, int color, int key) {
  auto const from = find_or_make(comm);
  UnusedHandles::free_all();
  MpiLock const lock;
  int const number = from->m_derived.fetch_add(1);
  MPI_Comm made = MPI_COMM_NULL;
  require_success(MPI_Comm_split(comm, color, key, &made), "MPI_Comm_split");
  if (made == MPI_COMM_NULL) return {};
  return own(made, from->name() + "/" + std::to_string(number) + ":" + std::to_string(color),
             from->order());
}

experimental::IndexBox CommunicatorState::channel(Direction direction, int peer, int tag) const {
  // The last index stands for all invalid values: a message with one is an error, but must not
  // delay others.
  auto const begin_of = [](int index, int any, std::int64_t count) {
    if (index == any) return std::int64_t{0};
    return index >= 0 && index < count ? index : count;
  };
  auto const end_of = [](std::int64_t begin, int index, int any, std::int64_t count) {
    return index == any ? count + 1 : begin + 1;
  };
  std::int64_t const tags = std::int64_t{m_largest_tag} + 1;
  std::int64_t const way = static_cast<std::int64_t>(direction);
  bool const receives = direction == Direction::recv;
  int const any_peer = receives ? MPI_ANY_SOURCE : std::numeric_limits<int>::min();
  int const any_tag = receives ? MPI_ANY_TAG : std::numeric_limits<int>::min();
  std::int64_t const first_peer = begin_of(peer, any_peer, m_size);
  std::int64_t const first_tag = begin_of(tag, any_tag, tags);
  return m_channels.box(
      {way, first_peer, first_tag},
      {way + 1, end_of(first_peer, peer, any_peer, m_size), end_of(first_tag, tag, any_tag, tags)});
}

void CommunicatorState::is_used_by(TaskHandle const& graph) {
  std::lock_guard const lock(m_lock);
  for (TaskHandle const& each : m_graphs)
    if (is_same_graph(each, graph)) return;
  std::erase_if(m_graphs, [](TaskHandle const& each) { return !each.pin(); });
  m_graphs.push_back({graph.control, graph.generation});
  if (is_for_main_thread()) HelpedGraphs::note(graph);
}

void CommunicatorState::require_alone(TaskHandle const& graph, Area const& area,
                                      FunctionRef<std::string()> what) {
  if (!graph.valid()) return;  // a model collects it for a graph that is not known yet
  is_used_by(graph);
  std::vector<TaskHandle> others;  // they are queried without the lock
  {
    std::lock_guard const lock(m_lock);
    if (m_graphs.size() == 1) return;
    for (TaskHandle const& each : m_graphs)
      if (!is_same_graph(each, graph)) others.push_back(each);
  }
  for (TaskHandle const& other : others) {
    std::string const user = GraphInternals::user_of(other, area);
    if (user.empty()) continue;
    throw Error(Error::Kind::bad_input,
                "Trellis: " + what() + " of " + GraphInternals::name_of(graph) +
                    " uses a channel of " + m_name + " that " + user +
                    " uses, too, and is not complete; MPI would take messages of the two graphs "
                    "for each other: wait for the one before, or give each graph a communicator "
                    "(duplicate())");
  }
}

experimental::IndexBox all_channels(mpi::Communicator const& comm) {
  return require_state(comm).channels();
}
Token const& collective_channel(mpi::Communicator const& comm) {
  return require_state(comm).collective();
}
CommunicatorState& require_state(mpi::Communicator const& comm) {
  if (!comm.valid())
    throw Error(Error::Kind::bad_input,
                "Trellis: a trellis::mpi::Communicator of nothing has no messages");
  return *CommunicatorInternals::state(comm);
}

}  // namespace trellis::Impl

namespace trellis::mpi {

using Impl::CommunicatorState;
using Impl::require_state;

Communicator Communicator::from_raw(MPI_Comm comm) {
  return CommunicatorState::from_raw(comm);
}
Communicator Communicator::duplicate(MPI_Comm comm) {
  return CommunicatorState::duplicate(comm, std::nullopt);
}
Communicator Communicator::duplicate(MPI_Comm comm, Kokkos::LayoutRight) {
  return CommunicatorState::duplicate(comm, Impl::WireOrder::right);
}
Communicator Communicator::duplicate(MPI_Comm comm, Kokkos::LayoutLeft) {
  return CommunicatorState::duplicate(comm, Impl::WireOrder::left);
}
Communicator Communicator::split(MPI_Comm comm, int color, int key) {
  return CommunicatorState::split(comm, color, key);
}
MPI_Comm Communicator::comm() const {
  return valid() ? m_state->comm() : MPI_COMM_NULL;
}
int Communicator::rank() const {
  return require_state(*this).rank();
}
int Communicator::size() const {
  return require_state(*this).size();
}
int Communicator::largest_tag() const {
  return require_state(*this).largest_tag();
}
std::string const& Communicator::name() const {
  return require_state(*this).name();
}

}  // namespace trellis::mpi
