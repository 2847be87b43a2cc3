// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BlasThreads.hpp"

#include <dlfcn.h>

namespace cholesky {
namespace {

template <class Function>
Function* function(char const* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

std::string blas_name() {
  if (auto const config = function<char*()>("openblas_get_config")) return config();
  if (function<void(int)>("MKL_Set_Num_Threads") != nullptr) return "MKL";
  return "";
}

int use_blas_threads(int threads) {
  constexpr char const* known[][2] = {{"openblas_set_num_threads", "openblas_get_num_threads"},
                                      {"MKL_Set_Num_Threads", "MKL_Get_Max_Threads"}};
  for (auto const& [set, get] : known) {
    auto const setter = function<void(int)>(set);
    auto const getter = function<int()>(get);
    if (setter == nullptr || getter == nullptr) continue;
    setter(threads);
    return getter();
  }
  return 0;
}

}  // namespace cholesky
