#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Finds out what is missing on this machine to build (setup.sh build), also to draw figures and reports (setup.sh plots),
# also to test (setup.sh test), to test reports in a browser, too (setup.sh browser; without, those tests are skipped), or
# to build with CUDA 11.8 (setup.sh cuda-11.8: the host compiler that its nvcc takes), and installs it from the
# distribution's packages: as root, or by sudo where that asks for no password. Otherwise prints the command to type and
# exits 3. Quiet when nothing is missing. Never installs CUDA.

# What cbank needs, in one place. check NAME is how it is looked for (see found), "-" is "nothing to add".
#   needed for, check, argument,        Debian and Ubuntu,  Fedora,             Arch
needs='
    build command gcc                   gcc                 gcc                 gcc
    build command make                  make                make                make
    build command ar                    binutils            binutils            binutils
    build header  stdlib.h              libc6-dev           glibc-devel         glibc
    build header  cjson/cJSON.h         libcjson-dev        cjson-devel         cjson
    test  header  cmocka.h              libcmocka-dev       libcmocka-devel     cmocka
    test  command clang                 clang               clang               clang
    test  clang   fuzzer                libclang-rt-dev     compiler-rt         compiler-rt
    test  library libasan.so            -                   libasan             -
    test  library libubsan.so           -                   libubsan            -
    test  module  jsonschema            python3-jsonschema  python3-jsonschema  python-jsonschema
    plots module  matplotlib            python3-matplotlib  python3-matplotlib  python-matplotlib
    plots module  jinja2                python3-jinja2      python3-jinja2      python-jinja
    test  command pdffonts              poppler-utils       poppler-utils       poppler
    browser command chromium|chromium-browser chromium      chromium            chromium
    browser command chromedriver        chromium-driver     chromedriver        -
    browser module  selenium            python3-selenium    python3-selenium    python-selenium
    browser file    /usr/share/javascript/d3/d3.min.js libjs-d3 -               -
    lint  command clang-format-19       clang-format-19     -                   -
    lint  command clang-tidy-19         clang-tidy-19       -                   -
    lint  command shellcheck            shellcheck          ShellCheck          shellcheck
    lint  module  pyflakes              python3-pyflakes    python3-pyflakes    python-pyflakes
    static command dpkg-source          dpkg-dev            -                   -
    cuda-11.8 command g++-11            g++-11              -                   -
'

case $1 in
build) wanted='build' ;;
plots) wanted='build plots' ;;
test) wanted='build plots test' ;;
browser) wanted='browser' ;;
lint) wanted='lint' ;;
static) wanted='build static' ;;
cuda-11.8) wanted='cuda-11.8' ;;
*)
    echo "usage: scripts/setup.sh build|plots|test|browser|lint|static|cuda-11.8" >&2
    exit 2
    ;;
esac

# cmocka.h needs other headers before it.
before='#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>'

found() {
    case $1 in
    command) # any of those with | between
        for command in $(echo "$2" | tr '|' ' '); do
            command -v "$command" >/dev/null 2>&1 && return 0
        done
        return 1
        ;;
    file) [ -e "$2" ] ;;
    header)
        { [ "$2" = stdlib.h ] || echo "$before"; echo "#include <$2>"; } |
            gcc -fsyntax-only -x c - 2>/dev/null
        ;;
    clang) # a runtime library of clang's: a package of its own on some distributions
        set -- "$(clang -print-runtime-dir 2>/dev/null)"/libclang_rt."$2"*
        [ -e "$1" ]
        ;;
    library) [ "$(gcc -print-file-name="$2" 2>/dev/null)" != "$2" ] ;;
    module)
        for python in /usr/bin/python3 python3; do
            "$python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$2'))" 2>/dev/null && return 0
        done
        return 1
        ;;
    esac
}

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

missing=$(list)
[ -z "$missing" ] && exit 0

things=$(echo "$missing" | cut -d' ' -f1 | tr '\n' ' ')
packages=$(echo "$missing" | cut -d' ' -f2 | grep -v '^-$' | sort -u | tr '\n' ' ')
echo "setup: missing: $things" >&2

if [ -z "$install" ]; then
    echo "setup: no package manager known here; the Debian names are: $packages" >&2
    exit 3
fi
if [ -z "$packages" ]; then
    echo "setup: no package of this distribution is known for them; install them by hand, or reinstall gcc" >&2
    exit 3
fi
if [ "$(id -u)" = 0 ]; then
    root=
elif sudo -n true 2>/dev/null; then
    root='sudo -n'
else
    echo "setup: as root, run: $install $packages" >&2
    exit 3
fi

echo "setup: $root $install $packages" >&2
# Words are meant to be split here.
# shellcheck disable=SC2086
if ! { $root env DEBIAN_FRONTEND=noninteractive $refresh && \
       $root env DEBIAN_FRONTEND=noninteractive $install $packages; } >&2; then
    echo "setup: the installation failed; run it by hand: $install $packages" >&2
    exit 3
fi

missing=$(list)
if [ -n "$missing" ]; then
    echo "setup: still missing after the installation: $(echo "$missing" | cut -d' ' -f1 | tr '\n' ' ')" >&2
    exit 3
fi
command -v nvcc >/dev/null 2>&1 || [ -x "${CUDA:-/usr/local/cuda}/bin/nvcc" ] ||
    echo "setup: no CUDA toolkit found: cbank is built with the model engine only" >&2
