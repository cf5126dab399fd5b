#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the fuzz targets and prints executions, seconds of processors, new inputs and failures.
#
# usage: scripts/fuzz.sh [--runs N | --seconds N] [--jobs N] [--seed N] [--program FILE] [--folder
# FOLDER] [TARGET...]
#
#   --runs N         executions of each target, over all of its processes; 0: the corpus alone
#   --seconds N      of each target's processes (default 60)
#   --jobs N         processes at a time (default: one a processor); a target has several when there
#                    are more than targets
#   --seed N         the same mutations every time, where a target has one process
#   --program FILE   default build/asan/tests/fuzz/fuzz; make fuzzers STATIC=1 makes one that runs
#                    elsewhere
#   --folder FOLDER  default build/fuzz: inputs that reach new code go into FOLDER/corpus, what
#                    fails and logs into FOLDER
#
# A TARGET is a folder of tests/corpus, and a row of tests/fuzz/fuzz.c: result, compare, batch and
# others; default: all. It begins with what is in there and in FOLDER/corpus/TARGET. Exit status 0;
# 1 where an input failed, which is then in FOLDER: CBANK_FUZZ=TARGET PROGRAM INPUT runs it alone; 2
# for a wrong command line.

CDPATH= cd -P -- "$(dirname -- "$0")/.." || exit 2
runs='' seconds=60 jobs=$(nproc) seed=0 program=build/asan/tests/fuzz/fuzz folder=build/fuzz
while [ $# -gt 0 ]; do
    case $1 in
    --runs) runs=$2 ;;
    --seconds) seconds=$2 ;;
    --jobs) jobs=$2 ;;
    --seed) seed=$2 ;;
    --program) program=$2 ;;
    --folder) folder=$2 ;;
    -*)
        sed -n 's/^# usage: /usage: /p' "$0" >&2
        exit 2
        ;;
    *) break ;;
    esac
    shift 2 || exit 2
done
[ -x "$program" ] || {
    echo "fuzz: no program $program; run: make fuzz" >&2
    exit 2
}
if [ $# -gt 0 ]; then targets=("$@"); else targets=($(basename -a tests/corpus/*/)); fi
parts=$(((jobs + ${#targets[@]} - 1) / ${#targets[@]}))

# Words that a mutation may put in: of the schemas, and options.
words() { # TARGET
    if [ "$1" = command ]; then
        grep -rohE --include='*option*.c' --include='*_command.c' '\.name = "[a-z-]+"' harness |
            sed 's/.*"\(.*\)"/--\1/'
    else
        grep -oh '"[A-Za-z_][A-Za-z0-9_]*"' results/*schema.json | sed 's/"/\\"/g'
    fi | sort -u | sed 's/.*/"&"/'
}

# shellcheck disable=SC2317
# The longest input: code of several kernels is longer than the other documents.
longest() { # TARGET
    if [ "$1" = cubin ]; then echo 16384; else echo 8192; fi
}

# Executions are short and many: where memory was allocated is not noted, and little of it is kept
# from being used again.
asan=malloc_context_size=0:quarantine_size_mb=1:detect_stack_use_after_return=0
export ASAN_OPTIONS=$asan:$ASAN_OPTIONS

# One process of a target; its figures go into a file of its own. xargs calls it.
# shellcheck disable=SC2317
run() { # TARGET PART
    local log=$folder/logs/$1-$2 limit=(-max_total_time="$seconds") TIMEFORMAT='cpu %U %S'
    [ -z "$runs" ] || limit=(-runs=$((runs / parts)))
    {
        time CBANK_FUZZ=$1 "$program" "${limit[@]}" -seed="$((seed ? seed + $2 - 1 : 0))" \
            -dict="$folder/$1.dict" \
            -max_len="$(longest "$1")" -timeout=20 -rss_limit_mb=1024 -entropic=0 -verbosity=1 \
            -print_final_stats=1 \
            -artifact_prefix="$folder/$1-" "$folder/corpus/$1" "tests/corpus/$1" >"$log" 2>&1
        echo "exit $?" >>"$log"
    } 2>"$log.time"
}

case $folder in -*) folder=./$folder ;; esac
mkdir -p "$folder/logs"
for target in "${targets[@]}"; do
    [ -d "tests/corpus/$target" ] || {
        echo "fuzz: no target $target: tests/corpus has one folder for each" >&2
        exit 2
    }
    mkdir -p "$folder/corpus/$target"
    rm -f "$folder/logs/$target"-[0-9]*
    words "$target" >"$folder/$target.dict"
done
export -f run longest
export runs seconds seed parts program folder
for target in "${targets[@]}"; do
    for ((part = 1; part <= parts; part++)); do
        echo "$target $part"
    done
done | xargs -P "$jobs" -L 1 bash -c 'run "$@"' run

# Executions and new inputs of each process, and its processor time.
for target in "${targets[@]}"; do
    grep -HE 'number_of_executed_units|new_units_added|^cpu' "$folder"/logs/"$target"-*
done
failed=0
for target in "${targets[@]}"; do for log in "$folder/logs/$target"-*[0-9]; do
    grep -q '^exit 0' "$log" && continue
    failed=1
    echo "$log:"
    grep -m 6 -E 'ERROR|runtime error|^fuzz: |SUMMARY|Test unit written' "$log" | cut -c1-400
done; done
exit $failed
