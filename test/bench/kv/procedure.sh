#!/bin/sh
# The written procedure of the document, by hand: health, snapshot, stop, start, health, next; then the cluster version.
# usage: procedure.sh CTL NEW_BINARY SNAPSHOT_FOLDER CLIENT_URL PID_FILE LOG_FILE FLAGS_FILE ... (four values for each member)
set -e
ctl=$1; new=$2; snapshots=$3; shift 3
export ETCDCTL_API=3
all=$(i=0; for word in "$@"; do [ $((i % 4)) = 0 ] && printf '%s,' "$word"; i=$((i + 1)); done | sed 's/,$//')
"$ctl" --endpoints="$all" endpoint health >/dev/null 2>&1
while [ $# -gt 0 ]; do
  url=$1; pid_file=$2; log=$3; flags=$4; shift 4
  "$ctl" --endpoints="$url" snapshot save "$snapshots/$(basename "$pid_file").db" >/dev/null 2>&1
  "$ctl" snapshot status "$snapshots/$(basename "$pid_file").db" >/dev/null 2>&1
  kill -TERM "$(cat "$pid_file")"
  while kill -0 "$(cat "$pid_file")" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$(cat "$pid_file")/status" 2>/dev/null; do sleep 0.1; done
  xargs -0 "$new" < "$flags" >> "$log" 2>&1 &
  sleep 0.2
  pgrep -P $! > "$pid_file" || echo $! > "$pid_file"
  until "$ctl" --endpoints="$url" endpoint health >/dev/null 2>&1; do sleep 0.2; done
  until "$ctl" --endpoints="$all" endpoint health >/dev/null 2>&1; do sleep 0.2; done
  sleep 2
done
