// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <mpi/Trellis_MpiError.hpp>
#include <mpi/Trellis_Session.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>

namespace trellis::Impl {
namespace {

mpi::ThreadLevel ask_for_level() {
  require_mpi();
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  switch (level) {
    case MPI_THREAD_MULTIPLE:
      return mpi::ThreadLevel::multiple;
    case MPI_THREAD_SERIALIZED:
      return mpi::ThreadLevel::serialized;
    case MPI_THREAD_FUNNELED:
      return mpi::ThreadLevel::funneled;
    default:
      return mpi::ThreadLevel::single;
  }
}

char const* what_follows(mpi::ThreadLevel level) {
  switch (level) {
    case mpi::ThreadLevel::multiple:
      return "any worker starts messages, one thread at a time asks for them";
    case mpi::ThreadLevel::serialized:
      return "any worker starts messages and asks for them, under a lock";
    default:
      return "the main thread alone starts messages and asks for them, while it waits";
  }
}

/// Prints the level and its consequences, once, if TRELLIS_MPI_INFO asks for it.
void tell(mpi::ThreadLevel level) {
  char const* const asked = std::getenv("TRELLIS_MPI_INFO");
  if (asked == nullptr || *asked == '\0' || *asked == '0') return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string line(version, static_cast<std::size_t>(length));
  line.resize(std::min(line.find_first_of("\r\n"), line.size()));
  // The text is written at once: the launcher of the ranks may put other output between two pieces.
  std::string const text = std::string("Trellis: MPI_THREAD_") +
                           std::string(mpi::to_string(level)) + ": " + what_follows(level) + " (" +
                           line + ")\n";
  std::cerr << text << std::flush;
}

/// Recursive: a program that holds `mpi::Guard` may make communicators, submit messages and drop
/// what it has of them meanwhile.
std::recursive_mutex& mutex_of_mpi() {
  static auto* const mutex = new std::recursive_mutex;  // the last objects use it, too
  return *mutex;
}

}  // namespace

void require_mpi() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0)
    throw Error(
        Error::Kind::bad_input,
        "Trellis: MPI is not initialised; trellis::mpi::ScopeGuard, or MPI_Init_thread with "
        "MPI_THREAD_MULTIPLE, comes first");
  if (mpi_is_over()) throw Error(Error::Kind::closed, "Trellis: MPI has been finalised");
}

bool mpi_is_over() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  return is_finalized != 0;
}

std::string text_of_code(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "error " + std::to_string(code);
  return std::string(text, static_cast<std::size_t>(length));
}

void require_success(int code, char const* what) {
  if (code != MPI_SUCCESS) throw mpi::Error(std::string("Trellis: ") + what, code);
}

MpiLock::MpiLock() : m_holds(mpi::thread_level() == mpi::ThreadLevel::serialized) {
  if (m_holds) mutex_of_mpi().lock();
}
MpiLock::MpiLock(IfFree) {
  if (is_for_main_thread()) {
    int is_main = 0;
    MPI_Is_thread_main(&is_main);
    m_may_call = is_main != 0;
  } else if (mpi::thread_level() == mpi::ThreadLevel::serialized) {
    m_may_call = m_holds = mutex_of_mpi().try_lock();
  }
}
MpiLock::~MpiLock() {
  if (m_holds) mutex_of_mpi().unlock();
}

bool mpi_reaches_devices() {
  static bool const reaches = [] {
    if (char const* const said = std::getenv("TRELLIS_MPI_GPU_AWARE"); said != nullptr)
      return *said != '\0' && *said != '0';
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
    if (MPIX_Query_cuda_support() == 1) return true;
#endif
#if defined(MPICH_VERSION) && defined(MPIX_GPU_SUPPORT_CUDA)
    int supports = 0;
    if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supports) == MPI_SUCCESS)
      return supports != 0;
#endif
    return false;
  }();
  return reaches;
}

bool is_for_main_thread() {
  return mpi::thread_level() < mpi::ThreadLevel::serialized;
}

}  // namespace trellis::Impl

namespace trellis::mpi {

Error::Error(std::string const& what, int code)
    : std::runtime_error(what + ": " + Impl::text_of_code(code)), m_code(code), m_class(code) {
  MPI_Error_class(code, &m_class);
}

std::string_view to_string(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::multiple:
      return "MULTIPLE";
    case ThreadLevel::serialized:
      return "SERIALIZED";
    case ThreadLevel::funneled:
      return "FUNNELED";
    default:
      return "SINGLE";
  }
}

ThreadLevel thread_level() {
  // MPI is initialised once in a process.
  static ThreadLevel const level = [] {
    ThreadLevel const had = Impl::ask_for_level();
    Impl::tell(had);
    return had;
  }();
  return level;
}

ScopeGuard::ScopeGuard(int& argc, char**& argv) : m_is_mine(false) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized != 0) return;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  m_is_mine = true;
}

ScopeGuard::~ScopeGuard() {
  if (m_is_mine && !Impl::mpi_is_over()) MPI_Finalize();
}

Guard::Guard() : m_holds(thread_level() == ThreadLevel::serialized) {
  if (m_holds) Impl::mutex_of_mpi().lock();
}
Guard::~Guard() {
  if (m_holds) Impl::mutex_of_mpi().unlock();
}

}  // namespace trellis::mpi
