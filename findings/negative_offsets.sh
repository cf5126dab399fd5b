#!/bin/sh
# SPDX-License-Identifier: MIT
#
# nvdisasm prints the upper half of a constant bank with negative offsets.
#
# tool: nvdisasm 12.4.131 (also 11.8 and 11.2)
# question: what is the text of a load of a table behind 32 KB?
# guess: none was made of it. It was seen beside another guess, that three versions print
#   constants alike (70 %, right).
# what is: the word at 0x8000 of bank 3 is c[0x3][-0x8000], that at 0xfffc c[0x3][-0x4]. At an
#   index it is c[0x3][R0+-0x8000].
# why: the field of 16 bits is printed as a signed number
# what it means: who reads the place of a table out of the text must add 0x10000 to a negative
#   offset. A pattern of c[0x3][0x...] misses every load of the upper half of a full bank, and a
#   byte there reads as if it lay before the bank.
#
# usage: findings/negative_offsets.sh
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

cat >n.ptx <<'END'
.version 7.8
.target sm_80
.address_size 64
.visible .const .align 4 .b8 table[65536] = {1};
.visible .entry k(.param .u64 out)
{
    .reg .u64 %to;
    .reg .u32 %a;
    ld.param.u64 %to, [out];
    ld.const.u32 %a, [table+0x7ffc];
    st.global.u32 [%to], %a;
    ld.const.u32 %a, [table+0x8000];
    st.global.u32 [%to+4], %a;
    ld.const.u32 %a, [table+0xfffc];
    st.global.u32 [%to+8], %a;
    ret;
}
END
"$bin/ptxas" -arch sm_80 n.ptx -o n.cubin || fail 'ptxas does not compile the table' 1
"$bin/nvdisasm" -c n.cubin | grep -o 'c\[0x3\][^ ;,]*' | tee operands
for operand in '0x7ffc' '-0x8000' '-0x4'; do
    grep -qxF "c[0x3][$operand]" operands || fail "no c[0x3][$operand]" 1
done
