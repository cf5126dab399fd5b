#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the kernels under NVIDIA's compute-sanitizer on the first GPU: memcheck, racecheck, initcheck and synccheck, each over
# every workload, every path, lookups in tables of every width, and several tables beside other data.
#
# usage: scripts/sanitize_kernels.sh [TOOL...]
#
# Prints a line for each run. CBANK names the program. Exit status: 0 nothing was found; 1 something was, and what; 3 without
# compute-sanitizer.

set -u
program=${CBANK:-build/cbank}
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
command -v compute-sanitizer > /dev/null || {
    echo "sanitize_kernels.sh: error: no compute-sanitizer; it comes with the CUDA Toolkit" >&2
    exit 3
}

common="run --engine cuda --counters none --max-samples 6 --sample-us 10 --quiet --elements 4096 --block-size 256"
plans=(
    "--workload all --path constant,global,shared,staging --pattern per_block"
    "--workload add --path all --pattern hashed"
    "--workload lookup --path all --width 1,2,4,8,16 --table-bytes 128 --source uniform --loads 4"
    "--workload lookup --path all --table-bytes 1024 --table-count 2 --pressure-bytes 4096 --source zipf --loads 4"
)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
worst=0
for tool in "$@"; do
    for plan in "${plans[@]}"; do
        # shellcheck disable=SC2086 # both are lists of words
        compute-sanitizer --tool "$tool" --error-exitcode 99 "$program" $common $plan --json /dev/null > "$log" 2>&1
        status=$?
        echo "$tool $plan: exit status $status; $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//' | tail -n 1)"
        # 4: too few samples to settle, as asked for.
        [ $status -eq 0 ] || [ $status -eq 4 ] || { tail -n 40 "$log"; worst=1; }
    done
done
exit $worst
