# shellcheck shell=bash
# What the scripts of this directory share. Steps of the gate: each is announced, timed and logged, and the first
# that fails ends the script. Deliberately absent: retries of what is tested, and anything that turns a failure into a skip.

# How the program is linked that is handed out, and the one that the gate tests.
# The target is named although it is this machine's own: so the flags do not reach procedural macros, which are libraries that
# the compiler loads. glibc's lookups of names, in files and over DNS, become part of the binary.
STATIC_TARGET=$(uname -m)-unknown-linux-gnu
STATIC_FLAGS=(
  -C target-feature=+crt-static
  # The standard library starts a process in a directory of its own with `posix_spawn` only where it finds this function,
  # and copies the page tables of the whole suite where it does not: half of the saboteur's time in the kernel.
  -C link-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np
)

step_name=""

# step NAME COMMAND…: run COMMAND, with its output on the terminal and in the step's log.
# Not to be called as a condition: bash then ignores `set -e` in everything below.
step() {
  local started=$SECONDS log status
  step_name=$1
  shift
  log="$CI_DIR/log/${step_name//[^a-zA-Z0-9.]/-}.log"
  mkdir -p "$CI_DIR/log"
  printf '==> %s\n' "$step_name"
  # The log must hold everything before its lines are counted, hence a pipe and not a process substitution.
  set +e
  (set -e && "$@") 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  set -e
  if ((status != 0)); then
    printf '==> %s: failed after %d s\n' "$step_name" "$((SECONDS - started))"
    exit "$status"
  fi
  printf '==> %s: %d s\n' "$step_name" "$((SECONDS - started))"
  step_name=""
}

# Processes of series that are under way.
SERIES=()

# side_by_side FUNCTION…: runs series of steps that need nothing of each other, each in a process of its own: most wait more
# than they work. What one prints appears when it has ended. All are waited for. Those that failed end the script, and what
# they printed comes last: whoever reads the end of a long output reads why.
side_by_side() {
  local name failed="" ended
  mkdir -p "$CI_DIR/log"
  printf '==> side by side: %s\n' "${*//_/ }"
  for name in "$@"; do
    ("$name") >"$CI_DIR/log/series-$name.log" 2>&1 &
    SERIES+=($!)
  done
  for name in "$@"; do
    ended=${SERIES[0]}
    if wait "$ended"; then cat "$CI_DIR/log/series-$name.log"; else failed="${failed:+$failed }$name"; fi
    SERIES=("${SERIES[@]:1}")
  done
  for name in $failed; do cat "$CI_DIR/log/series-$name.log"; done
  step_name=${failed//_/ }
  [ -z "$failed" ]
}

# end_series: ends what is under way, with everything that it started.
end_series() {
  local process
  for process in "${SERIES[@]}"; do end_tree "$process"; done
}

end_tree() {
  local child
  for child in $(pgrep -P "$1" || true); do end_tree "$child"; done
  kill "$1" 2>/dev/null || true
}

# download COMMAND…: runs COMMAND, which fetches packages, up to three times: a registry that answers wrongly for a moment
# says nothing about the project. Only for what can be run again after it was cut off.
download() {
  local attempt
  for attempt in 1 2 3; do
    if "$@"; then return; fi
    printf 'attempt %d of 3 failed: %s\n' "$attempt" "$*" >&2
    ((attempt == 3)) || sleep "$((attempt * 10))"
  done
  return 1
}

# wait_for SECONDS WHAT COMMAND…: poll COMMAND until it succeeds; past the deadline say what was waited for.
wait_for() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= deadline)); then
      printf 'no %s by the deadline\n' "$what" >&2
      return 1
    fi
    sleep 0.1
  done
}
