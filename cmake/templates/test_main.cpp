// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main of every test program that uses Kokkos.
#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  Kokkos::ScopeGuard kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
