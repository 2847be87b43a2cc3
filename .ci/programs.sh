# shellcheck shell=bash
# Part of ./run: examples and benchmarks. Sourced after build.sh.

# run_program KIND NAME ARGUMENTS...: KIND is example or perf.
run_program() {
  local kind=$1 name=${2:-} names
  one_toolchain
  shift $(($# > 1 ? 2 : 1))
  # Configuring tells which programs there are.
  build "$T" "$T" help >/dev/null || { show_log && return 1; }
  names=$(cd "$BUILD/programs/$kind" 2>/dev/null && echo *) || names=none
  if [[ -z $name || ! -f $BUILD/programs/$kind/$name ]]; then
    [[ -z $name || ! -f $BUILD/programs/left_out/$kind/$name ]] ||
      die "$kind $name is left out: $(<"$BUILD/programs/left_out/$kind/$name")"
    [[ -z $name ]] || say "there is no $kind called $name"
    say "./run $kind NAME, one of: $names"
    [[ -z $name ]]
    return
  fi
  choose_ranks "$kind" "$name" "$@"
  shift "$RANKS_WORDS"
  if [[ $kind == perf ]]; then
    run_benchmark "$name" "$@"
  else
    build "$T" "$T" "$name" || return 1
    inside "$T" "${LAUNCHER[@]}" "$BUILD/bin/$name" "$@"
  fi
}

# choose_ranks KIND NAME ARGUMENTS...: sets LAUNCHER to what starts the ranks of this program, which
# is nothing for most, and RANKS_WORDS to the number of arguments that have told how many.
choose_ranks() {
  local kind=$1 name=$2 ranks=2 k share
  shift 2
  RANKS_WORDS=0
  case ${1:-} in
    --ranks) ranks=${2:-} RANKS_WORDS=$(($# > 1 ? 2 : 1)) ;;
    --ranks=*) ranks=${1#*=} RANKS_WORDS=1 ;;
  esac
  mapfile -t LAUNCHER <"$BUILD/programs/$kind/$name"
  if ((${#LAUNCHER[@]} == 0)); then
    ((RANKS_WORDS == 0)) || die "$kind $name does not use MPI: it has no ranks"
    return 0
  fi
  [[ $ranks =~ ^[1-9][0-9]*$ ]] || die "--ranks takes a number of ranks, not '$ranks'" \
    "./run $kind $name --ranks 2 ..."
  for k in "${!LAUNCHER[@]}"; do
    [[ ${LAUNCHER[k]} != RANKS ]] || LAUNCHER[k]=$ranks
  done
  # Each rank would take all cores.
  share=$(($(nproc) / ranks))
  ((share > 0)) || share=1
  export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$share} TRELLIS_WORKERS=${TRELLIS_WORKERS:-$share}
  say "ranks: $ranks, each with TRELLIS_WORKERS=$TRELLIS_WORKERS OMP_NUM_THREADS=$OMP_NUM_THREADS"
}

# run_benchmark NAME ARGUMENTS...: a program that writes out/perf/NAME.json has a script that plots
# it.
run_benchmark() {
  local name=$1 plot=perf_tests/plot/$1.py written=out/perf/$1.json status=0 begin
  shift
  case $name in
    taskbench) add_packages "$T" libstarpu-dev python3-matplotlib ;;
    mpi) add_packages "$T" python3-matplotlib ;;
    micro)
      if [[ ${1:-} == --instructions ]]; then
        shift
        count_instructions "$@"
        return
      fi
      add_packages "$T" python3-matplotlib
      written=out/perf/micro.benchmark.json
      [[ " $*" == *" --benchmark_out="* ]] ||
        set -- --benchmark_out="$written" --benchmark_out_format=json "$@"
      ;;
  esac
  build "$T" "$T" "$name" || return 1
  mkdir -p out/perf
  # In the context of what is written: which sources were measured.
  TRELLIS_COMMIT=${TRELLIS_COMMIT:-$(git -C "$REPO" describe --always --dirty 2>/dev/null)} || true
  [[ -z $TRELLIS_COMMIT ]] || export TRELLIS_COMMIT
  begin=$(mktemp)
  inside "$T" "${LAUNCHER[@]}" "$BUILD/bin/$name" "$@" || status=$?
  if ((status == 0)) && [[ -f $REPO/$plot && -s $written && $written -nt $begin ]]; then
    inside "$T" python3 "$REPO/$plot" "$written" out/perf || say "NOTE: no plots"
  fi
  rm -f "$begin"
  return "$status"
}

# count_instructions [FILTER [OLDER_BINARY]]: of each task in rows of micro.
count_instructions() {
  local filter=${1:-'^(submission_stencil/tiles:10|host_task_writers/accesses:1)/'} old=
  if (($# > 1)); then
    old=$HOME_DIR/tmp/older_micro # where the toolchain sees it
    mkdir -p "${old%/*}"
    { [[ -f $2 ]] && cp "$2" "$old"; } || die "cannot read $2"
  fi
  add_packages "$T" valgrind
  inside "$T" bash -c 'command -v valgrind' >/dev/null || die "valgrind is missing" \
    "Install it, or let a toolchain bring it, without TRELLIS_RUN_EXTRAS=no."
  build "$T" "$T" micro || return 1
  inside "$T" "$REPO/perf_tests/instructions.sh" "$filter" ${old:+"$old"} "$BUILD/bin/micro"
}
