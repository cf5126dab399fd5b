#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Checks that the fuzz target of machine code reaches every function of the analysis: those of
# harness/code, harness/divergence, and what harness/advise says of a user's code. What its inputs
# do not reach, no mutation of them is likely to test.
#
# usage: scripts/fuzz_reach.sh [--program FILE]
#
#   --program FILE   default build/asan/tests/fuzz/fuzz
#
# Prints the functions that are not reached. Exit status: 0 all are; 1 some are not, or one that is
# excused here is reached; 2 usage; 3 nothing can be said: no llvm-symbolizer, or no program.

CDPATH= cd -P -- "$(dirname -- "$0")/.." || exit 3
program=build/asan/tests/fuzz/fuzz
case $1 in
'') ;;
--program) program=${2:?usage: scripts/fuzz_reach.sh [--program FILE]} ;;
*)
    echo 'usage: scripts/fuzz_reach.sh [--program FILE]' >&2
    exit 2
    ;;
esac
command -v llvm-symbolizer >/dev/null || {
    echo 'fuzz_reach: no llvm-symbolizer, which names functions' >&2
    exit 3
}
[ -x "$program" ] || {
    echo "fuzz_reach: no program $program; run: make fuzz" >&2
    exit 3
}

analysis='/harness/(code/|divergence/|advise/user_|advise/kernel_loads)'
# Files whose functions no input reaches, and why. image.c, image_code.c: they read the images of
# this program itself. payload_check.c has in addition what asks for a cell of this program.
excused='/harness/code/image(_code)?\.c:|^(sass_differs|sass_class_loads|copied_width) '

said=$(CBANK_FUZZ=cubin "$program" -runs=0 -print_coverage=1 -max_len=65536 tests/corpus/cubin 2>&1)
# COVERED_FUNC: hits: 1 edges: 1/2 NAME FILE:LINE
functions() { # COVERED|UNCOVERED
    grep "^$1_FUNC:" <<<"$said" | sed -E 's/.* edges: [^ ]+ //' | grep -E "$analysis" | sort
}
reached=$(functions COVERED)
missed=$(functions UNCOVERED | grep -vE "$excused")
stale=$(grep -E "$excused" <<<"$reached")
grep -q '^instruction_decode ' <<<"$reached" || {
    echo 'fuzz_reach: the program does not say what it reaches' >&2
    exit 1
}
[ -z "$missed" ] || printf 'not reached: %s\n' "${missed//$'\n'/$'\n'not reached: }"
[ -z "$stale" ] || printf 'excused, but reached: %s\n' "$stale"
echo "$(wc -l <<<"$reached") functions of the analysis are reached"
[ -z "$missed$stale" ]
