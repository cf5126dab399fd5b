#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A constant address that goes to generic and back is not optimised away.
#
# tool: ptxas 12.4.131
# question: `cvta.const`, an index, `cvta.to.const`, `ld.const` in one kernel: do the two cancel?
# guess (60 %): yes: a plain LDC, as if there were no cast
# what is: LDC at the end, but before it the base of the window is read from bank 0 and added, and
#   read again and subtracted: c[0x0][0x50] twice on sm_80
# why: to ptxas the base is an unknown word of the driver; x + base - base is not simplified
# what it means: code whose front end casts (a function that takes any pointer, inlined) has two
#   more operands of bank 0 and an addition a load. A latency of dependent loads has them in it.
#
# usage: findings/generic_round_trip.sh
#
# It fetches 87 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin

sass() { # BODY
    cat >g.ptx <<END
.version 7.8
.target sm_80
.address_size 64
.visible .const .align 4 .b8 table[4096] = {2};
.visible .entry k(.param .u64 out)
{
    .reg .u64 %to, %at, %index;
    .reg .u32 %i, %a;
    ld.param.u64 %to, [out];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %index, %i, 4;
    mov.u64 %at, table;
    $1
    ld.const.u32 %a, [%at];
    st.global.u32 [%to], %a;
    ret;
}
END
    "$bin/ptxas" -arch sm_80 g.ptx -o g.cubin || fail 'ptxas does not compile the kernel' 1
    "$bin/nvdisasm" -c g.cubin >g.sass
    grep -q 'LDC R' g.sass || fail 'no LDC' 1
    grep -c 'c\[0x0\]\[0x50\]' g.sass
}
plain=$(sass 'add.u64 %at, %at, %index;') || true
round=$(sass 'cvta.const.u64 %at, %at; add.u64 %at, %at, %index; cvta.to.const.u64 %at, %at;')
echo "operands that are the base of the window: $plain without casts, $round with them"
[ "$plain $round" = '0 2' ] || fail '0 and 2 were expected' 1
