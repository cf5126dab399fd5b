#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scripts/make_deb.sh VERSION BUILD: makes a Debian package in BUILD of what was built there. The
# same files and SOURCE_DATE_EPOCH make the same bytes. CUDA_VERSION: of the toolkit that the
# program was built with, if any.

set -e
command -v dpkg-deb >/dev/null || {
    echo "make deb needs dpkg-deb, of Debian and what is made of it" >&2
    exit 3
}
version=$1 folder=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root PREFIX=/usr scripts/install.sh install "$folder"
rm "$root/usr/share/cbank/manifest" # dpkg has a list of its own
chmod 755 "$root"
umask 022
documents=$root/usr/share/doc/cbank
package=$folder/cbank_${version}_$(dpkg --print-architecture).deb
program=$root/usr/bin/cbank
export LC_ALL=C

# needed: the packages that hold the libraries that the program names; libc6 from the version on
# that it calls.
needed() {
    libc=$(objdump -T "$program" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1)
    readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r library; do
        dpkg-query -S "*/$library" | sed 's/:.*//' | sort | head -n 1
    done | sort -u | sed "s/^libc6\$/libc6 (>= $libc)/" | paste -sd , | sed 's/,/, /g'
}

# installed_size: in KiB.
installed_size() {
    find "$root/usr" -type f -printf '%s\n' |
        awk '{ sum += $1 } END { print int(sum / 1024) + 1 }'
}

# copyright: of the program, and of what is linked into it.
copyright() {
    cat LICENSE
    if ! readelf -d "$program" | grep -q libcjson; then
        printf '\n-- cJSON, which is part of the program:\n\n'
        cat /usr/share/doc/libcjson-dev/copyright
    fi
    if [ -n "$CUDA_VERSION" ]; then
        printf '\n-- The CUDA runtime library, which is part of the program:\n\n'
        echo "NVIDIA's libcudart_static of CUDA $CUDA_VERSION, under the End User License" \
            "Agreement of the CUDA Toolkit."
    fi
}

strip "$program"
scripts/check_published.sh "$folder" "$root"
install -d "$documents" "$root/DEBIAN"
copyright >"$documents/copyright"
gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
find "$root/usr/share/man" -name '*.1' -exec gzip -9nf {} +
chmod 644 "$documents"/*

(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
cat >"$root/DEBIAN/control" <<END
Package: cbank
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The cbank contributors
Section: science
Priority: optional
Installed-Size: $(installed_size)
Depends: $(needed)
Recommends: python3-jinja2, python3-matplotlib, python3-pandas, python3-scipy
Description: measures what reading a small table costs on an NVIDIA GPU
 A microbenchmark of the load paths of a GPU (constant cache, global memory,
 read-only data cache) under each access pattern, with hardware counters. Every
 result is checked. Where there is no GPU, a model predicts.
END
chmod 644 "$root"/DEBIAN/*

find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# gzip, since what xz writes depends on the number of processors.
dpkg-deb --root-owner-group -Zgzip --build "$root" "$package" >/dev/null
echo "$package"
