#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes results/cards/NAME.json of every results/base_cards/NAME.json, from committed evidence alone:
#   1. what results/characterizations/NAME.json says, with the base card for the rest;
#   2. times fitted to those of four files that results/NAME/ has (scripts/fit_card.py, which prints what it finds);
#   3. the characterization again, so that the card is what `cbank characterize --new-card` makes of itself.
# Needs scipy. usage: scripts/make_cards.sh [PROGRAM [FOLDER]]; the cards go to FOLDER, results/cards by default.

set -eu
cd "$(dirname "$0")/.."
program=${1:-build/cbank} folder=${2:-results/cards} python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# make_card FROM TO: the characterization of $name, the rest by card FROM.
make_card()
{
    "$program" characterize --quiet --replay "results/characterizations/$name.json" --json "$work/characterization.json" \
        --card "$1" --new-card "$2"
}

for base in results/base_cards/*.json; do
    name=$(basename "$base" .json) fitted= checked=
    for file in core-matrix core-matrix-cold sizes all-paths; do
        fitted="$fitted $(ls "results/$name/$file.json" 2>/dev/null || true)"
    done
    for file in results/"$name"/*.json; do
        case " $fitted " in *" $file "*) ;; *) checked="$checked --check $file" ;; esac
    done
    echo "$name:"
    make_card "$base" "$work/characterized.json"
    # shellcheck disable=SC2086 # names without spaces
    "$python" scripts/fit_card.py --program "$program" --card "$work/characterized.json" $checked \
        -o "$work/fitted.json" $fitted
    make_card "$work/fitted.json" "$folder/$name.json"
    echo
done
echo "now: make && scripts/readme_blocks.py --write && make reproduce, since README and figures are of the built-in card"
