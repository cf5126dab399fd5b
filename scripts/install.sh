#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what make has built, or removes what was installed; `make install` and `make uninstall`
# call it.
#
# usage: scripts/install.sh install BUILD | uninstall
#
# The folder is $DESTDIR$PREFIX. Its share/cbank/manifest lists the installed files. Those alone are
# removed, and folders of share/cbank that are then empty. Exit status: 0 done, 1 a file cannot be
# written, 2 the folder is refused.

set -e
umask 022
CDPATH= cd -P -- "$(dirname -- "$0")/.."
root=$DESTDIR$PREFIX manifest=share/cbank/manifest build=$2 tab=$(printf '\t')

fail() { # MESSAGE
    echo "cbank: error: $1; nothing was done" >&2
    exit 2
}

case $PREFIX in
/*) ;;
*) fail "PREFIX is '$PREFIX'; it must be a path from / on" ;;
esac
case $root in
/*) ;;
*) root=./$root ;;
esac

# One file a line: mode, name below the folder, source. A name with a newline or a tab is none of
# cbank's.
files() {
    printf '%s\t%s\t%s\n' 755 bin/cbank "$build/cbank" \
        644 include/cbank.cuh kernels/cbank.cuh \
        644 include/cbank_shared.cuh kernels/cbank_shared.cuh \
        644 include/cbank_case.h kernels/cbank_case.h \
        644 share/bash-completion/completions/cbank docs/cbank.bash \
        755 share/cbank/scripts/fleet_run.sh scripts/fleet_run.sh \
        755 share/cbank/scripts/fleet.sbatch scripts/fleet.sbatch
    [ ! -e docs/cbank.1 ] || printf '644\tshare/man/man1/cbank.1\tdocs/cbank.1\n'
    for source in results/*schema.json; do
        printf '644\tshare/cbank/%s\t%s\n' "${source##*/}" "$source"
    done
    for source in results/cards/*.json; do
        printf '644\tshare/cbank/cards/%s\t%s\n' "${source##*/}" "$source"
    done
    for source in examples/*.cu; do printf '644\tshare/cbank/%s\t%s\n' "$source" "$source"; done
    # What editors leave there has other endings.
    (cd scripts && find cbank -type f ! -name '.*' ! -name '*[[:cntrl:]]*' \( -name '*.py' \
        -o -name '*.sql' -o -name '*.mplstyle' -o -name '*.html' -o -name '*.css' \
        -o -name '*.js' \)) |
        while IFS= read -r name; do
            printf '644\tshare/cbank/python/%s\tscripts/%s\n' "$name" "$name"
        done
}

# Removes the files whose names are on standard input.
remove() {
    while IFS= read -r name; do
        case /$name/ in
        *//* | */../*)
            echo "cbank: warning: $root/$manifest names '$name', which is not below it;" \
                "it stays" >&2
            ;;
        *) rm -f -- "$root/$name" ;;
        esac
    done
}

case $1 in
install)
    [ ! -e "$root" ] || [ -d "$root" ] || fail "'$root' is no folder"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    files >"$scratch/files"
    { cut -f 2 "$scratch/files" && echo $manifest; } | sort >"$scratch/new"
    cp "$scratch/new" "$scratch/all"
    # Until the end, also what an older version left there.
    [ ! -f "$root/$manifest" ] || sort -u "$root/$manifest" "$scratch/new" >"$scratch/all"
    install -D -m 644 -- "$scratch/all" "$root/$manifest"
    while IFS=$tab read -r mode name source; do
        install -D -m "$mode" -- "$source" "$root/$name"
    done <"$scratch/files"
    comm -23 "$scratch/all" "$scratch/new" | remove
    install -m 644 -- "$scratch/new" "$root/$manifest"
    ;;
uninstall)
    [ -f "$root/$manifest" ] || fail "'$root' has no $manifest, the list that make install writes"
    remove <"$root/$manifest"
    find "$root/share/cbank" -depth -type d -empty -delete
    ;;
*)
    sed -n 's/^# usage: /usage: /p' "$0" >&2
    exit 2
    ;;
esac
