#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A relocatable cubin has fixed words of constants without their bank.
#
# tool: nvdisasm and ptxas 12.4.131 (also 11.8 and 11.2)
# question: a cubin of `ptxas -c` with two tables: does nvdisasm tell which table a load reads?
# guess (50 %): no: offset 0 for both, and no name
# what is: a word at a fixed place is printed by the name of its table, as c[`((table + 0x8))],
#   with no bank. A load at an index keeps its bank, c[0x3], and has no name.
# why: the offset is not known before the link; nvdisasm prints the relocation in place of the
#   whole operand, bank included
# what it means: who counts constant loads by a search for c[0x3] finds none of the fixed words in
#   code that is not linked yet. Count after the link, or look for both forms.
#
# usage: findings/relocatable_text.sh
#
# It fetches 87 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin

cat >table.ptx <<'END'
.version 7.8
.target sm_80
.address_size 64
.visible .const .align 4 .b8 first[64] = {1};
.visible .const .align 4 .b8 second[64] = {2};
.visible .entry k(.param .u64 out)
{
    .reg .u64 %to, %at;
    .reg .u32 %i, %a, %b;
    ld.param.u64 %to, [out];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %at, %i, 4;
    ld.const.u32 %a, [second+8];
    st.global.u32 [%to], %a;
    ld.const.u32 %b, [%at];
    st.global.u32 [%to+4], %b;
    ret;
}
END
"$bin/ptxas" -arch sm_80 -c table.ptx -o relocatable.cubin || fail 'ptxas refuses -c' 1
"$bin/ptxas" -arch sm_80 table.ptx -o linked.cubin || fail 'ptxas refuses the table' 1
for kind in relocatable linked; do
    "$bin/nvdisasm" -c "$kind.cubin" | grep -o 'c\[`[^;,]*\|c\[0x3\][^ ;,]*' >"$kind"
    echo "$kind: $(tr '\n' ' ' <"$kind")"
done
grep -q 'second + 0x8' relocatable || fail 'the relocatable text does not name the table' 1
grep -q 'c\[0x3\]\[0x' relocatable && fail 'the relocatable text has bank and offset' 1
grep -q 'c\[0x3\]\[0x48\]' linked || fail 'the linked text has no bank and offset' 1
