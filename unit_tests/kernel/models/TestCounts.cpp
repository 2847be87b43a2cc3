// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// OpenParts: what has to be over before a task is that was split.
//
// - One thread finds that nothing is left, and no more than one.
// - It happens after the body and all parts.
#include "Prove.hpp"

#include <kernel/Trellis_Region.hpp>

#include <thread>

namespace trellis::model {
namespace {

using Impl::OpenParts;

struct Whole {
  OpenParts open;
  int body = 0;
  int parts[2] = {0, 0};
  int ends = 0;
  void end(int count) {
    require(body == 1, "the task ends after its body");
    for (int k = 0; k < count; ++k) require(parts[k] == 1, "the task ends after its parts");
    ++ends;
  }
};

/// The body submits two parts, which other threads run.
void split_in_two() {
  Whole whole;
  auto const run = [&](int k) {
    whole.parts[k] = 1;
    if (whole.open.part_over(false)) whole.end(2);
  };
  whole.open.add(true);
  std::thread first(run, 0);
  whole.open.add(true);
  std::thread second(run, 1);
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  first.join();
  second.join();
  require(whole.ends == 1, "one thread ends the task");
}

/// A part submits another one.
void split_part() {
  Whole whole;
  std::thread second;
  whole.open.add(true);
  std::thread first([&] {
    whole.open.add(false);
    second = std::thread([&] {
      whole.parts[1] = 1;
      if (whole.open.part_over(false)) whole.end(2);
    });
    whole.parts[0] = 1;
    if (whole.open.part_over(false)) whole.end(2);
  });
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  first.join();
  second.join();
  require(whole.ends == 1, "one thread ends the task");
}

/// The body runs a part itself that another thread has submitted, and the other way round.
void run_above_body() {
  Whole whole;
  whole.open.add(true);
  whole.open.add(true);
  std::thread other([&] {
    whole.parts[0] = 1;
    if (whole.open.part_over(false)) whole.end(2);
  });
  whole.parts[1] = 1;
  if (whole.open.part_over(true)) whole.end(2);
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  other.join();
  require(whole.ends == 1, "one thread ends the task");
}

}  // namespace

Model const body_and_two_parts{"a body and two parts", &split_in_two};
Model const parts_of_parts{"a part submits another one", &split_part};
Model const part_on_thread_of_body{"a part runs above the body", &run_above_body};

TEST(OpenPartsModel, TheLastOneEndsTheTaskAfterAllOthers) {
  prove(body_and_two_parts);
  prove(parts_of_parts);
  prove(part_on_thread_of_body);
}

}  // namespace trellis::model
