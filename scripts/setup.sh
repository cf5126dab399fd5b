#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what a purpose needs and this machine lacks, from the distribution's packages.
#
#   build, store, plots, contribute   the program, stores, figures and reports, the folder of a chip
#   test                              make test
#   all, long                         make test-all (clang with sanitizers and fuzzer), make
#                                     test-long, but optional parts
#   lint, fleet                       optional parts of make test-all: sources, a Slurm cluster
#   static, cuda-11.8, distributions  cJSON in the program, the compiler for an old nvcc, chroots of
#                                     distributions
#
# It installs as root, or by sudo where sudo asks for no password. Otherwise it prints the command
# to type and exits 3. It is quiet when nothing is missing. It never installs CUDA.
#
# A thing is there when it does what it is for: a command runs, a library links, a module is
# imported by PYTHON, which is the Makefile's.

# All packages that cbank needs, in one place. try NAME is how it is tried (see try_NAME), "-" is
# "nothing to add".
#   needed for, try, argument,          Debian and Ubuntu,  Fedora,             Arch
needs='
    build command gcc                   gcc                 gcc                 gcc
    build command make                  make                make                make
    build command ar                    binutils            binutils            binutils
    build links   libc                  libc6-dev           glibc-devel         glibc
    build links   cjson                 libcjson-dev        cjson-devel         cjson
    store module numpy             python3-numpy       python3-numpy       python-numpy
    store module scipy             python3-scipy       python3-scipy       python-scipy
    test  command git                   git                 git                 git
    test  command g++                   g++                 gcc-c++             gcc
    test  links   cmocka                libcmocka-dev       libcmocka-devel     cmocka
    test  python  python                python3             python3             python
    test  module  jsonschema            python3-jsonschema  python3-jsonschema  python-jsonschema
    all   command clang                 clang               clang               clang
    all   fuzzer  clang                 libclang-rt-dev     compiler-rt         compiler-rt
    all   sanitizer address             -                   libasan             -
    all   sanitizer undefined           -                   libubsan            -
    all   command groff                 groff-base          groff               groff
    long  command chromium              chromium            -                   chromium
    plots module  pandas            python3-pandas      python3-pandas      python-pandas
    plots module  scipy             python3-scipy       python3-scipy       python-scipy
    plots module  matplotlib            python3-matplotlib  python3-matplotlib  python-matplotlib
    plots module  jinja2                python3-jinja2      python3-jinja2      python-jinja
    lint  command clang-format-19       clang-format-19     -                   -
    lint  command clang-tidy-19         clang-tidy-19       -                   -
    lint  command shellcheck            shellcheck          ShellCheck          shellcheck
    lint  module  pyflakes              python3-pyflakes    python3-pyflakes    python-pyflakes
    lint  command ctags                 universal-ctags     ctags               ctags
    lint  command black                 black               -                   -
    lint  command shfmt                 shfmt               -                   -
    fleet   command slurmctld       slurm-wlm           slurm-slurmctld     -
    fleet   command slurmd          slurm-wlm           slurm-slurmd        -
    fleet   file    /usr/bin/sbatch slurm-wlm           slurm               -
    fleet   command munged          munge               munge               munge
    static  command dpkg-source         dpkg-dev            -                   -
    cuda-11.8 command g++-11            g++-11              -                   -
    distributions command debootstrap   debootstrap         debootstrap         debootstrap
'

case $1 in
build | lint | fleet | cuda-11.8 | distributions) wanted=$1 ;;
plots) wanted='build plots' ;;
contribute) wanted=build ;;
test) wanted='build store plots test' ;;
all | long) wanted="build store plots test all $1" ;;
static) wanted='build static' ;;
*)
    echo "usage: scripts/setup.sh build|store|plots|contribute|test|all|long|lint|fleet|static|\
cuda-11.8|distributions" >&2
    exit 2
    ;;
esac

# As in the Makefile: the Python that the distribution's packages are for.
python=${PYTHON:-$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)}
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT

# ---- How a thing is tried; all quiet.

try_command() { # runs
    case $1 in
    slurmctld | slurmd) "$1" -V ;;
    *) "$1" --version ;;
    esac
}

try_file() { [ -r "$1" ]; }

try_links() { # a program with it compiles, links and runs
    case $1 in
    libc) code='int main(void) { return puts("") < 0; }' header=stdio.h library= ;;
    cjson)
        code='int main(void) { cJSON_Delete(cJSON_Parse("{}")); return 0; }'
        header=cjson/cJSON.h library=cjson
        ;;
    cmocka)
        code='int main(void) { cmocka_set_message_output(CM_OUTPUT_TAP); return 0; }'
        header=cmocka.h library=cmocka
        ;;
    esac
    # cmocka.h needs other headers before it.
    printf '%s\n' '#include <setjmp.h>' '#include <stdarg.h>' '#include <stddef.h>' \
        '#include <stdint.h>' "#include <$header>" "$code" |
        gcc -x c - -o "$scratch/linked" ${library:+"-l$library"} && "$scratch/linked"
}

# clang links a fuzzer with the sanitizers: a package of its own on some distributions
try_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long n) { return !data && n; }' |
        "$1" -fsanitize=fuzzer,address,undefined -x c - -o "$scratch/fuzzer"
}

try_sanitizer() {
    echo 'int main(void) { return 0; }' | gcc "-fsanitize=$1" -x c - -o "$scratch/sanitized"
}

# Isolated: of the current folder, no module is imported.
try_python() { "$python" -IB -c 'import sys; sys.exit(sys.version_info < (3, 10))'; }

try_module() { "$python" -IB -c "import $1"; }

found() { "try_$1" "$2" </dev/null >/dev/null 2>&1; }

if command -v apt-get >/dev/null 2>&1; then
    column=4 refresh='apt-get update -qq' install='apt-get install -y --no-install-recommends'
elif command -v dnf >/dev/null 2>&1; then
    column=5 refresh=true install='dnf install -y'
elif command -v pacman >/dev/null 2>&1; then
    column=6 refresh=true install='pacman -S --noconfirm --needed'
else
    column=4 refresh=true install=
fi

# list prints "what package" for everything missing.
list() {
    echo "$needs" | while read -r need check argument debian fedora arch; do
        case " $wanted " in *" ${need:-none} "*) ;; *) continue ;; esac
        found "$check" "$argument" && continue
        case $column in 4) package=$debian ;; 5) package=$fedora ;; 6) package=$arch ;; esac
        echo "$argument $package"
    done
}

fail() { # MESSAGE
    echo "setup: $1" >&2
    exit 3
}

missing=$(list)
[ -z "$missing" ] && exit 0

things=$(echo "$missing" | cut -d' ' -f1 | tr '\n' ' ')
packages=$(echo "$missing" | cut -d' ' -f2 | grep -v '^-$' | sort -u | tr '\n' ' ')
echo "setup: missing: $things" >&2

[ -n "$install" ] || fail "no package manager known here; the Debian names are: $packages"
[ -n "$packages" ] ||
    fail "no package of this distribution is known for them; install them by hand, or reinstall gcc"
if [ "$(id -u)" = 0 ]; then
    root=
else
    sudo -n true 2>/dev/null || fail "as root, run: $install $packages"
    root='sudo -n'
fi

echo "setup: $root $install $packages" >&2
# Words are meant to be split here.
# shellcheck disable=SC2086
{
    $root env DEBIAN_FRONTEND=noninteractive $refresh &&
        $root env DEBIAN_FRONTEND=noninteractive $install $packages
} >&2 ||
    fail "the installation failed; run it by hand: $install $packages"

missing=$(list | cut -d' ' -f1 | tr '\n' ' ')
[ -z "$missing" ] || fail "still missing after the installation: $missing(modules: of $python)"
command -v nvcc >/dev/null 2>&1 || [ -x "${CUDA:-/usr/local/cuda}/bin/nvcc" ] ||
    echo "setup: no CUDA toolkit found: cbank is built with the model engine only" >&2
