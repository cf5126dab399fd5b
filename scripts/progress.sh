#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs progress.awk, which prints each line as it happens. mawk, the awk of Debian, would read a
# whole buffer first. AWK names another awk, with blanks between its words.
here=$(dirname "$0")
awk=${AWK:-awk}
now=
case $($awk -W version </dev/null 2>&1) in
mawk*) now='-W interactive' ;;
esac
# shellcheck disable=SC2086 # these are words
exec $awk $now -f "$here/progress.awk"
