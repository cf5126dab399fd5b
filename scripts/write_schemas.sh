#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Writes the schemas of documents, as their rows say them: `make schemas`. A test fails where a
# committed one is old.
#
# usage: scripts/write_schemas.sh PROGRAM
#
# Exit status: 0 all are written; 1 the program failed, and the file is as it was.

program=$1
cd -P -- "$(dirname -- "$0")/.." || exit 1
for kind in result comparison calibration characterization card normal manifest explanation \
    advice tables ranking lookups fleet history check; do
    case $kind in
    result) file=results/schema.json ;;
    *) file=results/$kind.schema.json ;;
    esac
    "$program" show --schema "$kind" >"$file.new" || {
        rm -f "$file.new"
        exit 1
    }
    mv "$file.new" "$file" && echo "$file"
done
