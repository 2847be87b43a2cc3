// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: several futures are joined by when_all_values("label", f, g, ...), with a label
#include <Trellis.hpp>

#include <tuple>

double both(trellis::Future<int> const& f, trellis::Future<double> const& g) {
#ifdef TRELLIS_COMPILE_OK
  auto const all = trellis::when_all_values("both", f, g);
  return std::get<1>(all.get());
#else
  auto const all = trellis::when_all_values(f, g);
  static_cast<void>(all.get());
  return 0;
#endif
}
