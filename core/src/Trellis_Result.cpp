// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <impl/Trellis_Result.hpp>

namespace trellis::Impl {

/// From now on the thread keeps what it frees until it ends.
void* ResultMemory::take_new() {
  struct UntilTheEnd {
    UntilTheEnd() {
#if !defined(__SANITIZE_ADDRESS__)  // it detects late uses only of freed memory
      t_kept.room = 256;
#endif
    }
    UntilTheEnd(UntilTheEnd const&) = delete;
    UntilTheEnd& operator=(UntilTheEnd const&) = delete;
    ~UntilTheEnd() {
      t_kept.room = 0;
      while (t_kept.count > 0) ::operator delete(take());
    }
  };
  static thread_local UntilTheEnd const until_the_end;
  (void)until_the_end;
  return ::operator new(block);
}

}  // namespace trellis::Impl
