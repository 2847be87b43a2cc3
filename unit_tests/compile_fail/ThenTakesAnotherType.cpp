// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the callable must take what stands in CallableMustTake<...> above
// SHOWS: CallableMustTake<false, void ?[(]double[)]>
#include <Trellis.hpp>

#include <string>

void f(trellis::Future<double> const& future) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = [](double) {};
#else
  auto const body = [](std::string const&) {};
#endif
  future.then(body);
}
