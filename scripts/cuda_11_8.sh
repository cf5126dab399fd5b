#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fetches what building cbank needs of CUDA 11.8, the last toolkit for Kepler, and prints its
# folder.
#
#   make CUDA="$(scripts/cuda_11_8.sh)" BUILD=build/cuda-11.8 IMAGES=build/cuda-11.8/images
#
# It is in the packages of Debian 12, section non-free. apt-get downloads them from this machine's
# mirror, with separate lists and with signatures checked. They are unpacked below build/: nothing
# is installed, and the machine's lists and other toolkits stay untouched. Where it is already
# there, nothing is fetched; with --offline, never. Exit status: 0 the toolkit is there, 1 what came
# is not what was expected, 2 usage, 3 it cannot be had on this machine; the last line says why.

CDPATH= cd -P -- "$(dirname -- "$0")/.." || exit 3
toolkit=$PWD/build/toolkits/cuda-11.8
apt=$PWD/build/toolkits/apt
key=/usr/share/keyrings/debian-archive-keyring.gpg

fail() { # MESSAGE STATUS
    echo "cuda_11_8: $1" >&2
    exit "$2"
}

own_apt() { # apt's COMMAND with folders of its own
    command=$1
    shift
    "$command" -qq -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
        -o Dir::Etc::SourceList="$apt/sources.list" \
        -o Dir::Etc::SourceParts=- -o APT::Sandbox::User="$(id -un)" "$@"
}

case $* in '' | --offline) ;; *) fail 'usage: scripts/cuda_11_8.sh [--offline]' 2 ;; esac
if [ -x "$toolkit/bin/nvcc" ]; then
    echo "$toolkit"
    exit 0
fi
[ "$1" != --offline ] ||
    fail "CUDA 11.8 is not in build/toolkits; scripts/cuda_11_8.sh fetches it (860 MB)" 3
command -v apt-get >/dev/null || fail 'no apt-get here, which would fetch CUDA 11.8' 3
[ "$(dpkg --print-architecture)" = amd64 ] || fail 'CUDA 11.8 is packaged for amd64 alone' 3

codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
release="this release, $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release),"
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 2>/dev/null |
    awk -v release="$codename" '$2 == release && $3 == "main" { print $1; exit }')
[ -n "$mirror" ] || fail "apt is configured for no mirror of $release to ask for CUDA 11.8" 3

rm -rf "$apt" "$toolkit"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/files"
trap 'rm -rf "$apt"' EXIT
trap 'exit 3' INT TERM
[ -r "$key" ] && signed="[signed-by=$key] "
echo "deb $signed$mirror $codename non-free" >"$apt/sources.list"
own_apt apt-get -o APT::Update::Error-Mode=any update >&2 ||
    fail "no section non-free of $release at hand to fetch CUDA 11.8 from" 3
version=$(own_apt apt-cache show nvidia-cuda-toolkit 2>/dev/null | sed -n 's/^Version: //p' |
    head -n 1)
case $version in
11.8.*) ;;
'') fail "$release has no CUDA in section non-free" 3 ;;
*) fail "$release has another version of CUDA, $version" 3 ;;
esac

echo 'cuda_11_8: fetching 860 MB of packages' >&2
(cd "$apt/files" && own_apt apt-get download nvidia-cuda-toolkit nvidia-cuda-dev) >&2 ||
    fail 'cannot fetch the packages of CUDA 11.8' 3
# The second package has 2.9 GB of libraries; its headers and one library are needed.
unpack() {
    dpkg-deb -x "$apt"/files/nvidia-cuda-toolkit_*.deb "$apt/files" &&
        dpkg-deb --fsys-tarfile "$apt"/files/nvidia-cuda-dev_*.deb |
        tar -xf - -C "$apt/files" --wildcards './usr/include' './usr/lib/*/libcudart_static.a'
}

# Where a toolkit has them. nvcc of the package's own folder is the program; that in usr/bin is a
# script with fixed paths.
new=$apt/new from=$apt/files/usr
lay_out() {
    mkdir -p "$new/nvvm/bin" "$new/lib64" &&
        rm "$from/bin/nvcc" "$from/lib/nvidia-cuda-toolkit/bin/gcc" \
            "$from/lib/nvidia-cuda-toolkit/bin/g++" &&
        mv "$from/include" "$from/bin" "$new" &&
        mv "$from/lib/nvidia-cuda-toolkit/bin/cicc" "$new/nvvm/bin" &&
        mv "$from/lib/nvidia-cuda-toolkit/libdevice" "$new/nvvm" &&
        mv "$from"/lib/nvidia-cuda-toolkit/bin/* "$new/bin" &&
        mv "$from"/lib/*/libcudart_static.a "$new/lib64" &&
        mv "$from/share/doc/nvidia-cuda-toolkit/copyright" "$new"
}

unpack || fail 'the packages cannot be unpacked' 1
lay_out || fail 'the packages do not hold what they held' 1
cat >"$new/bin/nvcc.profile" <<'END'
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"
END
mv "$new" "$toolkit" || fail "cannot write $toolkit" 3
echo "$toolkit"
