// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <mpi/Trellis_Collectives.hpp>

#include <string>

namespace trellis::Impl {
namespace {

/// Returns the send buffer of a call, which may be in place.
void const* out_of(CollectiveCall const& call) {
  return call.out == call.in && call.out != nullptr ? MPI_IN_PLACE : call.out;
}
int const* data(std::vector<int> const CollectiveCall::Counts::* which,
                CollectiveCall const& call) {
  return call.counts != nullptr ? ((*call.counts).*which).data() : nullptr;
}
using Counts = CollectiveCall::Counts;

}  // namespace

int begin_barrier(CollectiveCall const&, MPI_Comm comm, MPI_Request* request) {
  return MPI_Ibarrier(comm, request);
}
int begin_bcast(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Ibcast(call.in, call.in_count, call.type, call.root, comm, request);
}
int begin_reduce(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Ireduce(call.out, call.in, call.in_count, call.type, call.op, call.root, comm,
                     request);
}
int begin_allreduce(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iallreduce(out_of(call), call.in, call.in_count, call.type, call.op, comm, request);
}
int begin_scan(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iscan(out_of(call), call.in, call.in_count, call.type, call.op, comm, request);
}
int begin_exscan(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iexscan(out_of(call), call.in, call.in_count, call.type, call.op, comm, request);
}
int begin_gather(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Igather(call.out, call.out_count, call.type, call.in, call.in_count, call.type,
                     call.root, comm, request);
}
int begin_gatherv(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Igatherv(call.out, call.out_count, call.type, call.in, data(&Counts::in, call),
                      data(&Counts::in_displacements, call), call.type, call.root, comm, request);
}
int begin_allgather(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iallgather(call.out, call.out_count, call.type, call.in, call.in_count, call.type,
                        comm, request);
}
int begin_allgatherv(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iallgatherv(call.out, call.out_count, call.type, call.in, data(&Counts::in, call),
                         data(&Counts::in_displacements, call), call.type, comm, request);
}
int begin_scatter(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iscatter(call.out, call.out_count, call.type, call.in, call.in_count, call.type,
                      call.root, comm, request);
}
int begin_scatterv(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iscatterv(call.out, data(&Counts::out, call), data(&Counts::out_displacements, call),
                       call.type, call.in, call.in_count, call.type, call.root, comm, request);
}
int begin_alltoall(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Ialltoall(call.out, call.out_count, call.type, call.in, call.in_count, call.type, comm,
                       request);
}
int begin_alltoallv(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request) {
  return MPI_Ialltoallv(call.out, data(&Counts::out, call), data(&Counts::out_displacements, call),
                        call.type, call.in, data(&Counts::in, call),
                        data(&Counts::in_displacements, call), call.type, comm, request);
}

void require_elements(char const* operation, std::string const& view, std::int64_t has,
                      std::int64_t needs) {
  if (has == needs) return;
  throw Error(Error::Kind::bad_input, std::string("Trellis: ") + operation + " needs " +
                                          std::to_string(needs) + " elements in \"" + view +
                                          "\", which has " + std::to_string(has));
}

RankBlocks::RankBlocks(char const* operation, std::string const& view, std::int64_t size, int ranks,
                       int numbers, std::vector<std::int64_t> const& counts_,
                       std::vector<std::int64_t> const* displacements_) {
  auto const refuse = [&](std::string const& why) {
    throw Error(Error::Kind::bad_input,
                std::string("Trellis: ") + operation + " of \"" + view + "\": " + why);
  };
  auto const require_one_each = [&](std::vector<std::int64_t> const& all, char const* what) {
    if (all.size() != static_cast<std::size_t>(ranks))
      refuse("there are " + std::to_string(all.size()) + " " + what + " for " +
             std::to_string(ranks) + " ranks");
  };
  require_one_each(counts_, "counts");
  if (displacements_ != nullptr) require_one_each(*displacements_, "displacements");
  std::int64_t next = 0;
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    std::int64_t const begin = displacements_ != nullptr ? (*displacements_)[k] : next;
    std::int64_t const count = counts_[k];
    if (count < 0 || begin < 0 || begin + count > size)
      refuse("the part of rank " + std::to_string(k) + " is " + std::to_string(count) +
             " elements from " + std::to_string(begin) + " on, but the View has " +
             std::to_string(size));
    next = begin + count;
    counts.push_back(wire_count(count, numbers, operation, view));
    displacements.push_back(wire_count(begin, numbers, operation, view));
  }
}

}  // namespace trellis::Impl
