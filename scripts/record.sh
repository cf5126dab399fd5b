#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures on the first GPU everything that a folder of reference results holds (see docs/results.md), one GPU and one hour:
# a few minutes. Prints a line for each file, and what is claimed beside what was measured last.
#
# usage: scripts/record.sh [FOLDER [NAME...]]
#
# FOLDER is made where it is not there (default results/local/record); NAMEs choose files, all without. CBANK names
# the program. Exit status: the worst of the runs that is not 0 or 4 (inconclusive cells are marked in the file); 2 for a
# NAME that does not exist.

set -u
program=${CBANK:-build/cbank}
folder=${1:-results/local/record}
[ $# -gt 0 ] && shift
wanted=" $* "
worst=0
known=" "
mkdir -p "$folder" || exit 2

# record NAME RUN-OPTION...
record() {
    name=$1
    shift
    known="$known$name "
    case "$wanted" in "  " | *" $name "*) ;; *) return ;; esac
    "$program" run --engine cuda --quiet "$@" --json "$folder/$name.json"
    status=$?
    echo "$name.json: exit status $status"
    [ $status -eq 4 ] && status=0
    [ $status -gt $worst ] && worst=$status
}

# The first process on a machine is slow: it is not kept.
"$program" run --engine cuda --quiet --json - > /dev/null

record core-matrix
record core-matrix-cold --cache-state cold
record second-process
record sample-us-100 --counters none --sample-us 100
record sample-us-2000 --counters none --sample-us 2000
record all-paths --workload all --path all
record serialization --path all --pattern half_warp,broadcast,lockstep,distinct,hashed --elements 12800000 \
    --stride-bytes 4,8,16,32,64,128,256,512
record convolution --workload conv_1d,conv_2d,conv_3d --path all --radius 1,2,3,4,5,6,7
record stencil-blocks --workload stencil_1d --path all --block-size 32,64,128,256,512,1024
record refill --workload refill,add --pattern per_warp --elements 128000 --path constant,global,readonly,param \
    --refill-bytes 256,512,1024,2048,4096,8192,16384,32768,65536 --counters none
record sizes --cache-state hot,cold --path constant,global \
    --elements 128000,270336,540672,1000000,2000000,4000000,6000000,8000000,10000000,12800000,25600000,51200000

[ -f "$folder/all-paths.json" ] && [ -f "$folder/serialization.json" ] &&
    "${PYTHON:-python3}" "$(dirname "$0")/studies/claims.py" "$folder/all-paths.json" "$folder/serialization.json"
for name in $wanted; do
    case "$known" in *" $name "*) ;; *)
        echo "record.sh: error: there is no file '$name'; there are:$known" >&2
        worst=2 ;;
    esac
done
exit $worst
