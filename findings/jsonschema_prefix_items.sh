#!/bin/sh
# SPDX-License-Identifier: MIT
#
# npm's jsonschema refuses valid documents of draft 2020-12.
#
# tool: npm jsonschema 1.5.0
# question: a schema of 2020-12 with `prefixItems` and `items: false`: what does it check?
# guess (75 %): it ignores prefixItems: everything passes
# what is: it refuses the valid document: `items: false` refuses every element, since the ones of
#   prefixItems are not known. Without `items` everything passes, as guessed.
# why: it follows older drafts, where `items` alone speaks of all elements, and it says nothing of
#   a keyword or a $schema that it does not know
# what it means: a pair as [offset, width] or [GPU, cycles] in a result that is described by
#   2020-12 is called invalid. Ask a validator of that draft, or look at its tests of prefixItems
#   first.
#
# usage: findings/jsonschema_prefix_items.sh
#
# It fetches 1 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

command -v npm >/dev/null || fail 'no npm here' 3
npm install --prefix "$place" --cache "$place/cache" --ignore-scripts --no-audit --no-fund \
    --loglevel error jsonschema@1.5.0 >&2 || fail 'cannot fetch jsonschema@1.5.0' 3

cat >ask.cjs <<'END'
const { validate } = require("jsonschema");
const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "array",
  prefixItems: [{ type: "integer" }, { type: "string" }],
};
const closed = { ...schema, items: false };
console.log("valid, with items false:", validate([64, "bytes"], closed).valid);
console.log("invalid, without items:", validate(["bytes", 64], schema).valid);
END
node ask.cjs | tee said || fail 'the package does not run' 1
grep -q 'items false: false' said || fail 'the valid document passes' 1
grep -q 'without items: true' said || fail 'the invalid document is refused' 1
