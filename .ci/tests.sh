# shellcheck shell=bash
# Part of ./run: tests, and tests under sanitizers. Sourced after build.sh.
# shellcheck disable=SC2153 # TOOLCHAINS: choose_toolchains sets it

# run_ctest TOOLCHAIN NAME ARGUMENTS...: ctest's output is shown as it comes and kept; fails if a
# test fails.
run_ctest() {
  local toolchain=$1 name=$2 log=$HOME_DIR/log/test-$2.log status=0 begin
  shift 2
  begin=$(now)
  inside "$toolchain" ctest --test-dir "$BUILD" --output-on-failure --no-tests=error \
    --parallel "$(nproc)" "$@" </dev/null 2>&1 | tee "$log" || status=1
  note_time stage "$(($(now) - begin))" "run the tests ($name)"
  sed -nE "s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/test\t\2\t$name: \1/p" \
    "$log" >>"$TIMES"
  note_result "$name" \
    "$(sed -n 's/.* \([0-9]*\) tests failed out of \([0-9]*\).*/\1 \2/p' "$log" | tail -n 1)"
  return "$status"
}

# note_result NAME "FAILED ALL": nothing in place of numbers means that it did not come to testing.
note_result() {
  local failed=1 all=1
  [[ -z $2 ]] || read -r failed all <<<"$2"
  [[ -z ${TRELLIS_RUN_RESULTS:-} ]] || echo "$1 $((all - failed)) $failed" >>"$TRELLIS_RUN_RESULTS"
}

run_test() {
  local t status=0 closing='' targets=() only=()
  choose_toolchains openmp serial
  ((${#TOOLCHAINS[@]})) || no_toolchain
  for t in "${TOOLCHAINS[@]}"; do
    say
    say "==== tests on $t"
    if ! build "$t" "$t" "${targets[@]}"; then
      status=1
      note_result "$t" ""
      closing+=$'\n'"---- $t: does not build (log: ${LOG#"$REPO"/})"$'\n'
      continue
    fi
    run_ctest "$t" "$t" "${only[@]}" "$@" || status=1
    ((${#only[@]} == 0)) || closing+=$'\n'"(on $t all test programs, but not the examples and\
 benchmarks: ./run --toolchain $t test runs everything)"
    # The rest once is enough, and the sanitizers run most of it again, unless certain tests are
    # wanted.
    if (($# == 0)); then
      targets=(trellis_toolchain_tests) only=(--label-regex '^(toolchain|compile_fail)$')
    fi
    closing+=$'\n'"---- $t"$'\n'
    closing+=$(sed -n '/tests passed,\|^No tests/,$p' "$HOME_DIR/log/test-$t.log")$'\n'
  done
  say
  say "==== summary$closing"
  show_times "$TIMES"
  [[ -z $SAID ]] || say "NOTE: ${SAID}NOTE: tested on ${TOOLCHAINS[*]} only."
  if ((status)); then say "FAILED"; else say "passed on: ${TOOLCHAINS[*]}"; fi
  return "$status"
}

# The loop for work on the engine: what does not touch Kokkos is quick to build and to run. Of
# random programs a tenth will do.
run_quick() {
  local names
  export TRELLIS_TEST_DIVISOR=${TRELLIS_TEST_DIVISOR:-10}
  one_toolchain
  if (($# == 0)); then
    build "$T" "$T" trellis_core_tests && run_ctest "$T" "$T" --label-regex '^core$'
  else
    printf -v names '%s|' "$@"
    build "$T" "$T" "$@" &&
      run_ctest "$T" "$T" --tests-regex "^(${names%|})([.].+)?\$"
  fi
}

run_sanitize() {
  local status=0 which asked=${1:-address thread}
  # Without a sanitizer all random programs run.
  export TRELLIS_TEST_DIVISOR=${TRELLIS_TEST_DIVISOR:-2}
  for which in $asked; do
    say
    say "==== $which sanitizer"
    case $which in
      address) sanitize_address || status=1 ;;
      thread) sanitize_thread || status=1 ;;
      *) die "there is no sanitizer run called $which" "./run sanitize [address|thread]" ;;
    esac
  done
  return "$status"
}

sanitize_address() {
  one_toolchain
  build "$T" asan+ubsan trellis_memory_tests || { note_result asan+ubsan "" && return 1; }
  UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_stack_use_after_return=1 \
    run_ctest "$T" asan+ubsan --label-regex '^memory$'
}

# The test's own line tells programs, seconds, programs in a second and failures.
run_soak() {
  local count=${1:-100000} wanted=$TOOLCHAIN
  [[ $count =~ ^[1-9][0-9]*$ ]] || die "soak takes a number of programs, not '$count'"
  if [[ -n $wanted ]]; then one_toolchain; else
    choose_toolchains serial
    if ((${#TOOLCHAINS[@]})); then T=${TOOLCHAINS[0]}; else one_toolchain; fi
  fi
  build "$T" "$T" test_products || return 1
  TRELLIS_TEST_SEEDS=$count inside "$T" "$BUILD/bin/test_products" \
    --gtest_filter='Products.RandomPrograms*'
}

# On the serial toolchain: GCC's OpenMP runtime is not instrumented.
sanitize_thread() {
  local wanted=$TOOLCHAIN
  choose_toolchains serial
  TOOLCHAIN=$wanted
  if ((${#TOOLCHAINS[@]} == 0)); then
    say "NOTE: ${SAID}NOTE: no thread sanitizer run without it."
    return 0
  fi
  T=${TOOLCHAINS[0]}
  build "$T" tsan trellis_concurrent_tests || { note_result tsan "" && return 1; }
  # Address randomisation of newer kernels leaves no room for the sanitizer's shadow memory. What
  # MPI's libraries do in their signal handlers while they start is their business.
  local said="halt_on_error=1 second_deadlock_stack=1 report_signal_unsafe=0"
  TSAN_OPTIONS="$said suppressions=$REPO/.ci/tsan.supp" \
    run_ctest "$T" tsan --label-regex '^concurrent$'
}
