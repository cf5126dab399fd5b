#!/bin/sh
# SPDX-License-Identifier: MIT
#
# clang puts `static const` arrays of a kernel into constant memory.
#
# tool: clang 19.1.7 (also 16.0.6 and 14.0.6)
# question: `static const int t[64]` in a kernel, read at an unknown index: where is it?
# guess (55 %): .global
# what is: .const, as a `const` array of a namespace. Without `static` the same array is .global.
#   nvcc puts the static one into global memory.
# why: clang gives const variables with constant initialisers and static storage the attribute
#   `__constant__`; an automatic array becomes an unnamed constant of the module, which has none
# what it means: one word moves a table between the constant cache and L1. Code that is compiled
#   by both compilers measures two memory spaces, and under clang such tables count against 64 KB.
#
# usage: findings/clang_static_const.sh
#
# It fetches 62 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack bookworm main clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 \
    libllvm19=1:19.1.7-3~deb12u1 libz3-4=4.8.12-3.1
export LD_LIBRARY_PATH="$place/bookworm/root/usr/lib/x86_64-linux-gnu"
cat >t.cu <<'END'
#define KERNEL extern "C" __attribute__((global)) void
KERNEL with_static(int *to, int i)
{
    static const int a[64] = {5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2};
    *to = a[i & 63];
}
KERNEL without(int *to, int i)
{
    const int b[64] = {9, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2};
    *to = b[i & 63];
}
END
"$place/bookworm/root/usr/lib/llvm-19/bin/clang" -x cuda --cuda-device-only -nocudainc \
    -nocudalib --cuda-gpu-arch=sm_80 -O2 -S t.cu -o t.ptx 2>log || fail "$(cat log)" 1
awk '/\.entry/ { kernel = $3; sub(/\(.*/, "", kernel) }
    /ld\.(const|global)/ { print kernel ": " $1 }' t.ptx | tee loads
grep -q 'with_static: ld.const' loads || fail 'static const is not constant memory' 1
grep -q 'without: ld.global' loads || fail 'the automatic array is not global' 1
