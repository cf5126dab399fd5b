#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tries the README's two commands, `make run` and `make test`, on bare releases of Debian: in a
# chroot with make and git, and nothing else of what cbank needs. Needs root and debootstrap
# (scripts/setup.sh distributions), and takes about 2 GB and a quarter of an hour for each.
#
# usage: scripts/test_distributions.sh [RELEASE...]       default: bookworm trixie, which are Debian
#                                                         12 and 13
#
# This tests HEAD. Packages come from the mirror that this machine is configured for, or from
# MIRROR. Everything is below build/distributions/: a release is fetched once; its logs stay. Exit
# status: 0 both commands pass on all releases, 1 one fails, 3 it cannot be tried on this machine.

CDPATH= cd -P -- "$(dirname -- "$0")/.." || exit 3
place=$PWD/build/distributions
status=0

fail() { # MESSAGE
    echo "test_distributions: $1" >&2
    exit 3
}

[ "$(id -u)" = 0 ] || fail 'chroots are made by root: run it as root'
scripts/setup.sh distributions || exit 3
if [ -z "$MIRROR" ]; then
    # shellcheck disable=SC2016 # apt's own variables
    MIRROR=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' \
        'Created-By: Packages' 2>/dev/null |
        awk '$2 == "main" { print $1; exit }')
fi
[ -n "$MIRROR" ] || fail 'apt is configured for no mirror of Debian: name one, MIRROR=URL'
mkdir -p "$place"

# In a place of its own for mounts and processes, which are gone when it ends: run RELEASE
# COMMAND...
run() {
    root=$place/$1
    shift
    # shellcheck disable=SC2016 # for the shell within
    unshare --mount --pid --fork --kill-child sh -c '
        root=$1 && shift &&
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
            mount -t tmpfs tmpfs "$root/dev/shm" &&
        exec env -i HOME=/root LC_ALL=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
            chroot "$root" "$@"' run "$root" "$@"
}

bare() { # RELEASE: its chroot, as a release is before anybody installs what cbank needs
    rm -rf "${place:?}/$1"
    if [ ! -f "$place/$1.tar" ]; then
        if ! debootstrap --variant=minbase --include=make,git "$1" "$place/$1" "$MIRROR" \
            >"$place/$1-bare.log" 2>&1; then
            fail "cannot make a chroot of $1: see $place/$1-bare.log"
        fi
        tar -C "$place/$1" -cf "$place/$1.new" . || fail "cannot write $place/$1.tar"
        mv "$place/$1.new" "$place/$1.tar"
        rm -rf "${place:?}/$1"
    fi
    mkdir "$place/$1"
    tar -C "$place/$1" -xf "$place/$1.tar" || fail "cannot unpack $place/$1.tar"
    cp /etc/resolv.conf "$place/$1/etc/resolv.conf"
}

try() { # RELEASE TARGET: the command, and how long it takes
    log=$place/$1-$2.log
    start=$(date +%s)
    word=passes
    run "$1" make -C /root/cbank "$2" >"$log" 2>&1 || word=FAILS
    [ $word = passes ] || status=1
    echo "$1: make $2 $word after $(($(date +%s) - start)) s: $(grep -v '^make' "$log" | tail -n 1)"
}

[ $# -gt 0 ] || set -- bookworm trixie
for release; do
    # It becomes the name of a folder that is removed.
    case $release in *[!a-z]*) fail "'$release' is no name of a release" ;; esac
done
for release; do
    bare "$release"
    git clone -q --no-local . "$place/$release/root/cbank" || fail 'cannot clone HEAD'
    before=$status
    try "$release" run
    try "$release" test
    [ $status != "$before" ] || rm -rf "${place:?}/$release" # else it stays, to be looked into
done
echo "logs: $place/"
exit $status
