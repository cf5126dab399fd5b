#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scripts/check_published.sh BUILD FILE-OR-FOLDER...: what is published must run the same on every
# machine. It refuses
#
#   a program with a search path (RPATH, RUNPATH): what lies beside it would be loaded into it;
#   a file that holds the path of this tree, or of BUILD.
#
# Exit status: 1 and a line for each such file, 2 usage.

[ $# -ge 2 ] || {
    echo 'usage: scripts/check_published.sh BUILD FILE-OR-FOLDER...' >&2
    exit 2
}
export LC_ALL=C
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# A path may have every character, so that all but those of plain names become one, in the path and
# in the file. It ends where it ends: /src is not in /srcs.
plain() {
    tr -c 'A-Za-z0-9_./-' '?'
}

build=$1
shift
for folder in "$PWD" "$(pwd -P)" "$(CDPATH= cd -- "$build" && pwd -P)"; do
    name=$(printf %s "$folder" | plain)
    [ "$name" = / ] || printf '?%s?\n?%s/\n' "$name" "$name"
done >"$scratch/folders"

find "$@" -type f >"$scratch/files"
while IFS= read -r file; do
    if readelf -d "$file" 2>/dev/null | grep -qE '\((RPATH|RUNPATH)\)'; then
        echo "$file has a search path for libraries; link it without -rpath"
    fi
    # A sign before the first and behind the last byte of the file.
    if { printf '?' && plain <"$file" && printf '?'; } | grep -qFf "$scratch/folders"; then
        echo "$file holds the path of the folder where it was made; strip it"
    fi
done <"$scratch/files" >"$scratch/found"
cat "$scratch/found" >&2
[ ! -s "$scratch/found" ]
