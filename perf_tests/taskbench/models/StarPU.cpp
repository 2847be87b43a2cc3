// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"

#include <starpu.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <unistd.h>

namespace taskbench {
namespace {

void run_codelet(void**, void* argument) {
  Work const* work = nullptr;
  std::int64_t step = 0;
  int column = 0;
  starpu_codelet_unpack_args(argument, &work, &step, &column);
  work->run_task(step, column);
}

/// Edges from data handles, one for each column and copy.
class StarPUModel : public Model {
 public:
  explicit StarPUModel(int workers) : Model("starpu", Kind::dynamic), m_workers(workers) {
    // It measures the machine's buses and keeps that in the home folder, unless told otherwise.
    m_home =
        std::filesystem::temp_directory_path() / ("taskbench-starpu-" + std::to_string(getpid()));
    setenv("STARPU_HOME", m_home.c_str(), 1);
    setenv("STARPU_PERF_MODEL_DIR", m_home.c_str(), 1);
    for (char const* const name :
         {"STARPU_NCUDA", "STARPU_NOPENCL", "STARPU_NHIP", "STARPU_NMAX_FPGA"})
      setenv(name, "0", 1);
    for (char const* const name :
         {"STARPU_SILENT", "STARPU_WORKERS_NOBIND", "STARPU_HWLOC_MIGRATE_DISABLE"})
      setenv(name, "1", 0);
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = conf.nopencl = 0;
    conf.bus_calibrate = 0;
    conf.sched_policy_name = "lws";
    if (starpu_init(&conf) != 0) throw std::runtime_error("StarPU does not start");
    m_workers = static_cast<int>(starpu_cpu_worker_get_count());
    starpu_codelet_init(&m_codelet);
    m_codelet.cpu_funcs[0] = run_codelet;
    m_codelet.cpu_funcs_name[0] = "run_codelet";
    m_codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
    m_codelet.name = "task";
    starpu_pause();
  }
  ~StarPUModel() override {
    starpu_resume();
    starpu_shutdown();
    std::error_code ignored;
    std::filesystem::remove_all(m_home, ignored);
  }
  [[nodiscard]] std::string description() const override {
    return "StarPU " + std::to_string(STARPU_MAJOR_VERSION) + '.' +
           std::to_string(STARPU_MINOR_VERSION) + ", data handles, scheduler lws";
  }
  [[nodiscard]] int workers() const override { return m_workers; }
  [[nodiscard]] std::int64_t most_tasks() const override { return 5'000; }
  void prepare(Work& work) override {
    starpu_resume();
    for (int copy = 0; copy != work.parameters().copies; ++copy)
      for (int column = 0; column != work.width(); ++column) {
        starpu_data_handle_t handle = nullptr;
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM,
                                      reinterpret_cast<std::uintptr_t>(work.output(copy, column)),
                                      work.parameters().output_bytes);
        m_handles.push_back(handle);
      }
    starpu_pause();
  }
  void release() override {
    starpu_resume();
    for (starpu_data_handle_t const each : m_handles) starpu_data_unregister(each);
    starpu_pause();
    m_handles.clear();
  }
  void run(Work& work) override {
    starpu_resume();
    std::size_t const width = static_cast<std::size_t>(work.width());
    std::vector<starpu_data_descr> accesses;
    for (std::int64_t step = 0; step != work.steps(); ++step) {
      Columns const columns = work.columns(step);
      starpu_data_handle_t const* const from =
          &m_handles[static_cast<std::size_t>(work.copy_of(step - 1)) * width];
      starpu_data_handle_t const* const to =
          &m_handles[static_cast<std::size_t>(work.copy_of(step)) * width];
      for (int column = columns.begin; column != columns.end; ++column) {
        accesses.clear();
        for (int const input : work.edges().declared_inputs(step, column))
          accesses.push_back({from[input], STARPU_R});
        accesses.push_back({to[column], STARPU_W});
        Work const* const argument = &work;
        if (starpu_task_insert(&m_codelet, STARPU_DATA_MODE_ARRAY, accesses.data(),
                               static_cast<int>(accesses.size()), STARPU_VALUE, &argument,
                               sizeof argument, STARPU_VALUE, &step, sizeof step, STARPU_VALUE,
                               &column, sizeof column, 0) != 0)
          throw std::runtime_error("StarPU refuses a task");
      }
    }
    starpu_task_wait_for_all();
    starpu_pause();  // else its workers would go on polling while other models are measured
  }

 private:
  int m_workers;
  std::filesystem::path m_home;
  starpu_codelet m_codelet;
  std::vector<starpu_data_handle_t> m_handles;
};

}  // namespace

std::unique_ptr<Model> make_starpu(int workers) {
  try {
    return std::make_unique<StarPUModel>(workers);
  } catch (std::exception const& e) {
    std::cerr << "taskbench: no starpu: " << e.what() << '\n';
    return nullptr;
  }
}

}  // namespace taskbench
