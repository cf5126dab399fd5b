#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian's numba compiles no CUDA kernel with Debian's CUDA.
#
# tool: numba 0.56.4 and libnvvm 11.8, both of Debian 12
# question: a kernel reads an array of NumPy that is global to it: in which memory does PTX have it?
# guess (70 %): in .const
# what is: no PTX. libnvvm refuses every kernel, one without a table, too: "IR version 1.6
#   incompatible with current version 2.0".
# why: numba writes the version of NVVM IR that it was made for, 1.6, into each module. The library
#   of 11.8 takes 2.0. The package of numba suggests that of CUDA, and both are of one release.
# what it means: a table that numba reads cannot be looked at, and not measured, with the packages
#   of this distribution. It takes a numba or a CUDA from elsewhere.
#
# usage: findings/numba_nvvm_version.sh
#
# It fetches 155 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack bookworm "main contrib non-free" python3-numba=0.56.4+dfsg-2 python3-llvmlite=0.39.1-2 \
    python3-numpy=1:1.24.2-1+deb12u1 python3-pkg-resources=66.1.1-1+deb12u2 \
    python3.11-minimal=3.11.2-6+deb12u8 libpython3.11-minimal=3.11.2-6+deb12u8 \
    libpython3.11-stdlib=3.11.2-6+deb12u8 libexpat1=2.5.0-1+deb12u2 libffi8=3.4.4-1 \
    libuuid1=2.38.1-5+deb12u3 libblas3=3.11.0-2 liblapack3=3.11.0-2 \
    libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1 libllvm14=1:14.0.6-12 \
    libgomp1=12.2.0-14+deb12u1 libedit2=3.1-20221030-2 libbsd0=0.11.7-2 \
    libxml2=2.9.14+dfsg-1.3~deb12u6 libicu72=72.1-3+deb12u1 libz3-4=4.8.12-3.1 \
    libnvvm4=11.8.89~11.8.0-5~deb12u1 libcudart11.0=11.8.89~11.8.0-5~deb12u1 \
    nvidia-cuda-toolkit=11.8.89~11.8.0-5~deb12u1
root=$place/bookworm/root
library=$root/usr/lib/x86_64-linux-gnu
mkdir -p cuda/lib64 cuda/nvvm/lib64 cuda/nvvm/libdevice
ln -s "$library"/libcudart.so.11.8* cuda/lib64/libcudart.so
ln -s "$library/libnvvm.so.4" cuda/nvvm/lib64/libnvvm.so
ln -s "$root"/usr/lib/nvidia-cuda-toolkit/libdevice/*.bc cuda/nvvm/libdevice/
cat >kernels.py <<'END'
import numpy
from numba import cuda, int32

table = numpy.arange(64, dtype=numpy.int32)


def reads_table(to, i):
    to[0] = table[i]


def reads_none(to, i):
    to[0] = i


for kernel in (reads_table, reads_none):
    try:
        ptx, _ = cuda.compile_ptx(kernel, (int32[:], int32), cc=(8, 0))
        print(f"{kernel.__name__}: PTX with .const {ptx.count('.const')} times")
    except cuda.cudadrv.nvvm.NvvmError as error:
        why = [line for line in str(error).splitlines() if "IR version" in line]
        print(f"{kernel.__name__}: refused:", *why)
END
LD_LIBRARY_PATH=$library:$library/blas:$library/lapack PYTHONHOME=$root/usr CUDA_HOME=$place/cuda \
    PYTHONPATH=$root/usr/lib/python3/dist-packages NUMBA_CACHE_DIR=$place \
    "$root/usr/bin/python3.11" kernels.py 2>log | tee said
for kernel in reads_table reads_none; do
    grep -q "^$kernel: refused: IR version 1.6 incompatible with current version 2.0" said ||
        fail "$kernel is not refused as it was: $(tail -1 log)" 1
done
