#!/bin/sh
# SPDX-License-Identifier: MIT
#
# csv-parse reads hexadecimal numbers as 0.
#
# tool: npm csv-parse 7.0.3, option `cast: true`
# question: what becomes of the cell 0x1F?
# guess: none was made of it. It was seen beside guesses of papaparse, where it stays a string (65
#   %, right), and of large integers in csv-parse (75 %, right).
# what is: 0, a number, with no error. 0x500550 is 0, too. 1e5 is 100000, and 2048-64 stays a
#   string.
# why: it asks by arithmetic whether the cell is a number, which converts hexadecimal, and then
#   reads it by parseFloat, which stops at the x
# what it means: offsets in a bank, e_flags and hashes of SASS are written in hexadecimal. As CSV
#   with `cast: true` they are all 0, and all equal. Give `cast` a function, or quote such columns
#   with another prefix.
#
# usage: findings/csv_hexadecimal.sh
#
# It fetches 1 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

name=$(basename "$0" .sh)
fail() { # MESSAGE STATUS
    echo "$name: $1" >&2
    exit "$2"
}
place=$(mktemp -d) || exit 3
trap 'rm -rf "$place"' EXIT
trap 'exit 3' HUP INT TERM
cd "$place" || exit 3

command -v npm >/dev/null || fail 'no npm here' 3
npm install --prefix "$place" --cache "$place/cache" --ignore-scripts --no-audit --no-fund \
    --loglevel error csv-parse@7.0.3 >&2 || fail 'cannot fetch csv-parse@7.0.3' 3

cat >ask.cjs <<'END'
const { parse } = require("csv-parse/sync");
const [row] = parse("offset,flags,time\n0x1F,0x500550,1e5\n", { columns: true, cast: true });
console.log(JSON.stringify(row));
END
node ask.cjs | tee said || fail 'the package does not run' 1
grep -qxF '{"offset":0,"flags":0,"time":100000}' said || fail 'the values are others' 1
