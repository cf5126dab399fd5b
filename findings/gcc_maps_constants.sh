#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gcc copies a const table to the GPU and back, for each target region.
#
# tool: gcc 12.2.0, offloading by OpenMP
# question: a `static const` table of a file that a target region reads: where is it?
# guess (65 %): in .global of the offloaded code
# what is: in no section of the GPU: it is mapped as any array of the host, `map(tofrom:t [len:
#   256][implicit])`. It goes there and back for each region. The GPU's code reads it by generic
#   loads through a pointer.
# why: a variable without `declare target` lives on the host, const or not; implicit maps of
#   arrays are tofrom, and const does not make them `to`
# what it means: a benchmark of a lookup table by OpenMP has two copies in each region, and no
#   constant cache. `declare target` ends the copies.
#
# usage: findings/gcc_maps_constants.sh
#
# It fetches 50 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack bookworm main gcc-12=12.2.0-14+deb12u1 cpp-12=12.2.0-14+deb12u1 libisl23=0.25-1.1 \
    libmpc3=1.3.1-1 libmpfr6=4.2.0-1 libgmp10=2:6.2.1+dfsg1-1.1 libgcc-12-dev=12.2.0-14+deb12u1
export LD_LIBRARY_PATH="$place/bookworm/root/usr/lib/x86_64-linux-gnu"
cat >t.c <<'END'
static const int t[64] = {1, 2, 3, 4};
int look(int i)
{
    int value = 0;
#pragma omp target map(tofrom : value)
    value = t[i & 63];
    return value;
}
END
"$place/bookworm/root/usr/bin/gcc-12" -fopenmp -foffload=disable -S -fdump-tree-gimple=gimple \
    t.c -o /dev/null || fail 'gcc does not compile the table' 1
grep -o 'map([a-z]*:t [^)]*)' gimple || fail 'the table is not mapped' 1
grep -q 'map(tofrom:t \[len: 256\]\[implicit\])' gimple || fail 'it is mapped otherwise' 1
