#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fetches what building cbank needs of CUDA 11.8, the last toolkit for Kepler, and prints its directory.

    make CUDA="$(scripts/fetch_cuda_11_8.py)" BUILD=build/cuda-11.8 IMAGES=build/cuda-11.8/images

It comes from the packages of Debian 12 (section non-free) and is unpacked into a directory of its own: nothing
is installed, and no other toolkit is disturbed. Where it is already there, nothing is fetched. Exit status: 0
the toolkit is there, 1 what came is not what was expected, 2 usage, 3 it cannot be had on this machine.
"""

import argparse
import hashlib
import http.client
import io
import lzma
import os
import platform
import shutil
import stat
import sys
import tarfile
import tempfile
import urllib.request

MIRROR = "http://deb.debian.org/debian"
FOLDER = "pool/non-free/n/nvidia-cuda-toolkit"
TOOLKIT = "nvidia-cuda-toolkit_11.8.89~11.8.0-5~deb12u1_amd64.deb"
LIBRARIES = "nvidia-cuda-dev_11.8.89~11.8.0-5~deb12u1_amd64.deb"

# What is fetched: file, first byte (None: all of the file), bytes, SHA-256. That of a whole package is the one
# in Debian's Packages index. The libraries are 740 MiB, of which two blocks are wanted: their data.tar.xz is made
# of blocks that stand alone, the first of which holds all headers and the 44th libcudart_static.a.
COMPILER = (TOOLKIT, None, 83993576, "d1156026e704fe0368b6295db06224ed00a727966fb13454f34e3f3102db0457")
HEADERS = (LIBRARIES, 7568, 1038676, "c5b5eab0bdfbe4949d261fe3c25c9bb9e55fe43f7174f57b0137b65cec79e40d")
RUNTIME = (LIBRARIES, 260439296, 6816664, "cda94f0eb16a4fb39b402d1660d7cd83c8b0e846e460043c2bdaf4cbaf51169f")
XZ_HEADER_BYTES = 12  # before the first block
RUNTIME_AT = 18992640  # of libcudart_static.a in its block, unpacked

# Where the members of the packages go, by the beginning of their names; the first that fits.
PLACES = (
    ("./usr/lib/nvidia-cuda-toolkit/bin/cicc", "nvvm/bin/cicc"),
    ("./usr/lib/nvidia-cuda-toolkit/bin/nvcc", "bin/nvcc"),
    ("./usr/lib/nvidia-cuda-toolkit/bin/crt/", "bin/crt/"),
    ("./usr/lib/nvidia-cuda-toolkit/libdevice/", "nvvm/libdevice/"),
    ("./usr/bin/nvcc", None),  # a script with fixed paths in it
    *((f"./usr/bin/{name}", f"bin/{name}") for name in (
        "__nvcc_device_query", "bin2c", "cudafe++", "cuobjdump", "fatbinary", "nvdisasm", "nvlink", "ptxas")),
    ("./usr/share/doc/nvidia-cuda-toolkit/copyright", "copyright"),
    ("./usr/include/", "include/"),
    ("./usr/lib/x86_64-linux-gnu/libcudart_static.a", "lib64/libcudart_static.a"),
)

# Debian's own names its paths absolutely.
PROFILE = """\
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"
"""


class Failure(Exception):
    """Text and exit status."""


def fetch(mirror, part):
    """The bytes of one part, checked."""
    file, first, size, digest = part
    url = f"{mirror}/{FOLDER}/{file}"
    headers = {} if first is None else {"Range": f"bytes={first}-{first + size - 1}"}
    print(f"fetch_cuda_11_8: {size / 1e6:.1f} MB of {url}", file=sys.stderr)
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            data = answer.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise Failure(f"cannot fetch {url}: {getattr(error, 'reason', error)}; go online, or name another mirror "
                      "of Debian: --mirror URL", 3) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise Failure(f"{url}: {len(data)} bytes came, and not those that are expected (SHA-256); "
                      "name another mirror of Debian: --mirror URL", 1)
    return data


def member(package, name):
    """One member of a Debian package, which is an ar archive."""
    at = 8
    while at + 60 <= len(package):
        size = int(package[at + 48:at + 58])
        if package[at:at + 16].decode().rstrip(" /") == name:
            return package[at + 60:at + 60 + size]
        at += 60 + size + size % 2
    raise Failure(f"the package holds no {name}", 1)


def place(name):
    """Where a package's file goes; None when it is not wanted."""
    for start, where in PLACES:
        if name.startswith(start):
            return where and where + name[len(start):]
    return None


def unpack(root, tar, wanted=None):
    """Writes the files that have a place. The tar may be cut off after the last member that is wanted."""
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        while (info := archive.next()) is not None and (wanted is None or wanted(info)):
            where = place(info.name)
            if not info.isfile() or not where:
                continue
            path = os.path.join(root, where)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                shutil.copyfileobj(archive.extractfile(info), file)
            os.chmod(path, 0o755 if info.mode & stat.S_IXUSR else 0o644)


def lay_out(root, mirror):
    """Fetches and unpacks everything into root."""
    unpack(root, lzma.decompress(member(fetch(mirror, COMPILER), "data.tar.xz")))
    block = fetch(mirror, HEADERS)
    # A decompressor, since there is no end of the stream: only this block.
    tar = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(block)
    unpack(root, tar, lambda info: info.isdir() or info.name.startswith("./usr/include/"))
    tar = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(block[:XZ_HEADER_BYTES] + fetch(mirror, RUNTIME))
    unpack(root, tar[RUNTIME_AT:], lambda info: info.name.endswith("/libcudart_static.a"))
    with open(os.path.join(root, "bin/nvcc.profile"), "w", encoding="utf-8") as file:
        file.write(PROFILE)


def toolkit(root, mirror, offline):
    """Makes root a toolkit unless it is one. It appears complete or not at all."""
    if os.path.isfile(os.path.join(root, "bin/nvcc.profile")):
        return
    if offline:
        raise Failure(f"CUDA 11.8 is not in {root}; {sys.argv[0]} fetches it (92 MB)", 3)
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Failure(f"these packages are for Linux on x86-64; this is {sys.platform} on {platform.machine()}", 3)
    parent = os.path.dirname(root)
    try:
        os.makedirs(parent, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent) as scratch:
            new = os.path.join(scratch, "new")
            lay_out(new, mirror)
            if not os.path.exists(root):
                os.rename(new, root)
    except OSError as error:
        raise Failure(f"{error.filename or root}: {error.strerror}; name another directory: DIRECTORY", 3) from error


def main():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", metavar="DIRECTORY", nargs="?", default=os.path.join(cache, "cbank/cuda-11.8"),
                        help="where it is to be (default: %(default)s)")
    parser.add_argument("--mirror", metavar="URL", default=MIRROR, help="of Debian (default: %(default)s)")
    parser.add_argument("--offline", action="store_true", help="fetch nothing; exit with 3 where it is not there")
    options = parser.parse_args()
    root = os.path.abspath(options.directory)
    try:
        toolkit(root, options.mirror, options.offline)
    except Failure as failure:
        print(f"fetch_cuda_11_8: {failure.args[0]}", file=sys.stderr)
        return failure.args[1]
    print(root)
    return 0


sys.exit(main())
