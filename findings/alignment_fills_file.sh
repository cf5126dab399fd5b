#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A table that is aligned to more than the bank is taken, and fills the cubin.
#
# tool: ptxas 12.4.131 (also 11.8)
# question: `.const .align 131072` on a table of 4 bytes: is it refused? A bank has 65,536 bytes.
# guess (55 %): refused
# what is: taken, with no warning, if the table comes first. The cubin has over 131,072 bytes: the
#   section begins at a multiple of the alignment in the file. Behind another table it is refused,
#   for the padding counts.
# why: ptxas checks the size of the bank alone, and passes the alignment on to the file
# what it means: a cubin that is far too large for its tables may have one that is aligned too
#   much. Constant memory cannot honour that alignment: only the place in the bank is known.
#
# usage: findings/alignment_fills_file.sh
#
# It fetches 87 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

name=$(basename "$0" .sh)
fail() { # MESSAGE STATUS
    echo "$name: $1" >&2
    exit "$2"
}
place=$(mktemp -d) || exit 3
trap 'rm -rf "$place"' EXIT
trap 'exit 3' HUP INT TERM
cd "$place" || exit 3

# Unpacks packages of a suite of Debian here, with lists of their own; nothing is installed.
unpack() { # SUITE SECTION NAME=VERSION...
    suite=$1 section=$2
    shift 2
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # shellcheck disable=SC2016 # apt's own variables
    mirror=$(env -u APT_CONFIG apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' | awk -v release="$codename" '$2 == release && $3 == "main" \
        { print $1; exit }')
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$suite/lists/partial" "$suite/cache/archives/partial" "$suite/debs"
    echo "deb [signed-by=$key] $mirror $suite $section" >"$suite/sources.list"
    cat >"$suite/apt.conf" <<END
Dir::State::Lists "$place/$suite/lists";
Dir::Cache "$place/$suite/cache";
Dir::Etc::SourceList "$place/$suite/sources.list";
Dir::Etc::SourceParts "-";
APT::Sandbox::User "$(id -un)";
END
    export APT_CONFIG="$place/$suite/apt.conf"
    apt-get -qq -o APT::Update::Error-Mode=any update >&2 || fail "no lists of $suite" 3
    (cd "$suite/debs" && apt-get -qq download "$@" >&2) || fail "cannot fetch $*" 3
    for package in "$suite"/debs/*.deb; do
        dpkg-deb -x "$package" "$suite/root" || fail "cannot unpack $package" 3
    done
    rm -r "$suite/debs"
}

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin

size_of() { # ALIGNMENT
    cat >a.ptx <<END
.version 7.8
.target sm_80
.address_size 64
.visible .const .align $1 .b8 table[4] = {2};
.visible .entry k(.param .u64 out)
{
    .reg .u64 %to;
    .reg .u32 %a;
    ld.param.u64 %to, [out];
    ld.const.u32 %a, [table];
    st.global.u32 [%to], %a;
    ret;
}
END
    "$bin/ptxas" -arch sm_80 a.ptx -o a.cubin >a.log 2>&1 || fail "ptxas refuses align $1" 1
    [ ! -s a.log ] || fail "ptxas says something: $(cat a.log)" 1
    wc -c <a.cubin
}
for alignment in 4 65536 131072; do
    size=$(size_of "$alignment") || exit 1
    echo "align $alignment: a cubin of $size bytes"
done
[ "$size" -gt 131072 ] || fail 'the cubin is small' 1
