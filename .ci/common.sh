# shellcheck shell=bash
# Talking to the person in front of ./run: steps with elapsed time, logs, one-message errors.
# Sourced by ./run after it has set REPO and HOME_DIR.

LOG=$HOME_DIR/log/run.log
TIMES=${TRELLIS_RUN_TIMES:-$HOME_DIR/log/times.$$}
ticker=

say() { printf '%s\n' "$*"; }
now() { printf '%(%s)T' -1; }

# simulated WORD: true when TRELLIS_RUN_SIMULATE names this failure (see `./run help --all`).
simulated() { [[ " ${TRELLIS_RUN_SIMULATE:-} " == *" $1 "* ]]; }

# die WHAT_IS_MISSING WHAT_TO_DO...: the one message, and the end.
die() {
  stop_ticker
  {
    printf '\n./run: %s\n' "$1"
    shift
    for line in "$@"; do printf '  %s\n' "$line"; done
  } >&2
  exit 1
}

# On a terminal one line shows the step, its time and the newest line of the log; elsewhere a line a
# minute.
start_ticker() {
  local title=$1 begin=$2
  (
    trap 'kill $! 2>/dev/null; exit 0' TERM
    while :; do
      [[ -t 1 ]] && pause=1 || pause=60
      sleep "$pause" &
      wait $! # so that the end of the step ends this at once
      newest=$(tail -n 1 "$LOG" 2>/dev/null | tr -d '\r\033' | cut -c 1-60)
      if [[ -t 1 ]]; then printf '\r\033[K'; fi
      printf '  %s ... %s s  %s' "$title" $(($(now) - begin)) "$newest"
      [[ -t 1 ]] || echo
    done
  ) &
  ticker=$!
}

stop_ticker() {
  [[ -n $ticker ]] || return 0
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  ticker=
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
}

# note_time KIND SECONDS NAME: kept for the summary. KIND is part (of .ci/run), stage, test or
# compile.
note_time() { printf '%s\t%s\t%s\n' "$@" >>"$TIMES"; }

# show_times FILE: parts and stages in their order, and the slowest ten of the tests and of the
# compiler's starts.
show_times() {
  local kind
  for kind in part stage test compile; do
    grep -q "^$kind" "$1" || continue
    case $kind in
      part | stage) say "---- seconds of each $kind" ;;
      test) say "---- the slowest ten tests, in seconds" ;;
      compile) say "---- the slowest ten files to compile, in seconds" ;;
    esac
    awk -F '\t' -v kind="$kind" '$1 == kind { printf "%8.1f  %s\n", $2, $3 }' "$1" |
      if [[ $kind == part || $kind == stage ]]; then cat; else sort -rn | awk 'NR <= 10'; fi
  done
}

# step TITLE LOGFILE COMMAND...: runs the command with its output in the log. Returns the command's
# status. The command stays in the foreground (a background one would not get Ctrl-C); only the
# ticker is beside it.
step() {
  local title=$1 begin status=0
  LOG=$2
  shift 2
  begin=$(now)
  mkdir -p "${LOG%/*}"
  printf '\n$ %s\n' "$*" >>"$LOG"
  [[ -t 1 ]] || say "  $title ..."
  start_ticker "$title" "$begin"
  "$@" >>"$LOG" 2>&1 </dev/null || status=$?
  stop_ticker
  note_time stage "$(($(now) - begin))" "$title"
  if ((status == 0)); then
    say "  $title: done in $(($(now) - begin)) s"
  else
    say "  $title: FAILED after $(($(now) - begin)) s (status $status)"
  fi
  return "$status"
}

# show_log [LINES]: the end of what the newest step wrote, for a failure.
show_log() {
  say "---- the end of ${LOG#"$REPO"/} ----"
  awk '/^\$ / { text = "" } { text = text $0 "\n" } END { printf "%s", text }' "$LOG" |
    tail -n "${1:-60}"
  say "----"
}
