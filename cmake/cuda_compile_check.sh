#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Does nvcc accept Trellis' headers and what users write with them, with CUDA switched on in Kokkos? Compiles, never links,
# so it needs nvcc but no GPU. The Kokkos headers are those of the openmp toolchain, with small configuration headers
# in front that switch its CUDA backend on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
repo=$PWD
home=${TRELLIS_RUN_HOME:-$repo/.trellis}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
headers=$(find "$home"/roots -maxdepth 1 -type d -name 'openmp-*' ! -name '*.making' -printf '%T@ %p\n' 2>/dev/null |
  sort -n | tail -n 1 | cut -d ' ' -f 2-)/usr/include/kokkos
if [[ ! -f $headers/KokkosCore_config.h ]]; then
  echo "no openmp toolchain here, so no Kokkos headers to compile CUDA code with: left out"
  exit 0
fi

config=$(mktemp -d)
trap 'rm -rf "$config"' EXIT
mkdir -p "$config/desul/atomics"
sed -e 's|/\* #undef KOKKOS_ENABLE_CUDA \*/|#define KOKKOS_ENABLE_CUDA|' \
  -e '/KOKKOS_IMPL_BUILD_SHARED_LIBS/d' "$headers/KokkosCore_config.h" >"$config/KokkosCore_config.h"
printf '\n#define KOKKOS_ARCH_HOPPER\n#define KOKKOS_ARCH_HOPPER90\n' >>"$config/KokkosCore_config.h"
sed -e 's|/\* #undef DESUL_ATOMICS_ENABLE_CUDA \*/|#define DESUL_ATOMICS_ENABLE_CUDA|' \
  -e '/DESUL_IMPL_BUILD_SHARED_LIBS/d' "$headers/desul/atomics/Config.hpp" >"$config/desul/atomics/Config.hpp"
echo '#include <decl/Kokkos_Declare_OPENMP.hpp>
#include <decl/Kokkos_Declare_CUDA.hpp>' >"$config/KokkosCore_Config_DeclareBackend.hpp"
echo '#include <fwd/Kokkos_Fwd_OPENMP.hpp>
#include <fwd/Kokkos_Fwd_CUDA.hpp>' >"$config/KokkosCore_Config_FwdBackend.hpp"
echo '#include <setup/Kokkos_Setup_Cuda.hpp>' >"$config/KokkosCore_Config_SetupBackend.hpp"

status=0
for source in cmake/templates/cuda_check.cpp; do
  echo "nvcc: $source"
  "$nvcc" -std=c++20 -arch=sm_90 --extended-lambda --expt-relaxed-constexpr -x cu -c "$source" -o "$config/out.o" \
    -Xcompiler -fopenmp -I "$config" -isystem "$headers" -I core -I spaces -I policies || status=1
done
exit "$status"
