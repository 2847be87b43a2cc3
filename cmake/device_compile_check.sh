#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Does a GPU's compiler accept what a program for that GPU is made of, with its backend switched on
# in Kokkos? Compiles, never links, so it needs the compiler but no GPU. The Kokkos headers are those
# of the openmp toolchain, with small configuration headers in front that switch the backend on.
#
#   cmake/device_compile_check.sh cuda            with nvcc, for sm_90: the library and, of tests
#                                                 and programs, one file for each pattern and feature
#   cmake/device_compile_check.sh hip             with hipcc, for gfx90a: the spaces, the library and
#                                                 the typed tests of devices: nvcc has compiled the
#                                                 rest, which knows no backend
#   cmake/device_compile_check.sh cuda all        every file
#   cmake/device_compile_check.sh cuda WORD ...   of all files those whose names have one of these
#                                                 words in them
#
# Two compilers at a time, for they take much memory; without optimising, which finds no mistakes.
# Most of the time goes to the headers of Kokkos, so the files of a folder are compiled as one, and
# one by one where that fails: it tells which file it is, and some files cannot be together.
set -uo pipefail
shopt -s extglob
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
repo=$PWD
home=${TRELLIS_RUN_HOME:-$repo/.trellis}

backend=${1:-}
case $backend in
  cuda) name=Cuda compiler=nvcc place=/usr/local/cuda/bin most_together=16 ;;
  hip) name=HIP compiler=hipcc place=/opt/rocm/bin most_together=4 ;;
  *) echo "cmake/device_compile_check.sh cuda|hip [all|WORD ...], not '$backend'" && exit 2 ;;
esac
shift
# Every file's name has a dot.
[[ ${1:-} != all ]] || set -- .

command=$(command -v "$compiler" || echo "$place/$compiler")
if [[ ! -x $command ]]; then
  echo "no $compiler here (neither on the PATH nor in $place): no $name code is compiled"
  exit 0
fi
root=
[[ -f /trellis-stamp ]] || root=$(find "$home"/roots/ -maxdepth 1 -type d \
  -name 'openmp-*' ! -name '*.making' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)
headers=$root/usr/include/kokkos
if [[ ! -f $headers/KokkosCore_config.h ]]; then
  echo "no openmp toolchain here, so no Kokkos headers to compile with: no $name code is compiled"
  exit 0
fi

work=$home/build/compile-$backend
mkdir -p "$work" && exec 9>"$work.lock" && flock 9
rm -rf "$work"
config=$work/config
mkdir -p "$config/desul/atomics" "$config/HIP" "$work/others" "$work/generated" "$work/out"

# configure BACKEND HOST DEFINITION...: a Kokkos with these two spaces.
configure() {
  local backend=$1 host=$2 space
  shift 2
  sed -e "s,/\* #undef KOKKOS_ENABLE_\($backend\|$host\) \*/,#define KOKKOS_ENABLE_\1," \
    -e '/KOKKOS_IMPL_BUILD_SHARED_LIBS/d' "$headers/KokkosCore_config.h" \
    >"$config/KokkosCore_config.h"
  [[ $host == OPENMP ]] || sed -i '/define KOKKOS_ENABLE_OPENMP/d' "$config/KokkosCore_config.h"
  printf '#define %s\n' "$@" >>"$config/KokkosCore_config.h"
  sed -e "s,/\* #undef DESUL_ATOMICS_ENABLE_$backend \*/,#define DESUL_ATOMICS_ENABLE_$backend," \
    -e '/DESUL_IMPL_BUILD_SHARED_LIBS/d' "$headers/desul/atomics/Config.hpp" \
    >"$config/desul/atomics/Config.hpp"
  for space in "$host" "$backend"; do
    echo "#include <decl/Kokkos_Declare_$space.hpp>" >>"$config/KokkosCore_Config_DeclareBackend.hpp"
    echo "#include <fwd/Kokkos_Fwd_$space.hpp>" >>"$config/KokkosCore_Config_FwdBackend.hpp"
  done
  echo "#include <setup/Kokkos_Setup_$name.hpp>" >"$config/KokkosCore_Config_SetupBackend.hpp"
}

case $backend in
  cuda)
    configure CUDA OPENMP KOKKOS_ARCH_HOPPER KOKKOS_ARCH_HOPPER90
    options=(-arch=sm_90 --extended-lambda --expt-relaxed-constexpr -x cu
      -Xcicc -O0 -Xptxas -O0 -Xcompiler "-fopenmp,-fsyntax-only")
    ;;
  hip)
    # Serial: Debian's hipcc brings no OpenMP.
    configure HIP SERIAL KOKKOS_ARCH_VEGA90A KOKKOS_ARCH_AMD_GFX90A 'KOKKOS_ARCH_AMD_GPU "gfx90a"'
    options=(--offload-arch=gfx90a -x hip -O0)
    # Kokkos 5 wants ROCm 6.2. The HIP 5.7 of Debian 13 lacks only the arithmetic of its type for
    # bfloat16: there Kokkos takes float for the 16-bit numbers, as on a host.
    echo '#include <hip/hip_version.h>
#if HIP_VERSION_MAJOR < 6
#undef KOKKOS_IMPL_HALF_TYPE_DEFINED
#undef KOKKOS_IMPL_BHALF_TYPE_DEFINED
#undef KOKKOS_HALF_IS_FULL_TYPE_ON_ARCH
#endif' >>"$config/KokkosCore_Config_SetupBackend.hpp"
    echo '#ifdef KOKKOS_IMPL_BHALF_TYPE_DEFINED
#include_next <HIP/Kokkos_HIP_Half_Impl_Type.hpp>
#endif' >"$config/HIP/Kokkos_HIP_Half_Impl_Type.hpp"
    ;;
esac

# Other libraries' headers, each by itself: the toolchain's C library is not this machine's.
for library in gtest gmock CLI nlohmann benchmark; do
  for folder in "$root"/usr/include/$library \
    "$root"/usr/src/googletest/google{test,mock}/include/$library; do
    [[ ! -d $folder ]] || ln -sfn "$folder" "$work/others/$library"
  done
done

# The MPI of the toolchain, where there is one.
mpi=$(find "$root"/usr/lib/*/openmpi/include "$root"/usr/include/*/mpich -maxdepth 1 -name mpi.h \
  -printf '%h\n' 2>/dev/null | head -n 1)

# What includes Kokkos in the folders of the library and of the programs. The other spaces' adapters
# are compiled too: a program for a GPU has them.
mapfile -t sources < <(
  echo cmake/templates/device_check.cpp
  folders="spaces policies"
  [[ $backend == hip && $# == 0 ]] || folders+=" example perf_tests"
  for folder in $folders; do find "$folder" -name '*.cpp' | sort; done
)
# Not here, and why.
left_out() {
  case $1 in
    # No Kokkos in them, or no call of it: these parts of the programs are the same for every
    # Kokkos, and every other build compiles them.
    example/access_table/* | example/heat/Options.cpp | example/heat/Picture.cpp | \
      example/heat/Recording.cpp | example/heat/Report.cpp | example/heat_ranks/Options.cpp | \
      example/heat_ranks/Report.cpp | example/cg_ranks/Options.cpp | example/cg_ranks/Plot.cpp | \
      example/cg_ranks/Report.cpp | example/particles/Claims.cpp | \
      example/particles/Measure.cpp | example/particles/Options.cpp | \
      example/particles/Report.cpp | example/shared/* | \
      perf_tests/taskbench/Edges.cpp | \
      perf_tests/taskbench/Kernel.cpp | perf_tests/taskbench/Pattern.cpp) return 0 ;;
    # Other libraries' tasks, on the host; their headers are not among those above.
    perf_tests/taskbench/models/OpenMPRuntime.cpp | perf_tests/taskbench/models/StarPU.cpp | \
      perf_tests/taskbench/models/Taskflow.cpp | perf_tests/taskbench/models/TBB.cpp) return 0 ;;
    # One stands for the other where there is no CUDA.
    perf_tests/gpu/NoCudaModels.cpp) [[ $backend == cuda ]] ;;
    perf_tests/gpu/CudaModels.cpp) [[ $backend != cuda ]] ;;
    # Kokkos Kernels and LAPACKE are not there.
    example/conjugate_gradient/* | example/cholesky/* | example/template/kernels.cpp | \
      policies/kernels/src/*) return 0 ;;
    # Tests of tables and patterns, and what is compiled to see how long it takes, on the host.
    perf_tests/*/tests/* | perf_tests/compile/*) return 0 ;;
    policies/mpi/*) [[ -z $mpi ]] ;;
    *) [[ -z $mpi ]] && grep -qE '#include <(mpi[.]h|mpi/.*|Trellis_Mpi.*)>' "$1" ;;
  esac
}

# What stands for the rest: the same constructs as in the files that are left to `all`.
stands_for_others() {
  case ${1#"$work"/generated/} in
    # The sources of fields and of messages are the host's: one of each.
    policies/fields/src/* | policies/mpi/src/*)
      [[ $1 == */@(Trellis_ModelIteration|Trellis_Message).cpp ]]
      ;;
    cmake/* | spaces/* | policies/*) return 0 ;; # the library
    unit_tests/spaces/device/*) return 0 ;;      # each pattern
    perf_tests/gpu/*) return 0 ;;                # calls of CUDA itself
    # Views as arguments, lists, batches of fused kernels, teams, memory traits.
    unit_tests/*/@(TestViewArguments|TestListArguments|TestFusedKernels|TestTeams|TestMemoryTraits)_*)
      return 0
      ;;
    # Futures, plans, children, scans and sorting, per-worker memory, fields and placement, worklets
    # and models of them, resources of the user's, messages.
    example/@(quick_start|heat|jacobi_plan|fork_join|continuations|counting_sort|random_walk)/* | \
      example/@(fields|transport|threshold|isosurface|own_resource|particles)/*) return 0 ;;
    *) return 1 ;;
  esac
}

# The typed tests, as TrellisTests.cmake generates them: the files after a SPACE_SOURCES.
lists=(unit_tests/*/CMakeLists.txt unit_tests/*/*/CMakeLists.txt)
[[ $backend != hip || $# != 0 ]] || lists=(unit_tests/spaces/device/CMakeLists.txt)
for list in "${lists[@]}"; do
  mapfile -t typed < <(tr -s ' ()\n' '\n' <"$list" |
    awk '$0 == "SPACE_SOURCES" { on = 1; next } !/[.]cpp$/ { on = 0 } on')
  for source in "${typed[@]}"; do
    generated=$work/generated/$(dirname "$list")/${source%.cpp}_$name.cpp
    mkdir -p "${generated%/*}"
    sed -e "s|@space@|$name|" -e "s|@PROJECT_SOURCE_DIR@|$repo|" \
      -e "s|@source@|$repo/$(dirname "$list")/$source|" \
      cmake/templates/space_test.cpp.in >"$generated"
    sources+=("$generated")
  done
done

# What has been compiled is not compiled again until one of its files differs: a record has their
# hashes. Compilers' caches know neither -cuda nor what stops in front of the host's compiler.
records=${TRELLIS_RUN_CACHE:-$home/ccache}/compiled
mkdir -p "$records"
find "$records" -type f -mtime +30 -delete
version=$("$command" --version)

# run_compiler SOURCE: the messages are in the file that MESSAGES names, and SAID tells whether the
# compiler ran. MODE is -c, or for most
# tests and benchmarks, where nvcc is the compiler, -cuda: it stops in front of the compiler of the
# host, which has had them in every other build. What nvcc makes for the host of the library and of
# the examples is compiled: that may be wrong where nvcc takes braces away.
MODE=-c
run_compiler() {
  local object=$work/out/${1//\//_}.o record status=0
  local call=("$command" -std=c++20 "${options[@]}" "$MODE" "$1" -o "$object"
    -I "$config" -isystem "$headers" -isystem "$work/others"
    ${mpi:+-isystem "$mpi" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX} -I core
    -I spaces -I policies -I policies/fields -I policies/worklets -I policies/mpi
    -I unit_tests/support -I perf_tests/taskbench -I .)
  MESSAGES=$object.log
  record=$records/$( (echo "$version" "${call[@]}" && cat "$1") | sha256sum | cut -c 1-32)
  if sha256sum --check --status "$record" 2>/dev/null; then
    touch "$record"
    SAID="as before"
    return
  fi
  SAID=compiled
  "${call[@]}" -MD -MF "$object.d" >"$MESSAGES" 2>&1 || status=$?
  if ((status == 0)); then
    # One file a word, after the name of what depends on them.
    sed -e 's/^[^:]*://' -e 's/\\$//' "$object.d" | tr -s ' ' '\n' | sed '/^$/d' | sort -u |
      tr '\n' '\0' | xargs -0 sha256sum >"$record.new" && mv "$record.new" "$record"
  fi
  rm -f "$object"
  return "$status"
}

# compile_alone SOURCE
compile_alone() {
  local begin=$SECONDS status=0
  run_compiler "$1" || status=1
  echo "$compiler: ${1#"$work"/generated/}: $( ((status)) && echo FAILED || echo "$SAID")" \
    "($((SECONDS - begin)) s)"
  ((status == 0)) || cat "$MESSAGES"
  return "$status"
}

# compile NAME SOURCE...: those that have a main get others of their own.
compile() {
  local name=$1 together=$work/generated/together_${1//[^a-zA-Z0-9]/_}.cpp
  local begin=$SECONDS status=0 source number=0
  shift
  [[ $backend != cuda || ${1#"$work"/generated/} != @(perf_tests|unit_tests)/* ||
    $1 == */unit_tests/@(spaces/device|policies/patterns)/* ]] || MODE=-cuda
  if (($# > 1)); then
    for source in "$@"; do
      number=$((number + 1))
      printf '#define main main_of_%s\n#include "%s"\n#undef main\n' "$number" "$source"
    done >"$together"
    if run_compiler "$together"; then
      echo "$compiler: $# files of $name: $SAID ($((SECONDS - begin)) s)"
      return
    fi
    echo "$compiler: $# files of $name: not together ($((SECONDS - begin)) s), one by one:" \
      "$(grep -m 1 -i error "$MESSAGES")"
  fi
  for source in "$@"; do compile_alone "$source" || status=1; done
  return "$status"
}

# The groups: the files of one folder, so many at most, but for those that have names in common with
# their neighbours.
declare -A sizes members
groups=()
add_to_group() {
  local folder=${1%/*} group
  folder=${folder#"$work"/generated/} # the typed tests
  [[ $1 != example/* || $1 == example/figures/* ]] || folder=example
  [[ $1 != spaces/* ]] || folder=spaces
  case $1 in
    perf_tests/micro/Kinds.cpp | perf_tests/gpu/Heat.cpp | example/unstructured/*)
      folder="those apart, a"
      ;;
    perf_tests/micro/Submission.cpp | example/simulated/* | example/random_walk/* | example/heat/*)
      folder="those apart, b"
      ;;
    perf_tests/gpu/PortableModels.cpp) folder="Kokkos' own graphs" ;;
    */worklets/TestMaps*) folder="unit_tests/policies/worklets, apart" ;;
    example/heat_ranks/* | example/cg_ranks/* | example/particles/* | example/threshold/* | \
      example/tutorial/*)
      folder=${1%/*}
      ;;
  esac
  sizes[$folder]=$((${sizes[$folder]:--1} + 1))
  group="$folder, $((sizes[$folder] / most_together + 1))"
  if [[ -v members[$group] ]]; then
    members[$group]+=$'\n'$1
  else
    groups+=("$group") members[$group]=$1
  fi
}

# What takes longest comes first, so that no compiler is left over at the end.
mapfile -t sources < <(printf '%s\n' "${sources[@]}" |
  awk '{ print (/\/worklets\/Test/ ? 0 : 1) "\t" $0 }' | sort --stable --key=1,1n | cut -f 2)
count=0
for source in "${sources[@]}"; do
  if left_out "$source"; then continue; fi
  if [[ $backend == cuda && $# == 0 ]] && ! stands_for_others "$source"; then continue; fi
  if (($#)); then
    wanted=
    for word in "$@"; do [[ $source != *$word* ]] || wanted=yes; done
    [[ -n $wanted ]] || continue
  fi
  add_to_group "$source"
  count=$((count + 1))
done

begin=$SECONDS failed=0 running=0
for group in "${groups[@]}"; do
  if ((running == 2)); then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
  mapfile -t files <<<"${members[$group]}"
  compile "$group" "${files[@]}" &
  running=$((running + 1))
done
for ((; running > 0; running--)); do wait -n || failed=$((failed + 1)); done
echo "$compiler: $count files, ${#groups[@]} times started, in $((SECONDS - begin)) s; $failed failed"
((failed == 0))
