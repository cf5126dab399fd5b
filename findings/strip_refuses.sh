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

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

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
