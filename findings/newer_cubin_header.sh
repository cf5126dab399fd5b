#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Old readers take a cubin of CUDA 13 for one of an architecture that never was.
#
# tool: cuobjdump 11.8.89 and 12.4.131, on npm's @node-llama-cpp/linux-x64-cuda 3.22.1
# question: can they list and expand the images of that library?
# guess (50 %): 12.4 lists them, and cannot expand them (zstd)
# what is: 12.4 expands them all, and names sm_86, sm_89, sm_120 and sm_121. 11.8 says that
#   support for sm_29 has been removed, of a file that has no such image; of a single cubin for
#   sm_86, sm_4.
# why: the cubins have ELF ABI version 8: e_flags moved the architecture from the lowest byte to
#   the second. cuobjdump 12.4 knows that form. 11.8 does not check the version: of the single
#   cubin it reads the lowest byte, 4. Where 29 comes from is not known.
# what it means: "support for sm_N has been removed" may mean that the reader is old, not the
#   file. Look at e_ident[8] before the architecture: 7 or 8.
#
# usage: findings/newer_cubin_header.sh
#
# It fetches 340 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack trixie "contrib non-free" nvidia-cuda-toolkit=12.4.131~12.4.1-2
bin=$place/trixie/root/usr/bin
unpack bookworm "contrib non-free" nvidia-cuda-toolkit=11.8.89~11.8.0-5~deb12u1
old=$place/bookworm/root/usr/bin
command -v npm >/dev/null || fail 'no npm here' 3
npm install --prefix "$place" --cache "$place/cache" --ignore-scripts --no-audit --no-fund --force \
    --loglevel error @node-llama-cpp/linux-x64-cuda@3.22.1 >&2 || fail 'cannot fetch the library' 3
library=$(find "$place/node_modules" -name libggml-cuda.so)
"$bin/cuobjdump" -lelf "$library" | grep -o 'sm_[0-9]*' | sort | uniq -c >images
echo "12.4: $(tr '\n' ' ' <images)"
"$bin/cuobjdump" -xelf libggml-cuda.1.sm_86.cubin "$library" >log || fail '12.4 cannot expand one' 1
cubin=libggml-cuda.1.sm_86.cubin
"$bin/cuobjdump" -elf "$cubin" | grep 'abi=' | tee header
grep -q 'abi=8, sm=86' header || fail '12.4 reads another header' 1
for file in "$library" "$cubin"; do
    "$old/cuobjdump" -lelf "$file" >log 2>&1
    echo "11.8: $(tail -n 1 log)"
    grep -q "Support for 'sm_[0-9]*' has been removed" log || fail '11.8 says something else' 1
done
