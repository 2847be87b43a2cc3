// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <annotations/impl/Trellis_RebindPolicy.hpp>

#include <string>
#include <utility>

/// This file has the errors of the fronts for wrong input. (Texts take long to compile, so they are
/// not in headers.)
namespace trellis {

namespace Impl {

void refuse_base(Label const& label, std::string const& why) {
  throw Error(Error::Kind::bad_input, "Trellis: task " + label.text() + " " + why);
}

void refuse_range(Label const& label, std::int64_t n) {
  refuse_base(label, std::string("has the ") + (n < 0 ? "negative" : "too large") + " range " +
                         std::to_string(n) + (n == Count::too_large ? " or more" : ""));
}

void refuse_team_on_worker(int size, int threads) {
  throw Error(Error::Kind::bad_input, "it was made with teams of " + std::to_string(size) +
                                          " threads, but has " + std::to_string(threads) +
                                          " since TaskGraph::set_threads");
}

void refuse_team(Label const& label, int size, int threads) {
  refuse_base(label, "asks for teams of " + std::to_string(size) + " threads, but has " +
                         std::to_string(threads) +
                         ": set TaskGraphOptions::threads_per_worker (or "
                         "TRELLIS_THREADS_PER_WORKER), say threads(" +
                         std::to_string(size) + "), or use Kokkos::AUTO");
}

void refuse_unallocated(std::string const& label) {
  throw Error(Error::Kind::bad_access, "Trellis: the LateView \"" + label +
                                           "\" has no memory: no task before has allocated it, "
                                           "see trellis::allocate");
}

void refuse_extent(std::string const& label, std::size_t direction, std::int64_t n) {
  throw Error(Error::Kind::bad_input,
              "Trellis: extent " + std::to_string(direction) + " of the LateView \"" + label +
                  "\" cannot be " + std::to_string(n) +
                  (n < 0 ? ", which is negative" : ", for which there are not enough addresses"));
}

}  // namespace Impl

std::string HostMemory::checked(std::string&& label, std::size_t extents, std::size_t strides) {
  if (extents > Impl::Area::max_rank || extents != strides)
    throw Error(Error::Kind::bad_input, "Trellis: the memory \"" + label + "\" has " +
                                            std::to_string(extents) + " extents and " +
                                            std::to_string(strides) +
                                            " strides; as many of both, and 8 at most, are needed");
  return std::move(label);
}

}  // namespace trellis
