// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_ThisWorker.hpp>
#include <kernel/Trellis_Frame.hpp>

namespace trellis {

// A body runs on a slot, which belongs to one thread at a time and has a unique number in its
// graph. A serial graph has no slots for the threads that submit, but its bodies run one at a time.
int this_worker::index() {
  Impl::Frame const* const frame = Impl::Frame::top;
  if (frame == nullptr || frame->what != Impl::Frame::What::runs)
    throw Error(Error::Kind::bad_input,
                "Trellis: this_worker::index() is asked for by a thread that runs no task's body");
  return frame->kernel.is_serial() ? 0 : frame->slot.number;
}

}  // namespace trellis
