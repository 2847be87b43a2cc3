#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Does nvcc accept every file of Trellis that a program for a GPU is made of, with CUDA switched on
# in Kokkos? Compiles for sm_90, never links, so it needs nvcc but no GPU. The Kokkos headers are
# those of the openmp toolchain, with small configuration headers in front that switch its CUDA
# backend on.
#
#   cmake/cuda_compile_check.sh            everything
#   cmake/cuda_compile_check.sh WORD ...   the files whose names have one of these words in them
#
# Two compilers at a time, for nvcc takes much memory; without optimising, which finds no mistakes.
# Most of the time goes to the headers of Kokkos, so the files of a folder are compiled as one, and
# one by one where that fails: it tells which file it is, and some files cannot be together.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
repo=$PWD
home=${TRELLIS_RUN_HOME:-$repo/.trellis}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [[ ! -x $nvcc ]]; then
  echo "no nvcc here (neither on the PATH nor in /usr/local/cuda/bin): no CUDA code is compiled"
  exit 0
fi
root=$(find "$home"/roots -maxdepth 1 -type d -name 'openmp-*' ! -name '*.making' \
  -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)
headers=$root/usr/include/kokkos
if [[ ! -f $headers/KokkosCore_config.h ]]; then
  echo "no openmp toolchain here, so no Kokkos headers to compile CUDA code with:" \
    "no CUDA code is compiled"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
config=$work/config
mkdir -p "$config/desul/atomics" "$work/others" "$work/generated" "$work/out"

sed -e 's|/\* #undef KOKKOS_ENABLE_CUDA \*/|#define KOKKOS_ENABLE_CUDA|' \
  -e '/KOKKOS_IMPL_BUILD_SHARED_LIBS/d' \
  "$headers/KokkosCore_config.h" >"$config/KokkosCore_config.h"
printf '\n#define KOKKOS_ARCH_HOPPER\n#define KOKKOS_ARCH_HOPPER90\n' \
  >>"$config/KokkosCore_config.h"
sed -e 's|/\* #undef DESUL_ATOMICS_ENABLE_CUDA \*/|#define DESUL_ATOMICS_ENABLE_CUDA|' \
  -e '/DESUL_IMPL_BUILD_SHARED_LIBS/d' \
  "$headers/desul/atomics/Config.hpp" >"$config/desul/atomics/Config.hpp"
echo '#include <decl/Kokkos_Declare_OPENMP.hpp>
#include <decl/Kokkos_Declare_CUDA.hpp>' >"$config/KokkosCore_Config_DeclareBackend.hpp"
echo '#include <fwd/Kokkos_Fwd_OPENMP.hpp>
#include <fwd/Kokkos_Fwd_CUDA.hpp>' >"$config/KokkosCore_Config_FwdBackend.hpp"
echo '#include <setup/Kokkos_Setup_Cuda.hpp>' >"$config/KokkosCore_Config_SetupBackend.hpp"

# Other libraries' headers, each by itself: the toolchain's C library is not this machine's.
for library in gtest gmock CLI nlohmann benchmark; do
  for folder in "$root"/usr/include/$library \
    "$root"/usr/src/googletest/google{test,mock}/include/$library; do
    [[ ! -d $folder ]] || ln -sfn "$folder" "$work/others/$library"
  done
done

# What includes Kokkos in the folders of the library and of the programs. The other spaces' adapters
# are compiled too: a program for a GPU has them.
mapfile -t sources < <(
  echo cmake/templates/cuda_check.cpp
  for folder in spaces policies example perf_tests; do
    find "$folder" -name '*.cpp' | sort
  done
)
# Not here, and why.
left_out() {
  case $1 in
    # No Kokkos in them: these parts of the programs are the same for every Kokkos, and every other
    # build compiles them.
    example/access_table/* | example/heat/Options.cpp | example/heat/Picture.cpp | \
      example/heat/Recording.cpp | example/heat/Report.cpp | perf_tests/taskbench/Edges.cpp | \
      perf_tests/taskbench/Kernel.cpp | perf_tests/taskbench/Pattern.cpp) return 0 ;;
    # Other libraries' tasks, on the host; their headers are not among those above.
    perf_tests/taskbench/models/OpenMPRuntime.cpp | perf_tests/taskbench/models/StarPU.cpp | \
      perf_tests/taskbench/models/Taskflow.cpp | perf_tests/taskbench/models/TBB.cpp) return 0 ;;
    perf_tests/gpu/NoCudaModels.cpp) return 0 ;; # stands for CudaModels.cpp where there is no CUDA
    # Tests of tables and patterns, and what is compiled to see how long it takes, on the host.
    perf_tests/*/tests/* | perf_tests/compile/*) return 0 ;;
    *) return 1 ;;
  esac
}

# The typed tests, as TrellisTests.cmake generates them: the files after a SPACE_SOURCES.
for list in unit_tests/*/CMakeLists.txt; do
  mapfile -t typed < <(tr -s ' ()\n' '\n' <"$list" |
    awk '$0 == "SPACE_SOURCES" { on = 1; next } !/[.]cpp$/ { on = 0 } on')
  for source in "${typed[@]}"; do
    generated=$work/generated/$(dirname "$list")/$(basename "$source" .cpp)_Cuda.cpp
    mkdir -p "${generated%/*}"
    sed -e 's|@space@|Cuda|' -e "s|@PROJECT_SOURCE_DIR@|$repo|" \
      -e "s|@source@|$repo/$(dirname "$list")/$source|" \
      cmake/templates/space_test.cpp.in >"$generated"
    sources+=("$generated")
  done
done

# run_nvcc SOURCE: the messages are in the file that MESSAGES names.
run_nvcc() {
  local object=$work/out/${1//\//_}.o
  MESSAGES=$object.log
  "$nvcc" -std=c++20 -arch=sm_90 --extended-lambda --expt-relaxed-constexpr -x cu -c "$1" \
    -o "$object" -Xcicc -O0 -Xptxas -O0 -Xcompiler -fopenmp,-fsyntax-only \
    -I "$config" -isystem "$headers" -isystem "$work/others" \
    -I core -I spaces -I policies -I perf_tests/taskbench -I . >"$MESSAGES" 2>&1
  local status=$?
  rm -f "$object"
  return "$status"
}

# compile_alone SOURCE
compile_alone() {
  local begin=$SECONDS status=0
  run_nvcc "$1" || status=1
  echo "nvcc: ${1#"$work"/generated/}: $( ((status)) && echo FAILED || echo compiled)" \
    "($((SECONDS - begin)) s)"
  ((status == 0)) || cat "$MESSAGES"
  return "$status"
}

# compile NAME SOURCE...: those that have a main get others of their own.
compile() {
  local name=$1 together=$work/generated/together_${1//[^a-zA-Z0-9]/_}.cpp
  local begin=$SECONDS status=0 source number=0
  shift
  if (($# > 1)); then
    for source in "$@"; do
      number=$((number + 1))
      printf '#define main main_of_%s\n#include "%s"\n#undef main\n' "$number" "$source"
    done >"$together"
    if run_nvcc "$together"; then
      echo "nvcc: $# files of $name: compiled ($((SECONDS - begin)) s)"
      return
    fi
    echo "nvcc: $# files of $name: not together ($((SECONDS - begin)) s), one by one:" \
      "$(grep -m 1 -i error "$MESSAGES")"
  fi
  for source in "$@"; do compile_alone "$source" || status=1; done
  return "$status"
}

# The groups: the files of one folder, at most sixteen, but for those that have names in common with
# their neighbours.
declare -A sizes members
names=()
add_to_group() {
  local folder=${1%/*} name
  folder=${folder#"$work"/generated/} # the typed tests
  [[ $1 != example/* || $1 == example/figures/* ]] || folder=example
  [[ $1 != spaces/* ]] || folder=spaces
  case $1 in
    perf_tests/micro/Kinds.cpp | perf_tests/gpu/Heat.cpp | example/particle_exchange/*)
      folder="those apart, a"
      ;;
    perf_tests/micro/Submission.cpp | perf_tests/gpu/PortableModels.cpp | example/simulated/*)
      folder="those apart, b"
      ;;
  esac
  sizes[$folder]=$((${sizes[$folder]:--1} + 1))
  name="$folder, $((sizes[$folder] / 16 + 1))"
  if [[ -v members[$name] ]]; then
    members[$name]+=$'\n'$1
  else
    names+=("$name") members[$name]=$1
  fi
}

count=0
for source in "${sources[@]}"; do
  if left_out "$source"; then continue; fi
  if (($#)); then
    wanted=
    for word in "$@"; do [[ $source != *$word* ]] || wanted=yes; done
    [[ -n $wanted ]] || continue
  fi
  add_to_group "$source"
  count=$((count + 1))
done

begin=$SECONDS failed=0 running=0
for name in "${names[@]}"; do
  if ((running == 2)); then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
  mapfile -t files <<<"${members[$name]}"
  compile "$name" "${files[@]}" &
  running=$((running + 1))
done
for ((; running > 0; running--)); do wait -n || failed=$((failed + 1)); done
echo "nvcc: $count files, ${#names[@]} times started, in $((SECONDS - begin)) s; $failed failed"
((failed == 0))
