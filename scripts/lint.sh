#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Formats the sources, or checks them: `make format`, `make lint`.
#
# usage: scripts/lint.sh format
#        scripts/lint.sh check C-SOURCE... -- COMPILER-OPTION...
#
# check looks at formats, at shape and names (scripts/house.py), and for mistakes in C,
# Python and shell. Tools of other distributions judge and format otherwise: both run on Debian 12,
# which .ci/run uses. Elsewhere they say that they did not run, and exit 0.
#
# Exit status: 0 nothing was found; 1 something was; 3 a tool is missing.

cd -P -- "$(dirname -- "$0")/.." || exit 3

# shellcheck disable=SC1091
distribution=$(. /etc/os-release 2>/dev/null && echo "$ID $VERSION_ID")
if [ "$distribution" != 'debian 12' ]; then
    echo "lint: not run: its tools are those of Debian 12, and this is '$distribution'"
    exit 0
fi
[ -e .git ] || {
    echo 'lint: it looks at what git knows, and this is no git repository' >&2
    exit 3
}
scripts/setup.sh lint || exit 3

found() { # PATTERN... of names; no goldens, corpora and data, which stay as they are
    git ls-files -co --exclude-standard -- "$@" ':!tests/golden' ':!tests/corpus' ':!tests/data' |
        while read -r name; do [ -e "$name" ] && echo "$name"; done
}
c_files=$(found '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' '*.def')
python_files=$(found '*.py')
shell_files=$(found '*.sh' '*.sbatch' '*.bash' .ci/run)

format() {
    echo "$c_files" | xargs clang-format-19 -i
    echo "$python_files" | xargs black --quiet
    echo "$shell_files" | xargs shfmt --indent 4 --write
}

check() { # C-SOURCE... -- COMPILER-OPTION...
    status=0
    judge() { # NAME COMMAND...; input is that of the command
        name=$1
        shift
        "$@" || {
            echo "lint: $name found something" >&2
            status=1
        }
    }
    c_sources=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        c_sources="$c_sources $1"
        shift
    done

    judge house scripts/house.py
    echo "$c_files" >"$scratch/c"
    judge 'clang-format (make format)' xargs -a "$scratch/c" clang-format-19 --dry-run -Werror
    echo "$python_files" >"$scratch/python"
    judge 'black (make format)' xargs -a "$scratch/python" black --quiet --check
    judge pyflakes xargs -a "$scratch/python" "${PYTHON:-/usr/bin/python3}" -IB -m pyflakes
    echo "$shell_files" >"$scratch/shell"
    judge 'shfmt (make format)' xargs -a "$scratch/shell" shfmt --indent 4 --diff
    judge shellcheck xargs -a "$scratch/shell" shellcheck
    # Settings: .clang-tidy, tests/.clang-tidy.
    echo "$c_sources" | tr ' ' '\n' >"$scratch/sources"
    # shellcheck disable=SC2016
    judge clang-tidy xargs -a "$scratch/sources" -P "$(nproc)" -n 4 sh -c \
        'options=$1; shift; clang-tidy-19 --quiet "$@" $options 2>/dev/null' lint "$*"
    return "$status"
}

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
case $1 in
format) format ;;
check)
    shift
    check "$@"
    ;;
*)
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
    ;;
esac
