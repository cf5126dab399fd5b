#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures on a GPU what would tell apart the explanations that docs/chip.md leaves open, each into a file of FOLDER:
#   changes.json    loads that hit, in blocks of 64 to 1024: whether the time beyond the level's turns goes with the number
#                   of blocks, 11 cycles an address and block, as the model has it
#   conflicts.json  one block alone, of 1 to 32 warps, whose lines conflict in one or two sets: fills and retries by the
#                   number of warps say which load is tried first
#   code.json       the longest filter: requests for instructions, and warps that wait for one
# usage: scripts/model_trial.sh FOLDER [PROGRAM]

set -eu
folder=${1:?usage: model_trial.sh FOLDER [PROGRAM]} program=${2:-build/cbank}
mkdir -p "$folder"
"$program" run --engine cuda --quiet --json "$folder/changes.json" --path constant,param --pattern distinct --distinct 16,32 \
    --stride-bytes 4 --elements 12800000 --block-size 64,128,256,512,1024
"$program" run --engine cuda --quiet --json "$folder/conflicts.json" --path constant --pattern distinct --distinct 8,16,32 \
    --stride-bytes 256,512 --elements 32,64,128,256,512,1024 --block-size 1024
counters=default,gcc__cache_requests_type_instruction.sum,gcc__cache_requests_type_instruction_lookup_miss.sum
counters=$counters,sm__icc_requests.sum,sm__icc_requests_lookup_miss.sum
counters=$counters,smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio
counters=$counters,smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio
"$program" run --engine cuda --quiet --json "$folder/code.json" --path constant,constant_uniform,global --workload conv_2d,conv_3d \
    --radius 2,3,7 --elements 16777216 --counters "$counters"
