#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A counter of 64 bits becomes -1 in Apache Arrow for JavaScript.
#
# tool: npm apache-arrow 21.2.0
# question: `tableFromJSON` of integers: of which type is the column?
# guess (70 %): Float64
# what is: Float64 for numbers. A BigInt becomes Int64, signed: 18446744073709551615 comes back as
#   -1, and 2^63 as its negative, with no error.
# why: the type is inferred from the kind of the values, not from their size
# what it means: sums of counters, hashes and seeds are uint64. Build such a column with
#   `vectorFromArray(values, new Uint64())`.
#
# usage: findings/arrow_counter.sh
#
# It fetches 10 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

command -v npm >/dev/null || fail 'no npm here' 3
npm install --prefix "$place" --cache "$place/cache" --ignore-scripts --no-audit --no-fund \
    --loglevel error apache-arrow@21.2.0 >&2 || fail 'cannot fetch apache-arrow@21.2.0' 3

cat >ask.cjs <<'END'
const { tableFromJSON, vectorFromArray, Uint64 } = require("apache-arrow");
const all = 18446744073709551615n;
const table = tableFromJSON([{ number: 1, counter: all }, { number: 2, counter: 1n << 63n }]);
console.log(table.schema.fields.map((field) => `${field.name}: ${field.type}`).join(", "));
console.log("inferred:", String(table.get(0).counter), String(table.get(1).counter));
console.log("by Uint64:", String(vectorFromArray([all], new Uint64()).get(0)));
END
node ask.cjs | tee said || fail 'the package does not run' 1
grep -q 'number: Float64, counter: Int64' said || fail 'the types are others' 1
grep -q 'inferred: -1 -9223372036854775808' said || fail 'the values are others' 1
grep -q 'by Uint64: 18446744073709551615' said || fail 'Uint64 does not keep it' 1
