// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a task costs: graphs of tasks with empty bodies. perf_tests/README.md says what each
// benchmark measures.
#include "Measure.hpp"

#include <Trellis_Scheduling.hpp>

#include <cstdlib>
#include <string>
#include <thread>

namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + '.' + std::to_string(KOKKOS_VERSION / 100 % 100) +
         '.' + std::to_string(KOKKOS_VERSION % 100);
}

void describe_run() {
  using benchmark::AddCustomContext;
  AddCustomContext("workers", "as in each benchmark's name, else 1; hardware threads: " +
                                  std::to_string(std::thread::hardware_concurrency()));
  AddCustomContext("policy", std::string(trellis::TaskGraph().options().policy->name()));
  AddCustomContext("space", micro::Space::name());
  AddCustomContext("kokkos", kokkos_version());
  AddCustomContext("compiler", compiler());
  char const* const commit = std::getenv("TRELLIS_COMMIT");
  AddCustomContext("commit", commit == nullptr ? "not given (TRELLIS_COMMIT)" : commit);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc,
                        argv);  // before Kokkos starts, because --help ends the program in here
  Kokkos::ScopeGuard const kokkos(argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  describe_run();
  // A filter with a typing error should not look like a run.
  bool const any = benchmark::RunSpecifiedBenchmarks() > 0;
  benchmark::Shutdown();
  return any ? 0 : 1;
}
