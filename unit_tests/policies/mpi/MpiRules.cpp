// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In front of the functions of MPI that Trellis calls while a graph is at work; those that only
// tests call are left alone. (MPI itself calls its functions under their other names.)
#include "MpiRules.hpp"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace trellis::Test {
namespace {

struct Counters {
  std::atomic<long> immediate{0}, made{0}, started{0}, freed{0}, comms_made{0}, comms_freed{0},
      allocations{0};
};
Counters counters;
std::atomic<int> threads_within{0};
std::mutex mutex;
std::string broken;  // guarded by mutex

void note(char const* function, char const* why) {
  std::lock_guard const lock(mutex);
  if (broken.size() < 1000) broken += std::string(function) + " " + why + "\n";
}

class Within {
 public:
  explicit Within(char const* function) {
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED) {
      int is_main = 0;
      MPI_Is_thread_main(&is_main);
      if (is_main == 0) note(function, "by another thread than the main one");
    } else if (level == MPI_THREAD_SERIALIZED && t_depth == 0) {
      if (threads_within.fetch_add(1) != 0) note(function, "by two threads at the same time");
      m_counts = true;
    }
    ++t_depth;
  }
  Within(Within const&) = delete;
  Within& operator=(Within const&) = delete;
  ~Within() {
    --t_depth;
    if (m_counts) threads_within.fetch_sub(1);
  }

 private:
  static inline thread_local int t_depth = 0;  ///< functions that call others of these
  bool m_counts = false;
};

}  // namespace

MpiCallCounts mpi_calls() {
  return {counters.immediate,  counters.made,        counters.started,    counters.freed,
          counters.comms_made, counters.comms_freed, counters.allocations};
}

std::string broken_mpi_rules() {
  std::lock_guard const lock(mutex);
  return std::exchange(broken, {});
}

}  // namespace trellis::Test

using trellis::Test::counters;
using trellis::Test::Within;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) {
  counters.allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const made = std::malloc(bytes > 0 ? bytes : 1)) return made;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  counters.allocations.fetch_add(1, std::memory_order_relaxed);
  auto const align = static_cast<std::size_t>(alignment);
  if (void* const made = std::aligned_alloc(align, (bytes + align) / align * align)) return made;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

extern "C" {

int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Within const within("MPI_Isend");
  ++counters.immediate;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Within const within("MPI_Irecv");
  ++counters.immediate;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Send_init(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  Within const within("MPI_Send_init");
  ++counters.made;
  return PMPI_Send_init(data, count, type, to, tag, comm, request);
}
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  Within const within("MPI_Recv_init");
  ++counters.made;
  return PMPI_Recv_init(data, count, type, from, tag, comm, request);
}
int MPI_Start(MPI_Request* request) {
  Within const within("MPI_Start");
  ++counters.started;
  return PMPI_Start(request);
}
int MPI_Request_free(MPI_Request* request) {
  Within const within("MPI_Request_free");
  ++counters.freed;
  return PMPI_Request_free(request);
}
int MPI_Cancel(MPI_Request* request) {
  Within const within("MPI_Cancel");
  return PMPI_Cancel(request);
}
int MPI_Test(MPI_Request* request, int* is_over, MPI_Status* status) {
  Within const within("MPI_Test");
  return PMPI_Test(request, is_over, status);
}
int MPI_Testsome(int count, MPI_Request* requests, int* over, int* indices, MPI_Status* statuses) {
  Within const within("MPI_Testsome");
  return PMPI_Testsome(count, requests, over, indices, statuses);
}
int MPI_Iallreduce(void const* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  Within const within("MPI_Iallreduce");
  return PMPI_Iallreduce(out, in, count, type, op, comm, request);
}
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  Within const within("MPI_Ibcast");
  return PMPI_Ibcast(data, count, type, root, comm, request);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  Within const within("MPI_Comm_dup");
  ++counters.comms_made;
  return PMPI_Comm_dup(comm, made);
}
int MPI_Comm_free(MPI_Comm* comm) {
  Within const within("MPI_Comm_free");
  ++counters.comms_freed;
  return PMPI_Comm_free(comm);
}

}  // extern "C"
