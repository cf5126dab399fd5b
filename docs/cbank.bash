# SPDX-License-Identifier: MIT
#
# Completion of cbank for bash: commands, options, names of tables and files. The program itself is
# asked for the words.

# Words that follow an option of a command; nothing where it takes files or numbers.
_cbank_words() { # PROGRAM COMMAND OPTION
    case $2:$3 in
    list:) "$1" list | sed 's/ .*//' ;;
    run:--device) echo all ;;
    *:--pattern | *:--path | *:--workload | *:--source | *:--sweep | *:--engine)
        "$1" list "${3#--}s" --csv
        ;;
    *:--space)
        echo constant global readonly shared shared_async shared_bulk shared_copies param texture \
            shuffle select prmt all
        ;;
    *:--launch-path) "$1" list launch_paths --csv ;;
    *:--cache-state) "$1" list cache_states --csv ;;
    *:--counters) "$1" list counters --csv ;;
    esac 2>/dev/null | sed 's/,.*//; /^name$/d'
}

_cbank_commands() { # PROGRAM
    "$1" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'
}

_cbank() {
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
    local option='' list='' words
    # An option begins a line of help, perhaps behind its letter: "  -o DIR, --output DIR".
    local options='s/^  \(-[a-z]\( [A-Z]*\)\{0,1\}, \)\{0,1\}\(--[a-z-]*\).*/\3/p'
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
        COMPREPLY=($(compgen -W "$(_cbank_commands "$program") help" -- "$word"))
    elif ((COMP_CWORD == 2)) && [[ $command == help ]]; then
        COMPREPLY=($(compgen -W "$(_cbank_commands "$program")" -- "$word"))
    elif [[ $word == -* ]]; then
        words=$("$program" "$command" --help=all | sed -n "$options")
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    elif words=$(_cbank_words "$program" "$command" "$option") && [[ -n $words ]]; then
        # A list: what stands before the last comma stays.
        [[ $word == *,* ]] && list=${word%,*},
        COMPREPLY=($(compgen -P "$list" -W "$words" -- "${word##*,}"))
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}

complete -F _cbank cbank
