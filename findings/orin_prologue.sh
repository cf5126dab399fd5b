#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every kernel for Orin begins with 20 instructions that its neighbours do not have.
#
# tool: ptxas and nvdisasm 12.4.131; 11.8 and 13.0 do the same
# question: does a kernel without a branch have one on some architecture?
# guess (90 %): no, and the code for sm_86 and sm_87 differs in nothing that counts
#   (scripts/studies/compiler/questions.json: a literal in a kernel is no branch on any)
# what is: for sm_87 alone, kernels and functions begin with `ISETP RZ, UR2`, a branch, 17 BMOV
#   that fill the convergence barriers B0 to B15, and `UMOV UR2, 1`
# why: not known. UR2 is not set before, so a warp passes the 17 once, if the register begins as 0
# what it means: instructions, branches and cycles of a short kernel on a Jetson Orin are not those
#   of the same code on sm_86 or sm_89. Whoever counts a kernel's instructions, or asks whether it
#   branches, subtracts those of an empty kernel.
#
# usage: findings/orin_prologue.sh
#
# It fetches 87 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin

for row in sm_80:0:0 sm_86:0:0 sm_87:17:1 sm_89:0:0; do
    architecture=${row%%:*} said=${row#*:}
    cat >p.ptx <<END
.version 7.8
.target $architecture
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .u64 %to;
    .reg .u32 %a;
    ld.param.u64 %to, [out];
    mov.u32 %a, %tid.x;
    st.global.u32 [%to], %a;
    ret;
}
END
    "$bin/ptxas" -arch "$architecture" p.ptx -o p.cubin || fail "ptxas refuses $architecture" 1
    "$bin/nvdisasm" -c p.cubin >p.sass || fail "nvdisasm refuses $architecture" 1
    barriers=$(grep -c BMOV p.sass)
    branches=$(grep -c '@!*P0 BRA' p.sass)
    echo "$architecture: $barriers BMOV, $branches conditional branches"
    [ "$barriers:$branches" = "$said" ] || fail "$said was expected" 1
done
