// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two libraries and this program use one Trellis: their tasks meet in one graph and in one model,
// each sees what the others have said about the thread, and an error of one is caught by another.
#include "left.hpp"
#include "right.hpp"

#include <Trellis_Simulated.hpp>
#include <threads/Trellis_ThreadSlot.hpp>

#include <cstdio>
#include <string>
#include <thread>

namespace {

int failures = 0;

void expect(bool is_right, char const* what) {
  if (is_right) return;
  std::printf("WRONG: %s\n", what);
  ++failures;
}

/// The text of the `Error` that the function throws, found by its type.
template <class Function>
std::string error_of(Function const& function) {
  try {
    function();
  } catch (trellis::Error const& error) {
    return error.what();
  } catch (...) {
    return "not caught by its type";
  }
  return "nothing is thrown";
}

bool has(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  expect(trellis::version() == TRELLIS_VERSION, "the library is not that of the headers");
  {
    trellis::TaskGraph graph;
    Kokkos::View<double*> const x("x", 100);
    for (int round = 0; round < 20; ++round) {
      Kokkos::deep_copy(x, 0);
      fill(graph, x);
      expect(sum(graph, x) == 100, "tasks of two libraries are not in order");
    }

    std::string text = error_of([&] { wait_for_itself(graph).get(); });
    expect(has(text, "waits for itself"), ("a task waits for itself: " + text).c_str());
    text = error_of([] { fail(); });
    expect(text == "from the right", ("an error of a library: " + text).c_str());
    trellis::TaskGraphOptions wrong;
    wrong.workers = -7;
    text = error_of([&] { trellis::TaskGraph const none(wrong); });
    expect(has(text, "Trellis"), ("an error of Trellis: " + text).c_str());

    trellis::FieldGraph model(graph);
    Kokkos::View<double*> const rate("rate", 10);
    auto const r = model.bind("rate", rate);
    auto const q = model.field<double*>("q", 11);
    add_balance(model, q, r);
    add_flux(model, q);
    model.require(r);
    model.submit();
    expect(sum(graph, rate) == 30, "the tasks of two libraries do not find each other in a model");
  }

  // What Kokkos has of a memory space of Trellis' is in its library.
  Kokkos::View<double*, trellis::SimulatedSpace> const far_away("far away", 10);
  expect(far_away.label() == "far away", "a View in the memory of a simulated device");

  expect(adapter_in_left() == adapter_in_right(), "a space has two adapters");
  expect(adapter_in_left() == &trellis::Impl::space_adapter<Kokkos::DefaultHostExecutionSpace>(),
         "the program has an adapter of its own");
  std::thread([] {
    int const slot = trellis::Impl::thread_slot();
    expect(slot_in_left() == slot && slot_in_right() == slot, "a thread has several slots");
  }).join();
  if (failures == 0) std::printf("one runtime\n");
  return failures;
}
