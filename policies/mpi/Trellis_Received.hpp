// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RECEIVED_HPP
#define TRELLIS_RECEIVED_HPP

#include <cstdint>

namespace trellis::mpi {

/// Says what has been received: the value of the future of `recv` and `sendrecv`. A message may be
/// shorter than the View; the rest of the View is as it was.
struct Received {
  int source = -1;  ///< rank of the sender in the communicator
  int tag = -1;
  std::int64_t count = 0;  ///< number of values
};

}  // namespace trellis::mpi

#endif
