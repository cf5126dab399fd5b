#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The random numbers of NVIDIA keep no table of their own in constant memory.
#
# tool: libcurand 10.3.0.86 of CUDA 11.8, read by cuobjdump 11.8.89
# question: how many bytes has the largest constant bank 3 in the code for sm_80?
# guess (50 %): 1 to 20 KB: matrices and direction vectors
# what is: 72 bytes, in 6 of 11 cubins, and they are `__cr_lgamma_table` of the maths library. The
#   other cubins have none.
# why: probably because each thread reads another place of a matrix, which serialises in a
#   constant cache
# what it means: code of a library is a poor load for a constant cache. What it reads there are
#   parameters.
#
# usage: findings/libcurand_constants.sh
#
# It fetches 126 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack bookworm "main contrib non-free" nvidia-cuda-toolkit=11.8.89~11.8.0-5~deb12u1 \
    libcurand10=11.1.1+~10.3.0.86~11.8.0-5~deb12u1
root=$place/bookworm/root/usr
"$root/bin/cuobjdump" -xelf sm_80 "$root/lib/x86_64-linux-gnu/libcurand.so.10.3.0.86" >log ||
    fail 'cuobjdump does not read the library' 1
for cubin in *.cubin; do
    "$root/bin/cuobjdump" -res-usage "$cubin" | grep -o 'CONSTANT\[3\]:[0-9]*' | sort -u
done >banks
for cubin in *.cubin; do
    "$root/bin/cuobjdump" -elf "$cubin" | awk '$6 == "OBJECT" || /lgamma_table/ { print $NF }'
done | sort -u >names
echo "$(find . -name '*.cubin' | wc -l) cubins; with constants: $(wc -l <banks)"
sort banks | uniq -c
grep lgamma names
[ "$(sort -u banks)" = 'CONSTANT[3]:72' ] || fail 'the banks have other sizes' 1
