// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A profiler for Kokkos Tools, as small as can be: keeps the names of all kernels.
#include <cstdint>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string names;
std::uint64_t kernels = 0;

void add(char const* kind, char const* name, std::uint64_t* kernel) {
  std::lock_guard const lock(mutex);
  names += std::string(kind) + ' ' + name + '\n';
  *kernel = kernels++;
}

}  // namespace

extern "C" {
struct Kokkos_Tools_ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};
void kokkosp_request_tool_settings(std::uint32_t, Kokkos_Tools_ToolSettings* settings) {
  settings->requires_global_fencing = false;
}
void kokkosp_begin_parallel_for(char const* name, std::uint32_t, std::uint64_t* kernel) {
  add("for", name, kernel);
}
void kokkosp_begin_parallel_reduce(char const* name, std::uint32_t, std::uint64_t* kernel) {
  add("reduce", name, kernel);
}
void kokkosp_begin_parallel_scan(char const* name, std::uint32_t, std::uint64_t* kernel) {
  add("scan", name, kernel);
}
void kokkosp_end_parallel_for(std::uint64_t) {}
void kokkosp_end_parallel_reduce(std::uint64_t) {}
void kokkosp_end_parallel_scan(std::uint64_t) {}
/// For the test: `kind name` of each kernel so far, a line each.
char const* trellis_test_tool_names() {
  static std::string copy;
  std::lock_guard const lock(mutex);
  copy = names;
  return copy.c_str();
}
}
