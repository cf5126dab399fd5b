#!/bin/sh
# SPDX-License-Identifier: MIT
# Stands in for nvcc in test_kernel_file.c: it copies the file `cubin` next to it, and writes a line
# to `runs`, but not for the processor. It follows `include "..."` next to the kernel file and below
# -I. The kernel file fails with its lines that have "error:" or
# "fatal". The word SLEEP makes it wait, BROKEN fails in the space select.
here=${0%/*}
[ "$1" = --version ] && {
    echo 'Cuda compilation tools, release 13.0, V13.0.88'
    exit
}
for source; do :; done
folders=
reading=
while [ $# -gt 1 ]; do
    case $1 in
    -o) out=$2 ;;
    -keep-dir) kept=$2 ;;
    -I) folders="$folders $2" ;;
    -M) reading=1 ;;
    esac
    shift
done
kernel=$(sed -n 's/#include "\(.*\)"/\1/p' "$1")
{
    echo "# 1 \"$kernel\" 1"
    cat "$1" "$kernel"
    sed -n 's/.*include ["<]\(.*\)[">]/\1/p' "$kernel" | while read -r name; do
        for folder in "${kernel%/*}" $folders; do
            [ -f "$folder/$name" ] || continue
            echo "# 1 \"$folder/$name\" 1"
            cat "$folder/$name"
            break
        done
    done
} >"$kept/${out##*/}.ii"
[ "$reading" ] && exit
grep -q CBANK_REFERENCE "$source" || echo run >>"$here/runs"
grep -q SLEEP "$kernel" && {
    touch "$TMPDIR/left"
    sleep 60 &
    echo $! >"$here/sleeper"
    wait
}
grep -q 'CBANK_SPACE_.*prmt' "$1" && {
    echo 'k.cu(3): error: static assertion failed with "cbank: it is too large"'
    exit 2
}
grep -q 'CBANK_SPACE_.*select' "$1" && grep -q BROKEN "$kernel" && {
    echo "$kernel(9): error: identifier is undefined"
    exit 2
}
grep 'error:\|fatal' "$kernel" >&2 && exit 1
cp "$here/cubin" "$out"
