#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A constant of one kernel counts against the 64 KB of all.
#
# tool: ptxas 12.4.131
# question: may `.const` be declared within a kernel?
# guess (55 %): refused: module scope alone
# what is: taken. But it is no memory of that kernel: all of them are in the one bank 3 of the
#   module, next to each other. Two kernels with a table of 40,000 bytes each are refused.
# why: the bank is a section of the module; scope is a matter of names
# what it means: kernels that never run together, and do not see each other's tables, share 64 KB.
#   Only another module has another 64 KB.
#
# usage: findings/kernel_scope_budget.sh
#
# It fetches 87 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin

compile() { # BYTES
    printf '.version 7.8\n.target sm_80\n.address_size 64\n' >scope.ptx
    for kernel in a b; do
        cat >>scope.ptx <<END
.visible .entry $kernel(.param .u64 out)
{
    .const .align 4 .b8 table[$1] = {2};
    .reg .u64 %to;
    .reg .u32 %a;
    ld.param.u64 %to, [out];
    ld.const.u32 %a, [table+8];
    st.global.u32 [%to], %a;
    ret;
}
END
    done
    "$bin/ptxas" -arch sm_80 scope.ptx -o scope.cubin
}
compile 4000 || fail 'a table in a kernel is refused' 1
usage=$("$bin/cuobjdump" -res-usage scope.cubin | grep -o 'CONSTANT\[3\]:[0-9]*')
echo "two tables of 4,000 bytes: $usage"
[ "$usage" = 'CONSTANT[3]:8000' ] || fail 'they are not in one bank' 1
compile 40000 2>log && fail 'two tables of 40,000 bytes are taken' 1
echo "two tables of 40,000 bytes: $(cat log)"
grep -q 'too much global constant data' log || fail 'the reason is another one' 1
