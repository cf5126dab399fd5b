#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the findings share; each of them reads it. The script goes on in a temporary folder, $place,
# which is removed when it ends.

name=$(basename "$0" .sh)
fail() { # MESSAGE STATUS
    echo "$name: $1" >&2
    exit "$2"
}
place=$(mktemp -d) || exit 3
trap 'rm -rf "$place"' EXIT
trap 'exit 3' HUP INT TERM
cd "$place" || exit 3

# Unpacks packages of a suite of Debian here, with lists of their own; nothing is installed.
unpack() { # SUITE SECTION NAME=VERSION...
    suite=$1 section=$2
    shift 2
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # shellcheck disable=SC2016 # apt's own variables
    mirror=$(env -u APT_CONFIG apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' | awk -v release="$codename" '$2 == release && $3 == "main" \
        { print $1; exit }')
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$suite/lists/partial" "$suite/cache/archives/partial" "$suite/debs"
    echo "deb [signed-by=$key] $mirror $suite $section" >"$suite/sources.list"
    cat >"$suite/apt.conf" <<END
Dir::State::Lists "$place/$suite/lists";
Dir::Cache "$place/$suite/cache";
Dir::Etc::SourceList "$place/$suite/sources.list";
Dir::Etc::SourceParts "-";
APT::Sandbox::User "$(id -un)";
END
    export APT_CONFIG="$place/$suite/apt.conf"
    apt-get -qq -o APT::Update::Error-Mode=any update >&2 || fail "no lists of $suite" 3
    (cd "$suite/debs" && apt-get -qq download "$@" >&2) || fail "cannot fetch $*" 3
    for package in "$suite"/debs/*.deb; do
        dpkg-deb -x "$package" "$suite/root" || fail "cannot unpack $package" 3
    done
    rm -r "$suite/debs"
}
