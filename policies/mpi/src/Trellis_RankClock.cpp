// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_RankClock.hpp>

#include <limits>
#include <thread>

namespace trellis::Impl {
namespace {

// Most often one of the first few dozen is not delayed. If ranks share cores it may take more.
constexpr int fewest_questions = 64;
constexpr int most_questions = 1024;
constexpr std::int64_t good_ns = 20'000;

struct ClockTag {
  enum Value : int { turn, question, answer, over };
};

void send_word(MPI_Comm comm, int to, ClockTag::Value tag) {
  require_success(MPI_Send(nullptr, 0, MPI_BYTE, to, tag, comm), "MPI_Send");
}

void answer_questions_of(MPI_Comm comm, int rank, std::int64_t (*now)()) {
  send_word(comm, rank, ClockTag::turn);
  for (;;) {
    MPI_Status status;
    require_success(MPI_Recv(nullptr, 0, MPI_BYTE, rank, MPI_ANY_TAG, comm, &status), "MPI_Recv");
    if (status.MPI_TAG == ClockTag::over) return;
    std::int64_t const time = now();
    require_success(MPI_Send(&time, 1, MPI_INT64_T, rank, ClockTag::answer, comm), "MPI_Send");
  }
}

/// Sleeps between tests: a rank that waits inside MPI may take the core of the one whose turn it
/// is.
void wait_for_word(MPI_Comm comm, ClockTag::Value tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  require_success(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, tag, comm, &request), "MPI_Irecv");
  for (int is_over = 0;;) {
    require_success(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_over != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

ClockOffset ask(MPI_Comm comm, std::int64_t (*now)()) {
  ClockOffset best;
  best.uncertainty_ns = std::numeric_limits<std::int64_t>::max();
  for (int k = 0; k < most_questions; ++k) {
    if (k >= fewest_questions && best.uncertainty_ns <= good_ns) break;
    std::int64_t time = 0;
    std::int64_t const asked = now();
    send_word(comm, 0, ClockTag::question);
    require_success(MPI_Recv(&time, 1, MPI_INT64_T, 0, ClockTag::answer, comm, MPI_STATUS_IGNORE),
                    "MPI_Recv");
    std::int64_t const half = (now() - asked + 1) / 2;
    if (half < best.uncertainty_ns) best = {time - (asked + half), half};
  }
  send_word(comm, 0, ClockTag::over);
  return best;
}

}  // namespace

ClockOffset measure_clock(MPI_Comm comm, std::int64_t (*now)()) {
  int rank = 0, size = 0;
  require_success(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  require_success(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (rank != 0) {
    wait_for_word(comm, ClockTag::turn);
    ClockOffset const found = ask(comm, now);
    wait_for_word(comm, ClockTag::over);
    return found;
  }
  for (int other = 1; other < size; ++other) answer_questions_of(comm, other, now);
  for (int other = 1; other < size; ++other) send_word(comm, other, ClockTag::over);
  return {};
}

}  // namespace trellis::Impl
