// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <mpi/Trellis_MpiError.hpp>
#include <mpi/impl/Trellis_Message.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_Outstanding.hpp>
#include <mpi/impl/Trellis_UnusedHandles.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace trellis::Impl {
namespace {

std::string rank_text(int rank, int any) {
  return rank == any ? "any rank" : "rank " + std::to_string(rank);
}

/// Does not ask MPI: the thread that writes reports may not call it.
std::string_view name_of_type(MPI_Datatype type) {
  std::pair<MPI_Datatype, std::string_view> const names[] = {
      {MPI_BYTE, "MPI_BYTE"},
      {MPI_CHAR, "MPI_CHAR"},
      {MPI_CXX_BOOL, "MPI_CXX_BOOL"},
      {MPI_FLOAT, "MPI_FLOAT"},
      {MPI_DOUBLE, "MPI_DOUBLE"},
      {MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE"},
      {MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR"},
      {MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR"},
      {MPI_SHORT, "MPI_SHORT"},
      {MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT"},
      {MPI_INT, "MPI_INT"},
      {MPI_UNSIGNED, "MPI_UNSIGNED"},
      {MPI_LONG, "MPI_LONG"},
      {MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG"},
      {MPI_LONG_LONG, "MPI_LONG_LONG"},
      {MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG"},
      {MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX"},
      {MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX"},
      {MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX"},
  };
  for (auto const& [known, name] : names)
    if (known == type) return name;
  return "values";
}

}  // namespace

namespace {

/// Returns the error, or std::bad_alloc if there is no memory for it.
template <class Make>
std::exception_ptr error_or_no_memory(Make&& make) noexcept try {
  return std::make_exception_ptr(make());
} catch (...) {
  return std::current_exception();
}

}  // namespace

void say(Message& message, MessageCompletion& completion, int code, MPI_Status const& status) {
  if (code != MPI_SUCCESS) {
    auto const error = error_or_no_memory([&] { return mpi::Error(message.describe(), code); });
    return std::visit([&](auto& to) { to.fail(error); }, completion);
  }
  if (auto* const plain = std::get_if<Completion<>>(&completion)) return plain->done();
  auto& receives = std::get<Completion<mpi::Received>>(completion);
  int is_cancelled = 0;
  if (message.may_be_cancelled()) MPI_Test_cancelled(&status, &is_cancelled);
  if (is_cancelled != 0)
    receives.fail(
        error_or_no_memory([&] { return std::runtime_error(message.describe() + ": cancelled"); }));
  else
    receives.done(message.received(status));
}

template <class Begin>
bool Message::start(TaskScope& self, MessageCompletion&& completion, bool is_kept, Begin&& begin) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int is_over = 0;
  int code = MPI_SUCCESS;
  // All that needs memory comes first: a request that MPI has begun must be polled.
  Reserve::require();
  Outstanding& outstanding = Outstanding::of(ScopeInternals::handle(self));
  {
    MpiLock const lock;
    code = begin(&request);
    if (code != MPI_SUCCESS) throw mpi::Error(describe(), code);
    // A short message has often been sent, or has arrived: then no further poll is needed.
    code = MPI_Test(&request, &is_over, &status);
  }
  if (code != MPI_SUCCESS && is_kept) has_failed(request);
  if (is_over != 0 || code != MPI_SUCCESS) {
    say(*this, completion, code, status);
    return true;
  }
  outstanding.add(request, is_kept, *this, std::move(completion));
  return false;
}

// --- messages to and from one rank ---------------------------------------------------------------

PointToPoint::PointToPoint(Direction direction, std::shared_ptr<CommunicatorState> comm, int peer,
                           int tag, Memory&& memory)
    : m_comm(std::move(comm)),
      m_kept(std::move(memory.kept)),
      m_data(memory.data),
      m_type(memory.type),
      m_count(memory.count),
      m_sent(memory.count),
      m_numbers(memory.numbers),
      m_peer(peer),
      m_tag(tag),
      m_direction(direction),
      m_is_long(memory.is_long) {}

PointToPoint::PointToPoint(PointToPoint&& other) noexcept
    : Message(other),
      m_comm(std::move(other.m_comm)),
      m_kept(std::move(other.m_kept)),
      m_data(other.m_data),
      m_type(other.m_type),
      m_count(other.m_count),
      m_sent(other.m_sent),
      m_numbers(other.m_numbers),
      m_peer(other.m_peer),
      m_tag(other.m_tag),
      m_direction(other.m_direction),
      m_is_long(other.m_is_long),
      m_has_run(other.m_has_run),
      m_taker(std::move(other.m_taker)),
      m_persistent(std::exchange(other.m_persistent, MPI_REQUEST_NULL)) {}

PointToPoint::~PointToPoint() {
  if (m_persistent != MPI_REQUEST_NULL) UnusedHandles::add_request(m_persistent);
}

void Taker::is(TaskHandle const& task) {
  if ((task.id & PlanNode::recorded) != 0) return;
  m_task = task;
  m_is_known.store(true, std::memory_order_release);
}
bool Taker::is_asked_to_stop() const {
  return m_is_known.load(std::memory_order_acquire) && GraphInternals::stop_requested(m_task);
}

bool PointToPoint::is_unwanted() const {
  return m_is_given_up.load(std::memory_order_relaxed) ||
         (m_taker != nullptr && m_taker->is_asked_to_stop());
}

bool PointToPoint::has_end() const {
  bool const has_rank = (m_peer >= 0 && m_peer < m_comm->size()) || m_peer == MPI_PROC_NULL ||
                        (!is_send() && m_peer == MPI_ANY_SOURCE);
  return has_rank &&
         ((m_tag >= 0 && m_tag <= m_comm->largest_tag()) || (!is_send() && m_tag == MPI_ANY_TAG));
}

void PointToPoint::shorten(std::int64_t values) {
  std::int64_t const whole = m_count / m_numbers;
  if (values < 0 || values > whole)
    throw Error(Error::Kind::bad_input, "Trellis: " + describe() + " is to be of " +
                                            std::to_string(values) + " values, but there are " +
                                            std::to_string(whole));
  m_sent = static_cast<int>(values) * m_numbers;
}

int PointToPoint::make_persistent() {
  if (is_send())
    return MPI_Send_init(m_data, m_count, m_type, m_peer, m_tag, m_comm->comm(), &m_persistent);
  return MPI_Recv_init(m_data, m_count, m_type, m_peer, m_tag, m_comm->comm(), &m_persistent);
}

int PointToPoint::begin(MPI_Request* request) {
  bool const is_whole = m_sent == m_count;
  if (std::exchange(m_has_run, true) && is_whole) {
    if (m_persistent == MPI_REQUEST_NULL)
      if (int const code = make_persistent(); code != MPI_SUCCESS) return code;
    int const code = MPI_Start(&m_persistent);
    *request = m_persistent;
    return code;
  }
  if (is_send()) return MPI_Isend(m_data, m_sent, m_type, m_peer, m_tag, m_comm->comm(), request);
  return MPI_Irecv(m_data, m_count, m_type, m_peer, m_tag, m_comm->comm(), request);
}

namespace {

/// Checks again at the start, see CommunicatorState::require_alone.
template <class Channel>
void look_again(TaskScope const& self, CommunicatorState& comm, Message const& message,
                Channel const& channel) {
  TaskHandle const& handle = ScopeInternals::handle(self);
  if ((handle.id & PlanNode::recorded) == 0) return;
  comm.require_alone(handle, area_of(channel()), [&] { return message.describe(); });
}

}  // namespace

void PointToPoint::start(TaskScope& self, MessageCompletion&& completion) {
  look_again(self, *m_comm, *this, [&] { return m_comm->channel(m_direction, m_peer, m_tag); });
  bool const is_kept = m_has_run && m_sent == m_count;
  bool const is_over = Message::start(self, std::move(completion), is_kept,
                                      [&](MPI_Request* request) { return begin(request); });
  // The next message of the channel may be started. (In a plan the order stays that of the
  // recording.)
  if (!is_over && !is_kept && m_is_long) self.release(m_comm->channel(m_direction, m_peer, m_tag));
}

std::string PointToPoint::describe() const {
  std::ostringstream out;
  std::string const peer = rank_text(m_peer, MPI_ANY_SOURCE);
  out << (is_send() ? "send" : "recv") << " of " << m_sent << " " << name_of_type(m_type) << " (\""
      << m_kept.label() << "\") " << (is_send() ? "to " : "from ") << peer << ", tag ";
  if (m_tag == MPI_ANY_TAG)
    out << "any";
  else
    out << m_tag;
  out << ", on rank " << m_comm->rank() << " of " << m_comm->size() << " of " << m_comm->name();
  return out.str();
}

mpi::Received PointToPoint::received(MPI_Status const& status) const {
  int count = 0;
  MPI_Get_count(&status, m_type, &count);
  mpi::Received received;
  received.source = status.MPI_SOURCE;
  received.tag = status.MPI_TAG;
  received.count = count == MPI_UNDEFINED ? 0 : count / m_numbers;
  return received;
}

// --- collective operations -----------------------------------------------------------------------

void Collective::start(TaskScope& self, MessageCompletion&& completion) {
  look_again(self, *m_comm, *this, [&]() -> Token const& { return m_comm->collective(); });
  bool const is_over = Message::start(
      self, std::move(completion), false,
      [&](MPI_Request* request) { return m_call.begin(m_call, m_comm->comm(), request); });
  // The next collective operation may be started.
  if (!is_over) self.release(m_comm->collective());
}

std::string Collective::describe() const {
  std::ostringstream out;
  out << m_call.name;
  if (m_call.out_count > 0 || m_call.in_count > 0)
    out << " of " << std::max(m_call.out_count, m_call.in_count) << " "
        << name_of_type(m_call.type);
  if (m_views > 0) out << " (\"" << m_kept[0].label() << (m_views > 1 ? ", " : "");
  if (m_views > 1) out << m_kept[1].label();
  if (m_views > 0) out << "\")";
  if (m_call.has_root) out << ", root " << m_call.root;
  out << ", on rank " << m_comm->rank() << " of " << m_comm->size() << " of " << m_comm->name();
  return out.str();
}

namespace {

/// The datatypes of values that are bytes to MPI.
struct Datatypes {
  std::mutex mutex;
  std::vector<std::pair<int, MPI_Datatype>> made;
};
Datatypes& datatypes() {
  static Datatypes* const all = new Datatypes;  // it is needed until MPI is finalised
  return *all;
}

}  // namespace

MPI_Datatype datatype_of_bytes(int size) {
  require_mpi();
  std::lock_guard const lock(datatypes().mutex);
  for (auto const& [bytes, type] : datatypes().made)
    if (bytes == size) return type;
  MpiLock const within_mpi;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  require_success(MPI_Type_contiguous(size, MPI_BYTE, &type), "MPI_Type_contiguous");
  require_success(MPI_Type_commit(&type), "MPI_Type_commit");
  datatypes().made.emplace_back(size, type);
  return type;
}

void free_datatypes() {
  std::lock_guard const lock(datatypes().mutex);
  for (auto& [bytes, type] : datatypes().made) MPI_Type_free(&type);
  datatypes().made.clear();
}

MPI_Op make_operator(MPI_User_function* function, bool is_commutative) {
  require_mpi();
  MpiLock const within_mpi;
  MPI_Op op = MPI_OP_NULL;
  require_success(MPI_Op_create(function, is_commutative ? 1 : 0, &op), "MPI_Op_create");
  return op;
}

int wire_count(std::int64_t values, int numbers, char const* what, std::string const& label) {
  std::int64_t const count = values * numbers;
  if (count > std::numeric_limits<int>::max())
    throw Error(Error::Kind::bad_input, std::string("Trellis: ") + what + " of \"" + label +
                                            "\", which has " + std::to_string(count) +
                                            " numbers; MPI counts up to 2147483647 in one message");
  return static_cast<int>(count);
}

}  // namespace trellis::Impl
