#!/bin/sh
# SPDX-License-Identifier: MIT
#
# objdump and nm read a cubin that strip and objcopy of the same package refuse.
#
# tool: GNU binutils 2.40, on a cubin of ptxas 12.4.131
# question: a cubin after `strip`: do nvdisasm and cuobjdump still read its code?
# guess (55 %): both do
# what is: there is no such file: strip and objcopy exit 1, "Unable to recognise the format of the
#   input file". objdump and nm read the same file as elf64-little.
# why: binutils know no such architecture; they read it as generic ELF, and refuse to write it
# what it means: `objcopy -O binary -j .nv.constant3` gets no table out of a cubin, although
#   objdump lists that section. `objdump -s -j` prints it.
#
# usage: findings/strip_refuses.sh
#
# It fetches 95 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

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
unpack bookworm main binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 \
    libctf-nobfd0=2.40-2
export LD_LIBRARY_PATH="$place/bookworm/root/usr/lib/x86_64-linux-gnu"
tools=$place/bookworm/root/usr/bin/x86_64-linux-gnu
cat >t.ptx <<'END'
.version 7.8
.target sm_80
.address_size 64
.visible .const .align 4 .b8 table[64] = {1, 2, 3, 4};
.visible .entry k(.param .u64 out)
{
    .reg .u64 %to;
    .reg .u32 %a;
    ld.param.u64 %to, [out];
    ld.const.u32 %a, [table+8];
    st.global.u32 [%to], %a;
    ret;
}
END
"$bin/ptxas" -arch sm_80 t.ptx -o t.cubin || fail 'ptxas does not compile the table' 1
"$tools-objdump" -h t.cubin | grep -o 'file format.*\|\.nv\.constant3' || fail 'objdump refuses' 1
"$tools-nm" t.cubin | grep table || fail 'nm refuses' 1
for tool in strip objcopy; do
    case $tool in
    strip) set -- -o out ;;
    objcopy) set -- -O binary -j .nv.constant3 ;;
    esac
    "$tools-$tool" "$@" t.cubin 2>log && fail "$tool takes it" 1
    sed 's/.*x86_64-linux-gnu-//' log
    grep -q 'recognise the format' log || fail "$tool refuses for another reason" 1
done
