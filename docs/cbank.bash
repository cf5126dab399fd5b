# SPDX-License-Identifier: MIT
#
# Completion of cbank for bash. Printed by cbank help --completion; see CONTRIBUTING.md.

# Options of a command.
_cbank_options()
{
    case $1 in
    '') echo 'run show counters explain advise compare gate calibrate characterize history ingest forget fleet export contribute check report plot convert atlas cards list doctor help' ;;
    run) echo '--help --sweep --workload --path --pattern --source --indices --elements --block-size --distinct --stride-bytes --radius --refill-bytes --modules --width-bytes --table-bytes --loads --in-flight --skew-percent --run-threads --warps-per-sm --extra-shared-bytes --polluter-bytes --table-count --cache-state --engine --device --counters --max-noise --sample-us --max-samples --max-seconds --seed --card --anonymous --json --resume --retry-failed --sequential --watchdog-slack --strict --quiet --color' ;;
    show) echo '--help --cell --markdown --csv --json --raw --color' ;;
    counters) echo '--help --cell --workload --path --pattern --cache-state --elements --block-size --distinct --stride-bytes --radius --refill-bytes --modules --width-bytes --table-bytes --loads --in-flight --skew-percent --run-threads --warps-per-sm --extra-shared-bytes --polluter-bytes --table-count --markdown --csv --json --raw' ;;
    explain) echo '--help --card --cell --json --color' ;;
    advise) echo '--help --table-bytes --width --source --indices --pattern --distinct --stride-bytes --skew-percent --run-threads --loads --in-flight --polluter-bytes --elements --block-size --card --kernel --function --json --color' ;;
    compare) echo '--help --batch --threshold --counter-threshold --allow-diff --calibration --all --markdown --junit --json --strict --quiet --color' ;;
    gate) echo '--help --sweep --workload --path --pattern --source --indices --elements --block-size --distinct --stride-bytes --radius --refill-bytes --modules --width-bytes --table-bytes --loads --in-flight --skew-percent --run-threads --warps-per-sm --extra-shared-bytes --polluter-bytes --table-count --cache-state --engine --device --counters --max-noise --sample-us --max-samples --max-seconds --seed --card --anonymous --processes --seconds --keep --base-program --new-program --threshold --counter-threshold --allow-diff --calibration --all --markdown --junit --json --strict --quiet --color' ;;
    calibrate) echo '--help --sweep --workload --path --pattern --source --indices --elements --block-size --distinct --stride-bytes --radius --refill-bytes --modules --width-bytes --table-bytes --loads --in-flight --skew-percent --run-threads --warps-per-sm --extra-shared-bytes --polluter-bytes --table-count --cache-state --engine --device --counters --max-noise --sample-us --max-samples --max-seconds --seed --card --anonymous --processes --keep --json --color' ;;
    characterize) echo '--help --device --replay --json --card --new-card --watchdog-slack --quiet' ;;
    history) echo '--help' ;;
    ingest) echo '--help' ;;
    forget) echo '--help' ;;
    fleet) echo '--help' ;;
    export) echo '--help --format --raw' ;;
    contribute) echo '--help' ;;
    check) echo '--help --json' ;;
    report) echo '--help' ;;
    plot) echo '--help' ;;
    convert) echo '--help' ;;
    atlas) echo '--help' ;;
    cards) echo '--help' ;;
    list) echo '--help --markdown --csv --json --raw --color' ;;
    doctor) echo '--help --json --color' ;;
    esac
}

# Words that an option of a command takes; nothing where it takes files or numbers.
_cbank_words()
{
    case $1:$2 in
    run:--sweep) echo 'widths sizes distinct lookup warps pressure large copies' ;;
    run:--workload) echo 'add add_switch add_runtime refill modules stencil_1d conv_1d conv_2d conv_3d lookup all' ;;
    run:--path) echo 'constant global readonly restrict global_l2 texture shared shared_copies shared_fill_only shuffle select_4 select_16 param constant_uniform constant_operand all' ;;
    run:--pattern) echo 'per_block per_warp per_thread pseudo_random half_warp distinct broadcast lockstep hashed all' ;;
    run:--source) echo 'random zipf distinct unequal sorted runs lockstep all' ;;
    run:--table-bytes) echo 'whole' ;;
    run:--warps-per-sm) echo 'full' ;;
    run:--extra-shared-bytes) echo 'none' ;;
    run:--polluter-bytes) echo 'none' ;;
    run:--cache-state) echo 'hot cold all' ;;
    run:--engine) echo 'cuda model auto' ;;
    run:--device) echo 'all' ;;
    run:--counters) echo 'default none ldc_instructions idc_requests idc_hits idc_misses idc_misses_new idc_misses_pending idc_misses_retried idc_active_cycles gcc_constant_requests gcc_constant_misses imc_requests global_load_instructions l1_requests l1_sectors texture_instructions shared_load_instructions shared_wavefronts l2_sectors dram_read_bytes dram_write_bytes instructions sm_cycles' ;;
    run:--color) echo 'auto always never' ;;
    show:--color) echo 'auto always never' ;;
    counters:--workload) echo 'add add_switch add_runtime refill modules stencil_1d conv_1d conv_2d conv_3d lookup all' ;;
    counters:--path) echo 'constant global readonly restrict global_l2 texture shared shared_copies shared_fill_only shuffle select_4 select_16 param constant_uniform constant_operand all' ;;
    counters:--pattern) echo 'per_block per_warp per_thread pseudo_random half_warp distinct broadcast lockstep hashed all' ;;
    counters:--cache-state) echo 'hot cold all' ;;
    explain:--color) echo 'auto always never' ;;
    advise:--source) echo 'random zipf distinct unequal sorted runs lockstep' ;;
    advise:--pattern) echo 'per_block per_warp per_thread pseudo_random half_warp distinct broadcast lockstep hashed' ;;
    advise:--color) echo 'auto always never' ;;
    compare:--allow-diff) echo 'engine device uuid driver vbios clocks ecc mig sass all' ;;
    compare:--color) echo 'auto always never' ;;
    gate:--sweep) echo 'widths sizes distinct lookup warps pressure large copies' ;;
    gate:--workload) echo 'add add_switch add_runtime refill modules stencil_1d conv_1d conv_2d conv_3d lookup all' ;;
    gate:--path) echo 'constant global readonly restrict global_l2 texture shared shared_copies shared_fill_only shuffle select_4 select_16 param constant_uniform constant_operand all' ;;
    gate:--pattern) echo 'per_block per_warp per_thread pseudo_random half_warp distinct broadcast lockstep hashed all' ;;
    gate:--source) echo 'random zipf distinct unequal sorted runs lockstep all' ;;
    gate:--table-bytes) echo 'whole' ;;
    gate:--warps-per-sm) echo 'full' ;;
    gate:--extra-shared-bytes) echo 'none' ;;
    gate:--polluter-bytes) echo 'none' ;;
    gate:--cache-state) echo 'hot cold all' ;;
    gate:--engine) echo 'cuda model auto' ;;
    gate:--device) echo 'all' ;;
    gate:--counters) echo 'default none ldc_instructions idc_requests idc_hits idc_misses idc_misses_new idc_misses_pending idc_misses_retried idc_active_cycles gcc_constant_requests gcc_constant_misses imc_requests global_load_instructions l1_requests l1_sectors texture_instructions shared_load_instructions shared_wavefronts l2_sectors dram_read_bytes dram_write_bytes instructions sm_cycles' ;;
    gate:--allow-diff) echo 'engine device uuid driver vbios clocks ecc mig sass all' ;;
    gate:--color) echo 'auto always never' ;;
    calibrate:--sweep) echo 'widths sizes distinct lookup warps pressure large copies' ;;
    calibrate:--workload) echo 'add add_switch add_runtime refill modules stencil_1d conv_1d conv_2d conv_3d lookup all' ;;
    calibrate:--path) echo 'constant global readonly restrict global_l2 texture shared shared_copies shared_fill_only shuffle select_4 select_16 param constant_uniform constant_operand all' ;;
    calibrate:--pattern) echo 'per_block per_warp per_thread pseudo_random half_warp distinct broadcast lockstep hashed all' ;;
    calibrate:--source) echo 'random zipf distinct unequal sorted runs lockstep all' ;;
    calibrate:--table-bytes) echo 'whole' ;;
    calibrate:--warps-per-sm) echo 'full' ;;
    calibrate:--extra-shared-bytes) echo 'none' ;;
    calibrate:--polluter-bytes) echo 'none' ;;
    calibrate:--cache-state) echo 'hot cold all' ;;
    calibrate:--engine) echo 'cuda model auto' ;;
    calibrate:--device) echo 'all' ;;
    calibrate:--counters) echo 'default none ldc_instructions idc_requests idc_hits idc_misses idc_misses_new idc_misses_pending idc_misses_retried idc_active_cycles gcc_constant_requests gcc_constant_misses imc_requests global_load_instructions l1_requests l1_sectors texture_instructions shared_load_instructions shared_wavefronts l2_sectors dram_read_bytes dram_write_bytes instructions sm_cycles' ;;
    calibrate:--color) echo 'auto always never' ;;
    export:--format) echo 'csv jsonl' ;;
    list:) echo 'workloads paths patterns sources parameters sweeps cache_states counters engines devices chips metrics cards images' ;;
    list:--color) echo 'auto always never' ;;
    doctor:--color) echo 'auto always never' ;;
    esac
}

_cbank()
{
    local command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} option= list= words=
    COMPREPLY=()

    # Bash splits at "=": the value is a word of its own, or the "=" itself where it is still empty.
    if [[ $word == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} word=
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]}
    fi
    words=$(_cbank_words "$command" "$option")

    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$(_cbank_options '')" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_cbank_options "$command")" -- "$word"))
    elif [[ -n $words ]]; then
        # A list: what stands before the last comma stays.
        [[ $word == *,* ]] && list=${word%,*},
        COMPREPLY=($(compgen -P "$list" -W "$words" -- "${word##*,}"))
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}

complete -F _cbank cbank
