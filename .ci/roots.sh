# shellcheck shell=bash
# Toolchain roots: a Debian 13 with a current Kokkos from Debian unstable, made by mmdebstrap.
# Sourced by ./run after common.sh.
#
# A root is named by the hash of its recipe, so a changed recipe never touches a root that is in
# use; it is made under another name and renamed when complete, so a half-made one is never entered.

ROOTS=$HOME_DIR/roots
SUITE=trixie
CLANG_FORMAT=clang-format-19 # the formatting check is only fixed when this is
CLANG=clang++-19             # what the toolchain serial compiles with
COMMON_PACKAGES="g++ cmake ninja-build ccache libgtest-dev libgmock-dev libbenchmark-dev"
COMMON_PACKAGES+=" nlohmann-json3-dev libspdlog-dev libcli11-dev libhwloc-dev python3"
COMMON_PACKAGES+=" $CLANG_FORMAT"
MEBIBYTES_PER_ROOT=2500 # about 1200 used, and as much again while packages are unpacked
MEBIBYTES_FOR_PACKAGES=2000 # what add_packages may take, while it is being unpacked

toolchain_packages() {
  case $1 in
    openmp) echo libkokkos-dev ;;
    serial)
      echo libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev
      echo "${CLANG/++/}" "libclang-rt-${CLANG##*-}-dev"
      ;;
  esac
}

# Peers of perf_tests/taskbench, and another MPI in each root: one without them is as good.
optional_packages() {
  echo libtaskflow-cpp-dev libtbb-dev libomp5-19
  case $1 in
    openmp) echo openmpi-bin libopenmpi-dev ;;
    serial) echo mpich libmpich-dev ;;
  esac
}

# Only Kokkos comes from unstable; what it needs comes from there only where Debian 13's is too old.
apt_preferences() {
  printf 'Package: *\nPin: release a=unstable\nPin-Priority: 100\n\n'
  printf 'Package: libkokkos* libtrilinos-kokkos*\nPin: release a=unstable\nPin-Priority: 990\n'
}

# libkokkos-dev 5.2.2-2 forgets archives of header-only parts that its CMake files check for. And
# the root's MPI stays the default when a package that comes later (StarPU) brings another one.
mend_root() {
  local config name choice
  for config in "$1"/usr/lib/*/cmake/Kokkos/KokkosTargets-*.cmake; do
    [[ -f $config ]] || continue
    # shellcheck disable=SC2016 # CMake's variable
    sed -n 's|.*"${_IMPORT_PREFIX}\(/[^"]*\.a\)".*|\1|p' "$config" | sort -u |
      while read -r archive; do
        [[ -e $1/usr$archive ]] || chroot "$1" ar rcs "/usr$archive"
      done
  done
  chroot "$1" update-alternatives --get-selections | while read -r name _ choice; do
    [[ $name != mpi* ]] || chroot "$1" update-alternatives --set "$name" "$choice"
  done || true
}

recipe_hash() {
  {
    declare -f toolchain_packages apt_preferences mend_root bootstrap
    echo "$SUITE $COMMON_PACKAGES $(uname -m)"
    toolchain_packages "$1"
    optional_packages "$1"
  } | sha256sum | cut -c 1-12
}

root_of() { printf '%s/%s-%s' "$ROOTS" "$1" "$(recipe_hash "$1")"; }

# The address that this machine's own apt uses for Debian.
debian_mirror() {
  simulated no-mirror && return 0
  # shellcheck disable=SC2016 # apt's variables
  apt-get indextargets --format '$(LABEL) $(REPO_URI)' 2>/dev/null |
    awk '$1 == "Debian" { print $2; exit }'
}

# How this machine's apt reaches its mirror (proxies, checks), for the apt that mmdebstrap runs.
apt_network_options() {
  apt-config dump --no-empty | grep -E '^Acquire::(http|https|ftp|Retries|ForceIPv|Check-)' |
    sed 's/;$//; s/^/--aptopt=/'
}

free_mebibytes() {
  if simulated disk-full; then
    echo 100
  else
    df --output=avail -BM "$HOME_DIR" | tail -n 1 | tr -dc 0-9
  fi
}

# refuse WHAT_IS_MISSING WHAT_TO_DO...: no toolchain can be made here; the caller says so if none is
# there.
refuse() {
  WHY=$1
  ADVICE=("${@:2}" "or install Kokkos >= 4.5 (C++20) and point CMAKE_PREFIX_PATH or Kokkos_ROOT at"
    "it: that needs no root.")
  return 1
}

# check_machine: what making a root needs of this machine.
check_machine() {
  local free
  if simulated no-root || ((EUID != 0)); then
    refuse "not run as root, and CMake finds no Kokkos >= 4.5 on this machine" \
      "Run it as root (it sets up a Debian 13 folder with a current Kokkos, and installs" \
      "mmdebstrap),"
    return
  fi
  if simulated no-apt || [[ ! -x $(command -v apt-get) ]]; then
    refuse "there is no apt-get here, and CMake finds no Kokkos >= 4.5 on this machine" \
      "Run it on Debian, or in a container of it,"
    return
  fi
  free=$(free_mebibytes)
  if ((free < MEBIBYTES_PER_ROOT)); then
    refuse "disk full: $free MiB are free under ${HOME_DIR#"$REPO"/}, a toolchain needs\
 $MEBIBYTES_PER_ROOT MiB" \
      "Free some space (./run clean removes builds and old toolchains)," \
      "or name a folder on another disk: TRELLIS_RUN_HOME=/that/folder ./run ...,"
    return
  fi
  if simulated no-namespace || ! unshare --mount --propagation private true 2>/dev/null; then
    refuse "this machine does not let root make a mount namespace\
 (a container without CAP_SYS_ADMIN?)" \
      "Start the container with that capability,"
    return
  fi
}

# check_mirror: apt knows a mirror of Debian, and mmdebstrap is there.
check_mirror() {
  local log=$HOME_DIR/log/apt.log
  if [[ -z $(debian_mirror) ]] && ! simulated no-mirror; then
    step "read the package lists" "$log" apt-get update || true
  fi
  if [[ -z $(debian_mirror) ]]; then
    refuse "apt on this machine knows no Debian mirror that answers" \
      "Give it one (/etc/apt/sources.list) and check with apt-get update,"
    return
  fi
  [[ -x $(command -v mmdebstrap) ]] && ! simulated no-mmdebstrap && return
  if ! simulated no-mmdebstrap; then
    install_mmdebstrap ||
      { step "read the package lists" "$log" apt-get update && install_mmdebstrap; } || true
  fi
  if simulated no-mmdebstrap || [[ ! -x $(command -v mmdebstrap) ]]; then
    refuse "mmdebstrap is missing and apt cannot install it (log: ${log#"$REPO"/})" \
      "Make apt-get install mmdebstrap work on this machine,"
  fi
}

install_mmdebstrap() {
  step "install mmdebstrap" "$HOME_DIR/log/apt.log" \
    env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends mmdebstrap
}

# bootstrap TOOLCHAIN FOLDER: downloaded packages are kept, so the second root and a rebuild
# download less.
bootstrap() {
  local mirror options packages optional cache=$ROOTS/packages
  mirror=$(debian_mirror)
  mapfile -t options < <(apt_network_options)
  packages="$COMMON_PACKAGES $(toolchain_packages "$1")"
  optional=$(optional_packages "$1")
  optional=${optional//$'\n'/ }
  simulated "no-$1-packages" && packages+=" trellis-simulated-missing-package"
  mkdir -p "$cache"
  apt_preferences >"$2.preferences"
  unshare --mount --propagation private \
    mmdebstrap --mode=root --variant=apt --format=directory "${options[@]}" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='force-unsafe-io' \
    --skip=download/empty --skip=essential/unlink \
    --setup-hook="cp '$2.preferences' \"\$1\"/etc/apt/preferences.d/trellis" \
    --setup-hook="mkdir -p \"\$1\"/var/cache/apt/archives && \
cp -l '$cache'/*.deb \"\$1\"/var/cache/apt/archives/ 2>/dev/null || true" \
    --customize-hook="for packages in '$optional' $optional; do \
chroot \"\$1\" apt-get install -y --no-install-recommends \$packages && \
[ \"\$packages\" = '$optional' ] && break; done; true" \
    --customize-hook="cp -ln \"\$1\"/var/cache/apt/archives/*.deb '$cache'/ || true" \
    --include="${packages// /,}" \
    "$SUITE" "$2" "deb $mirror $SUITE main" "deb $mirror unstable main" ||
    return # set -e is off in here
  rm -f "$2.preferences"
  mend_root "$2"
}

# add_packages TOOLCHAIN PACKAGE...: installs what only few commands need and is too large for every
# root. Whoever asks can do without: what cannot be had is told, and tried again by the next
# command.
add_packages() {
  local toolchain=$1 root package absent=() log=$HOME_DIR/log/root-$1-packages.log fd
  shift
  [[ $toolchain != native && ${TRELLIS_RUN_EXTRAS:-yes} != no ]] || return 0
  root=$(root_of "$toolchain")
  exec {fd}>"$root.packages.lock"
  flock "$fd"
  for package in "$@"; do
    [[ -f $root/trellis-with-$package ]] || absent+=("$package")
  done
  if ((${#absent[@]} == 0)); then
    :
  elif (($(free_mebibytes) < MEBIBYTES_FOR_PACKAGES)); then
    say "NOTE: disk nearly full: going on without ${absent[*]}"
  else
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    step "read the package lists ($toolchain)" "$log" in_root "$toolchain" apt-get update || true
    for package in "${absent[@]}"; do
      if step "install $package ($toolchain)" "$log" in_root "$toolchain" \
        env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "$package"; then
        touch "$root/trellis-with-$package"
      else
        say "NOTE: $package cannot be had today (log: ${log#"$REPO"/}): going on without it"
      fi
    done
    rm -rf --one-file-system "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists
  fi
  flock --unlock "$fd"
}

remove_tree() { rm -rf --one-file-system "$@"; }

# remove_old_roots TOOLCHAIN: those of other recipes, unless some command is still inside.
remove_old_roots() {
  local old
  for old in "$ROOTS/$1"-????????????; do
    [[ -d $old && $old != "$(root_of "$1")" ]] || continue
    if flock --nonblock --exclusive "$old.lock" true; then
      remove_tree "$old"
      rm -f "$old.lock" "$old.packages.lock"
    fi
  done
}

# ensure_root TOOLCHAIN: makes the root if it is not there. Returns 1, with WHY (and perhaps ADVICE)
# set, if it cannot.
ensure_root() {
  local root fd status=0
  root=$(root_of "$1")
  WHY=${WHY_NO_ROOT[$1]:-}
  [[ -z $WHY ]] || return
  # shellcheck disable=SC2034 # for the caller
  ADVICE=()
  mkdir -p "$ROOTS"
  exec {fd}>"$root.lock"
  if ! flock --nonblock --shared "$fd"; then
    say "  waiting for another ./run that sets up the $1 toolchain ..."
    flock --shared "$fd"
  fi
  if [[ ! -f $root/trellis-stamp ]] || simulated "no-$1-packages"; then
    flock --unlock "$fd"
    flock --exclusive "$fd"
    [[ -f $root/trellis-stamp ]] && ! simulated "no-$1-packages" || make_root "$1" "$root" ||
      status=$?
    flock --unlock "$fd"
    # Held while this ./run lives: nobody removes the root meanwhile.
    ((status == 0)) && flock --shared "$fd"
  fi
  return "$status"
}

make_root() {
  local toolchain=$1 root=$2 status=0
  check_machine && check_mirror || return
  before_root "$toolchain" "$root"
  step "set up the $toolchain toolchain (Debian 13, $(toolchain_packages "$toolchain"))" \
    "$HOME_DIR/log/root-$toolchain.log" bootstrap "$toolchain" "$root.making" || status=1
  after_root "$toolchain" "$root" "$status"
}

before_root() {
  remove_old_roots "$1"
  remove_tree "$2.making" "$2"
  rm -f "$HOME_DIR/log/root-$1.log"
}

# after_root TOOLCHAIN ROOT STATUS: bootstrap has ended with this status.
after_root() {
  local toolchain=$1 root=$2
  if (($3 != 0)); then
    remove_tree "$root.making" "$root.making.preferences"
    LOG=$HOME_DIR/log/root-$toolchain.log
    WHY=$(why_failed "$LOG")
    show_log 12
    return 1
  fi
  # Build trees compare this with theirs: the same recipe may give newer packages another day.
  # shellcheck disable=SC2046 # several words
  {
    date --utc +%FT%TZ
    chroot "$root.making" dpkg-query -W $(toolchain_packages "$toolchain")
  } >"$root.making/trellis-stamp" || return
  mv "$root.making" "$root"
}

declare -A WHY_NO_ROOT=() # of toolchains for which this ./run has tried in vain
declare -A BOOTSTRAPS=()  # their statuses
bootstrap_pids=()

# make_roots_at_once TOOLCHAIN...: makes the roots of all of them, if there are several and none is
# there, at the same time: most of the work is one thread's, or waits for the mirror. Where this is
# not possible nothing happens, and ensure_root makes them one by one.
make_roots_at_once() {
  local toolchain root fd fds=() possible=yes
  (($# > 1)) || return 0
  mkdir -p "$ROOTS"
  for toolchain in "$@"; do
    [[ ! -f $(root_of "$toolchain")/trellis-stamp ]] || return 0
  done
  for toolchain in "$@"; do
    root=$(root_of "$toolchain")
    exec {fd}>"$root.lock"
    fds+=("$fd")
    # Another ./run may be making it, or have made it just now.
    if ! flock --nonblock --exclusive "$fd" || [[ -f $root/trellis-stamp ]]; then
      possible=
      break
    fi
  done
  # shellcheck disable=SC2034 # ADVICE is for the caller
  if [[ -z $possible ]] || (($(free_mebibytes) < $# * MEBIBYTES_PER_ROOT)); then
    : # one by one
  elif WHY='' ADVICE=() && check_machine && check_mirror; then
    for toolchain in "$@"; do before_root "$toolchain" "$(root_of "$toolchain")"; done
    step "set up the toolchains $* (Debian 13) at the same time" \
      "$HOME_DIR/log/root-$1.log" bootstrap_all "$@" || true
    for toolchain in "$@"; do
      WHY=''
      after_root "$toolchain" "$(root_of "$toolchain")" "${BOOTSTRAPS[$toolchain]}" ||
        WHY_NO_ROOT[$toolchain]=${WHY:-see ${HOME_DIR#"$REPO"/}/log/root-$toolchain.log}
    done
  else
    for toolchain in "$@"; do WHY_NO_ROOT[$toolchain]=$WHY; done
  fi
  for fd in "${fds[@]}"; do exec {fd}>&-; done
}

# bootstrap_all TOOLCHAIN...: one process for each, with a log of its own; leaves their statuses in
# BOOTSTRAPS. A background process would not get Ctrl-C, so each is a process group that is told.
bootstrap_all() {
  local toolchain failed=0
  bootstrap_pids=()
  trap 'end_bootstraps INT' INT
  trap 'end_bootstraps TERM' TERM
  set -m
  for toolchain in "$@"; do
    bootstrap "$toolchain" "$(root_of "$toolchain").making" \
      >>"$HOME_DIR/log/root-$toolchain.log" 2>&1 </dev/null &
    bootstrap_pids+=($!)
    BOOTSTRAPS[$toolchain]=$!
  done
  set +m
  for toolchain in "$@"; do
    if wait "${BOOTSTRAPS[$toolchain]}"; then
      BOOTSTRAPS[$toolchain]=0
    else
      BOOTSTRAPS[$toolchain]=1 failed=1
    fi
  done
  trap - INT TERM
  return "$failed"
}

# end_bootstraps SIGNAL: passes it on, and ends this shell as the signal would have done.
end_bootstraps() {
  local pid
  trap - INT TERM
  for pid in "${bootstrap_pids[@]}"; do kill -s "$1" -- "-$pid" 2>/dev/null || true; done
  wait "${bootstrap_pids[@]}" || true
  stop_ticker
  kill -s "$1" "$$"
}

why_failed() {
  if grep -q 'No space left' "$1"; then
    echo "the disk is full"
  elif grep -qE 'Could not resolve|Failed to fetch|Could not connect|Connection' "$1"; then
    echo "the mirror does not answer"
  elif grep -qE 'Unable to locate package|no installation candidate' "$1"; then
    echo "the mirror does not have all of its packages today"
  elif grep -qE 'unmet dependencies|held broken packages|unable to satisfy' "$1"; then
    echo "its packages from unstable no longer fit Debian 13"
  else
    echo "see ${1#"$REPO"/}"
  fi
}

# What happens in the namespace before the command.
# shellcheck disable=SC2016 # expands inside
ENTER='
root=$TRELLIS_IN_ROOT
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/tmp"
for folder in "$TRELLIS_IN_REPO" "$TRELLIS_IN_HOME" ${TRELLIS_RUN_CACHE:+"$TRELLIS_RUN_CACHE"}; do
  case $folder/ in "$TRELLIS_IN_REPO"/?*) continue ;; esac # the repository brings it along
  mkdir -p "$root$folder"
  mount --bind "$folder" "$root$folder"
done
cd "$root$TRELLIS_IN_PWD" 2>/dev/null || TRELLIS_IN_PWD=$TRELLIS_IN_REPO
# What speaks of compilers and libraries outside means nothing inside.
unset LD_LIBRARY_PATH LD_PRELOAD CMAKE_PREFIX_PATH Kokkos_ROOT Kokkos_DIR CC CXX CFLAGS CXXFLAGS \
  LDFLAGS TMPDIR CPATH LIBRARY_PATH CMAKE_TOOLCHAIN_FILE PYTHONPATH PYTHONHOME
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8 CMAKE_GENERATOR=Ninja
exec chroot "$root" /bin/bash -c "
  cd \"\$TRELLIS_IN_PWD\"
  unset TRELLIS_IN_ROOT TRELLIS_IN_REPO TRELLIS_IN_HOME TRELLIS_IN_PWD
  exec \"\$@\"
" bash "$@"
'

# in_root TOOLCHAIN COMMAND...: runs a command inside, in the current folder, the repository at its
# own path. All mounts live in a namespace that ends with the command: one that outlived it would
# let a later `rm -rf` of the root reach the repository itself.
in_root() {
  local root
  root=$(root_of "$1")
  shift
  TRELLIS_IN_ROOT=$root TRELLIS_IN_REPO=$REPO TRELLIS_IN_HOME=$HOME_DIR TRELLIS_IN_PWD=$PWD \
    unshare --mount --propagation private bash -euc "$ENTER" bash "$@"
}
