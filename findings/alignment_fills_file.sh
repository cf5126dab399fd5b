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

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

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
