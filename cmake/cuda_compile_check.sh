#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Does nvcc accept every file of Trellis that a program for a GPU is made of, with CUDA switched on in Kokkos? Compiles for
# sm_90, never links, so it needs nvcc but no GPU. The Kokkos headers are those of the openmp toolchain, with small
# configuration headers in front that switch its CUDA backend on.
#
#   cmake/cuda_compile_check.sh            everything
#   cmake/cuda_compile_check.sh WORD ...   the files whose names have one of these words in them
#
# A file that is like the one that compiled last time, with all that it includes, is not compiled again: ccache, where
# there is one.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
repo=$PWD
home=${TRELLIS_RUN_HOME:-$repo/.trellis}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [[ ! -x $nvcc ]]; then
  echo "no nvcc here (neither on the PATH nor in /usr/local/cuda/bin): no CUDA code is compiled"
  exit 0
fi
root=$(find "$home"/roots -maxdepth 1 -type d -name 'openmp-*' ! -name '*.making' -printf '%T@ %p\n' 2>/dev/null |
  sort -n | tail -n 1 | cut -d ' ' -f 2-)
headers=$root/usr/include/kokkos
if [[ ! -f $headers/KokkosCore_config.h ]]; then
  echo "no openmp toolchain here, so no Kokkos headers to compile CUDA code with: no CUDA code is compiled"
  exit 0
fi

# One place for each checkout and nobody else's: ccache knows a file by its path.
work=$home/cuda_check
mkdir -p "$work" || exit 1
exec {lock}>"$work.lock"
flock "$lock"
rm -rf "$work"
config=$work/config
mkdir -p "$config/desul/atomics" "$work/others" "$work/generated" "$work/out"
trap 'rm -rf "$work"' EXIT

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

# Other libraries' headers, each by itself: the toolchain's C library is not this machine's.
for library in gtest gmock CLI nlohmann benchmark; do
  for folder in "$root"/usr/include/$library "$root"/usr/src/googletest/google{test,mock}/include/$library; do
    [[ ! -d $folder ]] || ln -sfn "$folder" "$work/others/$library"
  done
done

# What includes Kokkos in the folders of the library and of the programs. The other spaces' adapters are compiled too: a
# program for a GPU has them.
mapfile -t sources < <(
  echo cmake/templates/cuda_check.cpp
  for folder in spaces policies example perf_tests; do
    find "$folder" -name '*.cpp' | sort
  done
)
# Not here, and why.
left_out() {
  case $1 in
    # Another runtime's tasks: no Kokkos in them, and their headers are not in the toolchain's Kokkos.
    perf_tests/taskbench/models/{OpenMP,OpenMPRuntime,Taskflow,TBB,StarPU}.cpp) return 0 ;;
    perf_tests/*/tests/*) return 0 ;; # tests of the tables, on the host
    *) return 1 ;;
  esac
}

# The typed tests, as TrellisTests.cmake generates them.
for source in unit_tests/device/*.cpp; do
  [[ -f $source ]] || continue
  stem=$(basename "$source" .cpp)
  sed -e 's|@space@|Cuda|' -e "s|@source@|$repo/$source|" -e 's|@space@|Cuda|' cmake/templates/space_test.cpp.in |
    sed 's|@space@|Cuda|g' >"$work/generated/${stem}_Cuda.cpp"
  sources+=("$work/generated/${stem}_Cuda.cpp")
done

compile() {
  local source=$1 name=${1#"$work"/generated/} begin=$SECONDS log status=0 launcher=()
  log=$work/out/${name//\//_}
  [[ ! -x $(command -v ccache) ]] || launcher=(ccache)
  CCACHE_DIR=$home/ccache CCACHE_DEPEND=1 "${launcher[@]}" "$nvcc" -std=c++20 -arch=sm_90 --extended-lambda \
    --expt-relaxed-constexpr -x cu -c "$source" -o "$log.o" -Xcompiler -fopenmp -I "$config" -isystem "$headers" \
    -isystem "$work/others" -I core -I spaces -I policies -I "$(dirname "$source")" -I perf_tests -I unit_tests/device \
    -I example/figures -I perf_tests/taskbench >"$log.log" 2>&1 || status=1
  rm -f "$log.o"
  echo "nvcc: $name: $( ((status)) && echo FAILED || echo compiled) ($((SECONDS - begin)) s)"
  ((status == 0)) || cat "$log.log"
  return "$status"
}

# Two at a time: nvcc takes much memory.
begin=$SECONDS count=0 failed=0 running=0
for source in "${sources[@]}"; do
  if left_out "$source"; then continue; fi
  if (($#)); then
    wanted=
    for word in "$@"; do [[ $source != *$word* ]] || wanted=yes; done
    [[ -n $wanted ]] || continue
  fi
  if ((running == 2)); then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
  compile "$source" &
  running=$((running + 1)) count=$((count + 1))
done
for ((; running > 0; running--)); do wait -n || failed=$((failed + 1)); done
echo "nvcc: $count files in $((SECONDS - begin)) s, $failed failed"
((failed == 0))
