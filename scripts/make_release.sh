#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scripts/make_release.sh VERSION BUILD: makes in BUILD/release what a release publishes, for this
# machine's processor:
#
#   cbank-VERSION.tar.gz                  the source, of HEAD
#   cbank-VERSION-linux-CPU-cudaN         the program with cJSON and cudart inside, for every
#                                         architecture that the toolkit knows: one for each toolkit
#                                         of TOOLKITS
#   cbank_VERSION_CPU.deb                 the first of them, installed by Debian and Ubuntu
#   cbank-VERSION-py3-none-any.whl        the analysis, for pip
#   Containerfile                         an image of the package: podman build BUILD/release
#   SHA256SUMS
#
# TOOLKITS: folders of CUDA toolkits. Without any, the program has no kernels. The same commit and
# compilers make the same bytes. Exit status: 1 a part cannot be made, 2 the tree or the changelog
# is not that of a release.

set -e
CDPATH= cd -P -- "$(dirname -- "$0")/.."
version=$1 build=$2 out=$2/release
cpu=$(uname -m)

refuse() { # MESSAGE
    echo "make release: $1" >&2
    exit 2
}

[ -z "$(git status --porcelain --untracked-files=normal)" ] ||
    refuse "the tree has changes that are not committed; commit them, or stash them"
grep -q "^## $version\b" CHANGELOG.md ||
    refuse "CHANGELOG.md has no section '## $version'; add it, or set VERSION"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$out"
mkdir -p "$out"

make dist BUILD="$build" >/dev/null
cp "$build/cbank-$version.tar.gz" "$out/"
packaged=
for toolkit in ${TOOLKITS:-none}; do
    name=none
    [ "$toolkit" = none ] ||
        name=cuda$("$toolkit/bin/nvcc" --version | sed -n 's/.*, V\([0-9]*\).*/\1/p')
    parts=$build/release-parts/$name
    if [ "$name" = none ]; then set -- NO_CUDA=1; else set -- CUDA="$toolkit" ARCHS=all; fi
    make -s STATIC=1 BUILD="$parts" IMAGES="$parts/images" "$@" all
    strip -o "$out/cbank-$version-linux-$cpu-$name" "$parts/cbank"
    if [ -z "$packaged" ] && command -v dpkg-deb >/dev/null; then
        packaged=1
        make -s STATIC=1 BUILD="$parts" IMAGES="$parts/images" "$@" deb >/dev/null
        cp "$parts/cbank_$version"_*.deb "$out/"
    fi
done
for program in "$out/cbank-$version-linux-"*; do
    # Debian 12 has glibc 2.36.
    newest=$(objdump -T "$program" | sed -n 's/.*GLIBC_\(2[0-9.]*\).*/\1/p' | sort -V | tail -n 1)
    [ "$(printf '%s\n2.36\n' "$newest" | sort -V | tail -n 1)" = 2.36 ] ||
        {
            echo "make release: $program needs glibc $newest, newer than Debian 12's" >&2
            exit 1
        }
done
rm -rf "$build/release-parts/source" "$build/release-parts/wheel" "$build/release-parts/unpacked"
mkdir -p "$build/release-parts/source"
# Of HEAD, as the tarball: git ignores files that a build of Python would take.
tar -xzf "$build/cbank-$version.tar.gz" -C "$build/release-parts/source" --strip-components 1
(cd "$build/release-parts/source/scripts" &&
    "${PYTHON:-python3}" setup.py -q bdist_wheel --dist-dir ../../wheel)
cp "$build"/release-parts/wheel/*.whl scripts/Containerfile "$out/"
# The files of the wheel are packed.
"${PYTHON:-python3}" -I -m zipfile -e "$build"/release-parts/wheel/*.whl \
    "$build/release-parts/unpacked"
scripts/check_published.sh "$build" "$out" "$build/release-parts/unpacked"
(cd "$out" && sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
cat "$out/SHA256SUMS"
