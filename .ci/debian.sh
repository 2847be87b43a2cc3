# shellcheck shell=bash
# Part of ./run: the Debian package of cmake/packages/debian, built, checked by lintian, installed
# and tried. Sourced after build.sh.

DEBIAN=cmake/packages/debian

# A root of its own: it has what the package says that it needs and no more, and what is installed
# there is in nobody's way.
use_debian_root() {
  local needed
  needed=$(awk '/^[^ ]/ { on = 0 } sub(/^Build-Depends: /, "") { on = 1 } on' \
    "$REPO/$DEBIAN/control" | sed -E 's/[(][^)]*[)]|<[^>]*>//g' | tr -s ',\n ' ' ')
  # shellcheck disable=SC2034 # roots.sh uses it
  COMMON_PACKAGES="build-essential ccache lintian ${needed% }"
  # shellcheck disable=SC2317,SC2329 # roots.sh calls it
  toolchain_packages() { echo libkokkos-dev; }
  # shellcheck disable=SC2317,SC2329 # roots.sh calls it
  optional_packages() { :; }
}

# The files of the next commit; without git, all that are no results of builds.
release_files() {
  git -C "$REPO" ls-files -z --cached --others --exclude-standard 2>/dev/null ||
    (cd "$REPO" && find . -regex '[.]/\([.]git\|[.]trellis\|out\|build\)' -prune -o -type f \
      -printf '%P\0')
}

# make_source FOLDER: the tarball of the release and the unpacked source, in a folder whose name
# never changes, as the compilers' cache knows files by their paths. Sets SOURCE.
make_source() {
  local version time
  version=$(sed -n '1s/^trellis (\(.*\)-[^-]*).*/\1/p' "$REPO/$DEBIAN/changelog")
  time=$(date -d "$(sed -n 's/^ -- .*>  //p' "$REPO/$DEBIAN/changelog" | head -n 1)" +%s)
  SOURCE=$1/trellis-$version
  remove_tree "$1"
  mkdir -p "$SOURCE"
  release_files | (cd "$REPO" && while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\0' "$file"
  done) | LC_ALL=C sort -z | tar --create --xz --file "$1/trellis_$version.orig.tar.xz" \
    --directory "$REPO" --null --files-from - --transform "s|^|trellis-$version/|S" \
    --owner 0 --group 0 --numeric-owner --mode go=rX,u+rw --mtime "@$time" &&
    tar --extract --file "$1/trellis_$version.orig.tar.xz" --directory "$1" &&
    cp -r "$SOURCE/$DEBIAN" "$SOURCE/debian"
}

# build_packages OPTIONS: of DEB_BUILD_OPTIONS; `nocheck` leaves the tests out.
build_packages() {
  cd "$SOURCE" || return
  DEB_BUILD_OPTIONS="parallel=$(nproc) $1" in_root debian \
    dpkg-buildpackage --unsigned-source --unsigned-changes
}

# lintian_packages FOLDER: no bug of Debian's asks for this package yet, so its changelog closes
# none.
lintian_packages() {
  cd "$1" || return
  # shellcheck disable=SC2016 # expands inside
  in_root debian bash -c 'lintian --allow-root --fail-on error,warning --show-overrides \
    --tag-display-limit 0 --suppress-tags initial-upload-closes-no-bugs *.changes'
}

# try_packages FOLDER: the packages' own tests, outside the tree, with the packages installed. The
# program of the README comes first, with no more installed than it needs. At the end nothing may be
# left of them.
try_packages() {
  local status=0
  cd "$1" || return
  purge_packages &&
    install_packages libtrellis[0-9]*.deb libtrellis-dev_*.deb libtrellis-doc_*.deb &&
    try_program readme && install_packages ./*.deb && try_program template || status=1
  purge_packages || status=1
  return "$status"
}

# Elsewhere the root does without pages, but the README and the project to copy are among these.
install_packages() {
  in_root debian dpkg --path-include='/usr/share/doc/libtrellis*' \
    --path-include='/usr/share/doc/trellis*' --install "$@"
}

# try_program NAME: of debian/tests.
try_program() {
  echo "==== $1"
  # shellcheck disable=SC2016 # expands inside
  in_root debian bash -euc 'unset CMAKE_GENERATOR; export AUTOPKGTEST_TMP=/tmp/trellis
    mkdir /tmp/trellis; "$0"' "$SOURCE/debian/tests/$1"
}

purge_packages() {
  # shellcheck disable=SC2016 # expands inside
  in_root debian bash -c '
    packages=$(dpkg-query -W -f "\${Package}\n" | grep -E "^(lib)?trellis" || true)
    [[ -z $packages ]] || dpkg --purge $packages || exit
    left=$(find /usr /etc /var/lib -path "$0" -prune -o -path "$1" -prune -o -name "*trellis*" \
      ! -path /etc/apt/preferences.d/trellis -print)
    [[ -z $left ]] || { printf "left behind:\n%s\n" "$left" && exit 1; }' \
    "$REPO" "$HOME_DIR"
}

run_package() {
  local options="nocheck noautodbgsym" status=0 fd
  local folder=$HOME_DIR/build/debian log=$HOME_DIR/log/debian.log
  case ${1:-} in
    '') ;;
    --check) options=noautodbgsym ;;
    *) die "package takes no argument but --check" ;;
  esac
  use_debian_root
  rm -f "$log"
  if ! ensure_root debian; then
    say "NOTE: the root debian cannot be had: $WHY."
    say "NOTE: no Debian package is built."
    return 0
  fi
  exec {fd}>"$(root_of debian).packages.lock"
  flock "$fd"
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  { step "source of the package" "$log" make_source "$folder" &&
    (step "build the packages" "$log" build_packages "$options") &&
    (step "lintian" "$log" lintian_packages "$folder") &&
    (step "install the packages and try them" "$log" try_packages "$folder"); } || status=1
  flock --unlock "$fd"
  ((status == 0)) || { show_log && return 1; }
  sed -n 's/^O: /overridden: /p' "$log"
  remove_tree "$REPO/out/debian"
  mkdir -p "$REPO/out/debian"
  cp "$folder"/*_* "$REPO/out/debian/"
  say "the packages: out/debian/"
}
