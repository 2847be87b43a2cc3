// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What outlives a task: its cell (TaskSlab), its graph (EnginePin).
//
// - A cell is given to one thread at a time, which happens after the task that had it before.
// - An engine is not destroyed while a thread uses it that came through a handle.
#include "Prove.hpp"
#include "Tasks.hpp"

#include <task/Trellis_GraphControl.hpp>
#include <task/Trellis_TaskSlab.hpp>

#include <memory>
#include <thread>

namespace trellis::model {
namespace {

using Impl::EnginePin;
using Impl::GraphControl;
using Impl::Task;
using Impl::TaskHandle;
using Impl::TaskSlab;

/// Two threads give cells back, one takes them.
void give_back() {
  TaskSlab slab;
  Task* const cells[2] = {&slab.acquire(), &slab.acquire()};
  auto const end = [&](int k) {
    cells[k]->id = 7;  // the task's
    slab.recycle_chain(cells[k], cells[k]);
  };
  std::thread first(end, 0);
  std::thread second(end, 1);
  TaskSlab::Chain chain = slab.acquire_chain();
  int count = 0;
  for (Task* cell = chain.first; cell != nullptr; cell = cell->next) {
    cell->id = 8;
    ++count;
  }
  first.join();
  second.join();
  chain = slab.acquire_chain();
  for (Task* cell = chain.first; cell != nullptr; cell = cell->next) {
    require(cell->id == 7, "a cell is given out once");
    ++count;
  }
  require(count == 2, "no cell is lost");
}

/// The thread that has the graph's lock takes a cell that another one has given back.
void take_last() {
  TaskSlab slab;
  Task& cell = slab.acquire();
  for (int k = 1; k < TaskSlab::block_size; ++k) (void)slab.acquire();
  std::thread worker([&] {
    cell.id = 7;
    slab.recycle_chain(&cell, &cell);
  });
  Task& other = slab.acquire();
  if (&other == &cell) require(cell.id == 7, "a cell is given out after the task that had it");
  other.id = 8;
  worker.join();
}

/// Two threads take chains of the cells that a third one gives back.
void take_chains() {
  TaskSlab slab;
  Task& cell = slab.acquire();
  int takers = 0;
  auto const take = [&] {
    TaskSlab::Chain const chain = slab.acquire_chain();
    if (chain.first == nullptr) return;
    require(chain.first == &cell, "there is one cell");
    cell.id = 8;
    ++takers;
  };
  std::thread first(take);
  cell.id = 7;
  slab.recycle_chain(&cell, &cell);
  take();
  first.join();
  require(takers == 1, "one thread gets the cell");
}

/// The closing thread does as Engine::close, and then as a graph that is made.
void pin_engine() {
  GraphControl control;
  auto engine = std::make_unique<int>(1);
  control.generation.store(1, std::memory_order_seq_cst);
  control.engine.store(reinterpret_cast<Impl::Engine*>(engine.get()), std::memory_order_seq_cst);
  Tasks tasks(1);
  std::thread user([&] {
    EnginePin const pin(TaskHandle{&control, 1, &tasks[0], 1});
    if (!pin) return;
    require(pin.operator->() == reinterpret_cast<Impl::Engine*>(engine.get()),
            "a later graph's engine is not taken for this one's");
    require((*engine)++ == 1, "a thread that has an engine finds it as it was");
  });
  control.engine.store(nullptr, std::memory_order_seq_cst);
  while (control.users.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  *engine = 0;
  // Another graph takes the control over.
  auto const later = std::make_unique<int>(2);
  control.generation.store(2, std::memory_order_seq_cst);
  control.engine.store(reinterpret_cast<Impl::Engine*>(later.get()), std::memory_order_seq_cst);
  user.join();
}

}  // namespace

Model const cells_come_back{"two threads give cells back", &give_back};
Model const chains_of_cells{"two threads take chains", &take_chains};
Model const last_cell{"a cell is given back and taken", &take_last};
Model const engine_outlives_users{"a graph is closed", &pin_engine};

TEST(TaskSlabModel, ACellIsGivenOutOnce) {
  prove(cells_come_back);
  prove(chains_of_cells);
  prove(last_cell);
}

TEST(EnginePinModel, AnEngineOutlivesThreadsThatUseIt) {
  prove(engine_outlives_users);
}

}  // namespace trellis::model

// On no thread of these models does a task run.
trellis::Impl::Engine* trellis::Impl::EnginePin::running_here(TaskHandle const&) noexcept {
  return nullptr;
}
