# SPDX-License-Identifier: MIT
#
# Completion of cbank for bash. Asks the program for everything, so that it knows new rows of its tables.

# The names in a table of cbank's: one line each of the JSON has one.
_cbank_names()
{
    "$1" list "$2" --json 2>/dev/null | sed -n 's/^.*"name":[[:space:]]*"\([^"]*\)".*$/\1/p'
}

# Values of an option that takes rows of a table; other options take files or numbers.
_cbank_values()
{
    case $2 in
    --workload | --path | --pattern | --regime) echo all; _cbank_names "$1" "${2#--}s" ;;
    --counters) echo default none; _cbank_names "$1" counters ;;
    --engine) echo auto; _cbank_names "$1" engines ;;
    --color) echo auto always never ;;
    --device) [[ ${COMP_WORDS[1]} != characterize ]] && echo all ;;
    esac
}

_cbank()
{
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} option= list=
    COMPREPLY=()

    # Bash splits at "=": the value is a word of its own, or the "=" itself where it is still empty.
    if [[ $word == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} word=
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]}
    fi

    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')" -- "$word"))
    elif [[ $word == --* ]]; then
        COMPREPLY=($(compgen -W "$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null |
            sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p')" -- "$word"))
    elif [[ $option == --* && -n $(_cbank_values "$program" "$option") ]]; then
        # A list: what stands before the last comma stays.
        [[ $word == *,* ]] && list=${word%,*},
        COMPREPLY=($(compgen -P "$list" -W "$(_cbank_values "$program" "$option")" -- "${word##*,}"))
    elif [[ ${COMP_WORDS[1]} == list ]]; then
        COMPREPLY=($(compgen -W "workloads paths patterns parameters regimes counters engines devices
            chips images" -- "$word"))
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}

complete -F _cbank cbank
