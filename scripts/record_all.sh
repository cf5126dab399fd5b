#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures on the first GPU all that results/ has of one GPU: plans, sweeps, and trials of how far
# the numbers are to be trusted. A quarter of an hour and more on an H200; each part can be measured
# by itself.
#
#   records    FOLDER/*.json: the plans below; then prints which claims hold
#              (scripts/studies/claims.py)
#   sweeps     sweeps/*.json: lookups
#   lookups    lookups.json: every width, tables of 16 bytes and 2 KB, by every path, counted
#   processes  processes/process-NN.json and trial.json: ten processes, hot and cold;
#              hot-trial.json: twenty, hot
#   gate       gate/gate-trial.json: false alarms, and slowdowns that were planted
#   neighbour  neighbour/trial.json: whether another process is seen; needs nvcc
#   clock      clock/trial.json: how the SM clock moves by itself; needs nvcc
#   chip       chip/: cbank contribute, in the name of CREDIT; goes on with what is there
#
# usage: scripts/record_all.sh FOLDER [PART...]
#
# Prints how long each part took. CBANK names the program, PYTHON the Python. Exit status: that of
# the last part that failed, 0 else; 2 for a PART that does not exist.

set -u
[ $# -gt 0 ] || {
    echo "usage: record_all.sh FOLDER [PART...]" >&2
    exit 2
}
program=${CBANK:-build/cbank}
python=${PYTHON:-/usr/bin/python3}
here=$(dirname -- "$0")
case $here in -*) here=./$here ;; esac
folder=$1
case $folder in -*) folder=./$folder ;; esac
shift
worst=0

parts="records sweeps lookups processes gate neighbour clock chip"
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $parts

# The files of the part records, and the options of each.
plans() {
    cat <<END
core-matrix
core-matrix-cold --cache-state cold
second-process
sample-us-100 --counters none --sample-us 100
sample-us-2000 --counters none --sample-us 2000
all-paths --workload all --path all
serialization --path all --pattern half_warp,broadcast,lockstep,distinct,hashed \
  --elements 12800000 --stride-bytes 4,8,16,32,64,128,256,512
convolution --workload conv_1d,conv_2d,conv_3d --path all --radius 1,2,3,4,5,6,7
stencil-blocks --workload stencil_1d --path all --block-size 32,64,128,256,512,1024
refill --workload refill,add --pattern per_warp --elements 128000 \
  --path constant,global,readonly,param --counters none \
  --refill-bytes 256,512,1024,2048,4096,8192,16384,32768,65536
sizes --cache-state hot,cold --path constant,global --elements \
  128000,270336,540672,1000000,2000000,4000000,6000000,8000000,10000000,12800000,25600000,51200000
END
}

# A trial of the program: trial NAME FILE OPTION...
trial() {
    script=$here/studies/$1_trial.py file=$folder/$2
    shift 2
    mkdir -p "$(dirname "$file")" &&
        "$python" -IB "$script" --program "$program" --json "$file" "$@"
}

# A line of a plan: run FILE OPTION... Cells that did not settle are marked in the file.
run() {
    file=$folder/$1
    shift
    mkdir -p "$(dirname "$file")" && { "$program" run --engine cuda --quiet "$@" --json "$file" ||
        [ $? -eq 4 ]; }
}

sweep() {
    run "sweeps/$1.json" --sweep "$@"
}

records() {
    # shellcheck disable=SC2086 # a list of words
    plans | {
        failed=0
        while read -r name options; do
            run "$name.json" $options </dev/null || { failed=1 && echo "$name.json: failed"; }
        done
        return $failed
    } &&
        "$python" -IB "$here/studies/claims.py" "$folder/all-paths.json" \
            "$folder/serialization.json"
}

measure() {
    case $1 in
    records) records ;;
    sweeps) sweep lookup && sweep warps --max-samples 60 && sweep pressure && sweep copies &&
        sweep large ;;
    lookups)
        run lookups.json --workload lookup --path all --width-bytes 1,2,4,8,16 \
            --table-bytes 16,2048 \
            --source lockstep,distinct,random --distinct 8
        ;;
    processes)
        trial process processes/trial.json --run 10 --folder "$folder/processes" \
            --cache-state hot,cold
        first=$?
        trial process processes/hot-trial.json --run 20 --folder "$folder/processes/hot" &&
            return $first
        ;;
    gate) trial gate gate/gate-trial.json --counters none --cache-state hot,cold \
        --path constant,global --pattern per_warp ;;
    neighbour) trial neighbour neighbour/trial.json --counters none --path constant,global \
        --pattern per_warp,per_thread ;;
    clock) trial clock clock/trial.json --counters none --path constant,global \
        --pattern per_warp,per_thread ;;
    chip) "$program" contribute --credit "${CREDIT:-The cbank contributors}" "$folder/chip" ;;
    esac
}

for part; do
    case " $parts " in *" $part "*) ;; *)
        echo "record_all.sh: error: there is no part '$part'; there are: $parts" >&2
        exit 2
        ;;
    esac
done
mkdir -p "$folder" || exit 2
# The first process on a machine is slow.
"$program" run --engine cuda --quiet --json - >/dev/null
for part; do
    begin=$(date +%s)
    measure "$part"
    status=$?
    echo "$part: exit status $status, $(($(date +%s) - begin)) s"
    [ $status -eq 0 ] || worst=$status
done
exit $worst
