#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures every GPU of every node of a fleet, and says what came of it. Slurm carries it
# (scripts/fleet.sbatch), or ssh, or pdsh: see docs/fleet.md. Nothing here needs Slurm.
#
# usage: fleet_run.sh node FOLDER [OPTION...]
#            On each node, at the same time: measures all its GPUs, as `cbank run --device all
#            OPTION...`, into FOLDER/NODE/, and keeps what was printed in FOLDER/NODE/log. Again:
#            what an earlier try left unfinished there is resumed, and a node that is done is left
#            alone.
#        fleet_run.sh end FOLDER STORE [NODE...]
#            Once, when all nodes have ended: lists nodes that failed, or of those named did not
#            answer, with the last lines of their logs; takes what there is into STORE (cbank
#            ingest) and prints the verdict (cbank fleet). Exit codes as of cbank; 1 also when a
#            node failed or did not answer, 2 when a file was refused.
#
# FOLDER is one night's, on a file system that all nodes share. NODE is SLURMD_NODENAME or the name
# of the host. A node that measured nothing exits with 3. CBANK names the program (default: cbank on
# PATH), CBANK_FLEET options of cbank fleet.

cbank=${CBANK:-cbank}
LINES_SHOWN=5

# Keeps the worst exit status so far in `worst`.
note() { # STATUS
    [ "$1" -le "$worst" ] || worst=$1
}

usage() {
    sed -n 's/^# usage: /usage: /p; s/^#        fleet_run/       fleet_run/p' "$0" >&2
    exit 2
}

# ---- On a node

# Ordinals of this node's GPUs, with commas, that the folder $1 has no file of; all, where it sees
# no GPU.
unmeasured() {
    "$cbank" list devices --csv | sed -n 's/.*,cuda,\([0-9]*\),.*,\([-A-Za-z0-9]*\).*/\1 \2/p' | {
        seen=
        while read -r ordinal uuid; do
            seen=1
            grep -qs "$uuid" "$1"/cbank-*.json || printf '%s,' "$ordinal"
        done
        [ -n "$seen" ] || echo all
    }
}

# Resumes a file, in place of this process. It has the plan, but what is compiled is named by the
# options alone.
resume() { # FILE OPTION...
    file=$1
    shift
    left=$#
    while [ "$left" -gt 0 ]; do
        option=$1
        shift
        left=$((left - 1))
        case $option in
        --suite | --kernel=* | --compiler=* | --compiler-options=*) set -- "$@" "$option" ;;
        --kernel | --compiler | --compiler-options)
            value=$1
            shift
            left=$((left - 1))
            set -- "$@" "$option" "$value"
            ;;
        esac
    done
    exec "$cbank" run --resume "$file" "$@"
}

# Resumes what is unfinished in the folder $1, all GPUs side by side, and measures the others. A
# name that was reserved, and never written to, is empty.
measure() {
    folder=$1
    shift
    resumed=
    worst=0
    find "$folder" -name 'cbank-*.json' -size 0 -delete
    # On a fresh night nobody asks first which GPUs there are. Where there is none, the program says
    # why.
    devices=all
    ls "$folder"/cbank-*.json >/dev/null 2>&1 && devices=$(unmeasured "$folder")
    for file in "$folder"/cbank-*.json; do
        [ -e "$file" ] || continue
        [ "$earlier" != 0 ] || continue
        resume "$file" "$@" &
        resumed="$resumed $!"
    done
    for process in $resumed; do
        wait "$process"
        note $?
    done
    [ -n "$devices" ] || return "$worst"
    "$cbank" run --engine cuda --device "${devices%,}" "$@" --json "$folder/"
    note $?
    return "$worst"
}

node() {
    [ $# -ge 1 ] || usage
    # Without a name all nodes would share one folder.
    name=${SLURMD_NODENAME:-$({ uname -n || cat /proc/sys/kernel/hostname ||
        cat /etc/hostname; } 2>/dev/null)}
    name=${name%%.*}
    case $name in
    '' | localhost | -* | *[!-_A-Za-z0-9]*)
        echo "fleet_run.sh: this node has no name of its own ('$name'); set" \
            "SLURMD_NODENAME to one of letters, digits, - and _" >&2
        exit 2
        ;;
    esac
    folder=$1/$name
    shift
    mkdir -p "$folder" || exit 2
    # Another node of the same name may have measured there: its results are not resumed here.
    earlier=$(cat "$folder/status" 2>/dev/null)
    [ "$earlier" = 0 ] && [ -z "$(unmeasured "$folder" 2>>"$folder/log")" ] && exit 0
    rm -f "$folder/status"
    measure "$folder" "$@" >>"$folder/log" 2>&1
    status=$?
    [ "$status" -ne 0 ] || [ -n "$(find "$folder" -name 'cbank-*.json' -size +0)" ] || {
        echo "fleet_run.sh: node $name measured nothing" | tee -a "$folder/log" >&2
        status=3
    }
    echo "$status" >"$folder/status"
    exit "$status"
}

# ---- When all nodes have ended

# Says how the folder of one node failed; nothing where all went well.
failure() {
    if [ ! -d "$1" ]; then
        echo "did not answer"
    elif [ ! -e "$1/status" ]; then
        echo "did not end"
    elif [ "$(cat "$1/status")" != 0 ]; then
        echo "exited $(cat "$1/status")"
    fi
}

end() {
    [ $# -ge 2 ] || usage
    night=$1
    store=$2
    shift 2
    [ -d "$night" ] || {
        echo "fleet_run.sh: no folder $night; run 'fleet_run.sh node $night' on each node first" >&2
        exit 2
    }
    worst=0
    while IFS= read -r name; do
        [ -n "$name" ] || continue
        said=$(failure "$night/$name")
        [ -n "$said" ] || continue
        worst=1
        echo "node $name $said"
        [ -e "$night/$name/log" ] && tail -n "$LINES_SHOWN" "$night/$name/log" | sed 's/^/    /'
    done <<END
$({
        for folder in "$night"/*/; do basename "$folder"; done
        printf '%s\n' "$@"
    } | grep -v '^\*\?$' | sort -u)
END
    # A run that was killed early left the name that it had reserved.
    find "$night" -name 'cbank-*.json' -size 0 -delete
    "$cbank" ingest "$store" "$night"
    status=$?
    # A file that is refused keeps nobody from the verdict on the others; without any there is none
    # on this night.
    [ "$status" -le 2 ] && [ -n "$(find "$night" -name 'cbank-*.json' | head -n 1)" ] ||
        exit "$status"
    note "$status"
    # Words are meant to be split here.
    # shellcheck disable=SC2086
    "$cbank" fleet $CBANK_FLEET "$store"
    note $?
    exit "$worst"
}

case $1 in
node | end)
    step=$1
    shift
    # FOLDER is no option of the commands that it is given to.
    case $1 in
    -*)
        folder=./$1
        shift
        set -- "$folder" "$@"
        ;;
    esac
    "$step" "$@"
    ;;
*) usage ;;
esac
