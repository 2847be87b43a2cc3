// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the callable must take what stands in CallableMustTake<...> above
// SHOWS: CallableMustTake<false, void ?[(]double[)]>
#include <Trellis.hpp>

#include <string>

void f(trellis::Future<double> const& future, trellis::TaskScope& self) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = [](double) { return 1; };
#else
  auto const body = [](std::string const&) { return 1; };
#endif
  trellis::Future<int> const next = future.then("next", self, body);
  static_cast<void>(next.get());
}
