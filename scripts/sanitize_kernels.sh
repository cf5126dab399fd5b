#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the kernels under NVIDIA's compute-sanitizer on the first GPU. memcheck, initcheck and
# synccheck cover every workload, every path, every launch path, lookups in tables of every width,
# and several tables next to other data. racecheck looks at shared memory and takes a hundred times
# as long: it runs over grids of two blocks that use shared memory.
#
# usage: scripts/sanitize_kernels.sh [TOOL...]
#
# Prints a line for each run. CBANK names the program. Exit status: 0 nothing was found; 1 something
# was, and what; 3 without compute-sanitizer.

set -u
program=${CBANK:-build/cbank}
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
command -v compute-sanitizer >/dev/null || {
    echo "sanitize_kernels.sh: error: no compute-sanitizer; it comes with the CUDA Toolkit" >&2
    exit 3
}

common="run --engine cuda --counters none --max-samples 6 --sample-us 10 --quiet"
tables="--block-size 256 --elements"
plans=(
    "$tables 4096 --workload all --path constant,global,shared,shared_fill_only \
     --pattern per_block"
    "$tables 4096 --workload add --path all --pattern hashed"
    "$tables 4096 --workload lookup --path all --width-bytes 1,2,4,8,12,16,24,32 \
     --table-bytes 16,64,128,32640 --source random --loads 4"
    "$tables 4096 --workload lookup --path all --table-bytes 1024 --table-count 2 \
     --polluter-bytes 4096 --source zipf --loads 4"
    "--workload launch_overhead"
)
shared_plans=(
    "$tables 512 --workload add,stencil_1d --path shared,shared_fill_only,constant \
     --pattern lockstep"
    "$tables 512 --workload lookup --path shared,shared_copies --table-bytes 128 \
     --source random --loads 1"
)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
worst=0
for tool in "$@"; do
    chosen=("${plans[@]}")
    only=()
    # Kernels that have nothing in shared memory run as fast as without it: those that are not the
    # cells'.
    [ "$tool" != racecheck ] ||
        { chosen=("${shared_plans[@]}") only=(--kernel-name kernel_substring=workload_); }
    for plan in "${chosen[@]}"; do
        # shellcheck disable=SC2086 # both are lists of words
        compute-sanitizer --tool "$tool" "${only[@]}" --error-exitcode 99 "$program" $common \
            $plan --json /dev/null >"$log" 2>&1
        status=$?
        summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//' | tail -n 1)
        echo "$tool $plan: exit status $status; $summary"
        # 4: too few samples to settle, as asked for.
        [ $status -eq 0 ] || [ $status -eq 4 ] || {
            tail -n 40 "$log"
            worst=1
        }
    done
done
exit $worst
