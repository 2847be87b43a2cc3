# shellcheck shell=bash
# Part of ./run: which toolchain a command uses, and building in it. Sourced after roots.sh.

# Does CMake on this machine find a suitable Kokkos? Takes a fraction of a second.
has_native() {
  local options=() folder status=0
  [[ -x $(command -v cmake) ]] || return 1
  if [[ -x $(command -v ninja) ]]; then options=(-G Ninja); fi
  folder=$(mktemp -d)
  cmake -S "$REPO/.ci/probe" -B "$folder" "${options[@]}" >"$HOME_DIR/log/probe.log" 2>&1 ||
    status=1
  remove_tree "$folder"
  return "$status"
}

# choose_toolchains WANTED...: sets TOOLCHAINS to those that are ready; SAID tells what is missing.
choose_toolchains() {
  local toolchain
  TOOLCHAINS=() SAID=
  if [[ -z $TOOLCHAIN ]] && has_native; then TOOLCHAIN=native; fi
  if [[ $TOOLCHAIN == native ]]; then
    has_native || die "CMake finds no Kokkos >= 4.5 on this machine." \
      "What it says is in ${HOME_DIR#"$REPO"/}/log/probe.log." \
      "Point CMAKE_PREFIX_PATH or Kokkos_ROOT at one," \
      "or leave --toolchain native out: ./run then sets one up."
    say "toolchain native: $(grep -o 'Kokkos [0-9].*' "$HOME_DIR/log/probe.log")"
    TOOLCHAINS=(native)
    return
  fi
  [[ -z $TOOLCHAIN ]] || set -- "$TOOLCHAIN"
  make_roots_at_once "$@"
  for toolchain in "$@"; do
    if ensure_root "$toolchain"; then
      TOOLCHAINS+=("$toolchain")
    else
      SAID+="the toolchain $toolchain ($(toolchain_packages "$toolchain")) cannot be had: "
      SAID+="$WHY."$'\n'
    fi
  done
}

no_toolchain() {
  ((${#ADVICE[@]} == 0)) || die "$WHY." "${ADVICE[@]}"
  SAID=${SAID%$'\n'}
  die "no toolchain can be set up." "${SAID//$'\n'/$'\n  '}" \
    "Try again another day (Debian unstable moves; logs: ${HOME_DIR#"$REPO"/}/log/)," \
    "or install Kokkos >= 4.5 (C++20) and point CMAKE_PREFIX_PATH or Kokkos_ROOT at it."
}

# one_toolchain: sets T to openmp, or else to serial, or to the one that was asked for.
one_toolchain() {
  choose_toolchains openmp
  if ((${#TOOLCHAINS[@]} == 0)) && [[ -z $TOOLCHAIN ]]; then
    local missing=$SAID
    choose_toolchains serial
    SAID=$missing$SAID
  fi
  ((${#TOOLCHAINS[@]})) || no_toolchain
  T=${TOOLCHAINS[0]}
  [[ -z $SAID ]] || say "NOTE: ${SAID}NOTE: going on with the toolchain $T."
}

# inside TOOLCHAIN COMMAND...
inside() {
  if [[ $1 == native ]]; then "${@:2}"; else in_root "$@"; fi
}

# Packages that came after CMake had looked? (Its cache is as old as what it found.)
has_new_packages() {
  local stamp
  [[ $1 != native ]] || return 1
  for stamp in "$(root_of "$1")"/trellis-with-*; do
    [[ ! -f $stamp || $BUILD/run-stamp -nt $stamp ]] || return 0
  done
  return 1
}

# build TOOLCHAIN PRESET [TARGET...]: sets BUILD. The Release preset of a toolchain has its name.
# The tree is made anew when the toolchain is another one.
build() {
  local toolchain=$1 preset=$2 fd stamp options=() status=0
  shift 2
  BUILD=$HOME_DIR/build/$toolchain
  [[ $preset == "$toolchain" ]] || BUILD+=-$preset
  if [[ $toolchain == native && $# -gt 0 && $1 != trellis_* && $1 != *test* ]]; then
    BUILD+=-programs # a machine without GoogleTest can still run the demo
    options+=(-DTrellis_ENABLE_TESTS=OFF)
  fi
  mkdir -p "$BUILD"
  exec {fd}>"$BUILD.lock"
  if ! flock --nonblock "$fd"; then
    say "  waiting for another ./run that builds here ..."
    flock "$fd"
  fi
  stamp=native
  [[ $toolchain == native ]] || stamp=$(cat "$(root_of "$toolchain")/trellis-stamp")
  if [[ -f $BUILD/run-stamp && $(<"$BUILD/run-stamp") != "$stamp" ]]; then
    say "  the toolchain has changed: building anew"
    remove_tree "$BUILD"
  fi
  mkdir -p "$BUILD"
  if [[ ! -f $BUILD/build.ninja && ! -f $BUILD/Makefile ]] ||
    [[ $REPO/CMakePresets.json -nt $BUILD/run-stamp ]] || has_new_packages "$toolchain"; then
    if [[ $toolchain != native || -x $(command -v ninja) ]]; then options+=(-G Ninja); fi
    if [[ $toolchain != native || -x $(command -v ccache) ]]; then
      options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    # The thread sanitizer of GCC is a shared library, which lets tests have an `operator new`, and
    # it takes half of the time.
    [[ $toolchain != serial || $preset == tsan ]] || options+=("-DCMAKE_CXX_COMPILER=$CLANG")
    step "configure ($toolchain, $preset)" "$HOME_DIR/log/build-${BUILD##*/}.log" \
      inside "$toolchain" cmake --preset "$preset" -S "$REPO" -B "$BUILD" "${options[@]}" ||
      status=1
    printf '%s\n' "$stamp" >"$BUILD/run-stamp"
  fi
  if ((status == 0)); then
    touch "$BUILD/run-begin"
    step "build ($toolchain, $preset${1:+, $*})" "$HOME_DIR/log/build-${BUILD##*/}.log" \
      inside "$toolchain" cmake --build "$BUILD" --parallel "$(nproc)" ${1:+--target "$@"} ||
      status=1
    note_compile_times "$preset"
  fi
  flock --unlock "$fd"
  ((status == 0)) || show_log
  return "$status"
}

# note_compile_times PRESET: what ninja has compiled in $BUILD since run-begin; its log has
# milliseconds and, in nanoseconds, when each file was written.
note_compile_times() {
  [[ -f $BUILD/.ninja_log ]] || return 0
  awk -F '\t' -v begin="$(stat -c %Y "$BUILD/run-begin")" -v preset="$1" \
    '$4 ~ /[.](o|gch)$/ && $3 / 1e9 >= begin {
      sub(/CMakeFiles\//, "", $4); sub(/[.]dir/, "", $4)
      printf "compile\t%.1f\t%s: %s\n", ($2 - $1) / 1000, preset, $4
    }' "$BUILD/.ninja_log" >>"$TIMES"
}
