#!/bin/sh
# SPDX-License-Identifier: MIT
#
# An aligned parameter of a kernel has another offset on every architecture.
#
# tool: ptxas and cuobjdump 12.4.131
# question: `.param .align 128` behind a pointer: which offset has it?
# guess (60 %): a multiple of 128 among the parameters, not in the constant bank, where they begin
#   at 0x160 (sm_80) or 0x210 (sm_90). Of align 256 (50 %): refused
# what is: it is aligned in the bank: offset 0x20 among the parameters of sm_80, 0x70 of sm_90.
#   Alignments of 256 and 1024 are taken, too.
# why: ptxas adds the beginning of the parameters before it aligns; probably so that vector loads
#   of the bank are aligned
# what it means: a buffer of packed arguments that follows the rules of a C struct (offset 128)
#   does not fit, and what fits sm_80 does not fit sm_90. Take the offsets from the cubin
#   (EIATTR_KPARAM_INFO) or from the driver.
#
# usage: findings/parameter_alignment.sh
#
# It fetches 87 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin

offset() { # ARCHITECTURE ALIGNMENT
    cat >p.ptx <<END
.version 7.8
.target $1
.address_size 64
.visible .entry k(.param .u64 out, .param .align $2 .b8 table[256])
{
    .reg .u64 %to;
    .reg .u32 %a;
    ld.param.u64 %to, [out];
    ld.param.u32 %a, [table+4];
    st.global.u32 [%to], %a;
    ret;
}
END
    "$bin/ptxas" -arch "$1" p.ptx -o p.cubin || fail "ptxas refuses align $2 on $1" 1
    "$bin/cuobjdump" -elf p.cubin | sed -n 's/.*Ordinal : 0x1.*Offset *: \(0x[0-9a-f]*\).*/\1/p'
}
for row in sm_80:128:0x20 sm_90:128:0x70 sm_80:1024:0x2a0 sm_90:1024:0x1f0; do
    architecture=${row%%:*} said=${row##*:} alignment=${row#*:}
    alignment=${alignment%:*}
    offset=$(offset "$architecture" "$alignment")
    echo "$architecture, align $alignment: offset $offset"
    [ "$offset" = "$said" ] || fail "$said was expected" 1
done
