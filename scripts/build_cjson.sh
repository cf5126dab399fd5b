#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes libcjson.a for `make STATIC=1` where the distribution's package holds none. It builds the
# source package with all patches. apt fetches that from this machine's mirror and checks its
# signature. It works in a new folder below TMPDIR, with lists of packages of its own; nothing is
# installed.

set -e
library=$(realpath -m -- "$1")
folder=$(mktemp -d)

give_up() {
    echo "STATIC=1: $1; build cJSON yourself and name it: make LIBCJSON=/path/to/libcjson.a" >&2
    exit 3
}

command -v apt-get >/dev/null ||
    give_up "no libcjson.a here, and no apt-get to fetch the source package with"
"$(dirname -- "$0")"/setup.sh static
mkdir -p "$(dirname "$library")" "$folder/lists/partial" "$folder/cache/archives/partial"
cd "$folder"

# Sources come from the mirror of the packages.
for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$(basename "$file")"
done
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^deb /deb-src /p' >configured.list

apt() {
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$folder" \
        -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" \
        -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::http::Timeout=20 "$@"
}

{ apt update && apt source cjson; } >log 2>&1 ||
    give_up "the source package of cJSON cannot be had (see $folder/log)"
# shellcheck disable=SC2086 # a compiler may be several words: ccache gcc
${CC:-cc} -std=c99 -O2 -fPIC -c -o cJSON.o cjson-*/cJSON.c
rm -f "$library"
ar qcDs "$library" cJSON.o
rm -rf "$folder"
