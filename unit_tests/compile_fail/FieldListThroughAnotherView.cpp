// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same for a range of fields, in a host task.
// EXPECT: the callable must take what stands in CallableMustTake<...> above
// SHOWS: CallableMustTake<false, void ?[(]trellis::view_list<[A-Za-z:]*Field<double ?[*], Kokkos::LayoutRight>::read_view>[ )]
#include <Trellis.hpp>
#include <fields/Trellis_Fields.hpp>

#include <vector>

using F = trellis::Field<double*, Kokkos::LayoutRight>;
#ifdef TRELLIS_COMPILE_OK
using In = trellis::view_list<F::read_view>;
#else
using In = F::read_view;
#endif

void submit(trellis::FieldGraph& model, std::vector<F> const& all) {
  trellis::host_task("look", trellis::ResourcePolicy(model, trellis::read(all)), [](In const&) {});
}
