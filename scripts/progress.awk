# SPDX-License-Identifier: MIT
#
# Reads what `make -n` would do, a line "--", and then what make says: prints a line a quarter of
# the work, with the time that is left, and all that is no step. The line "--failed" makes it exit
# with 1.

function now() {
    srand()
    return srand() # the seed before: the time
}

function cost(step) { # about, in compilations of C
    return step == "PTX" ? 8 : step == "PTXAS" ? 6 : step == "CC" ? 1 : 0
}

BEGIN { began = now() }
$0 == "--" { begun = 1; next }
$0 == "--failed" { failed = 1; next }
!begun {
    if ($1 == "printf" && cost($5) > 0) {
        total += cost($5)
        steps++
    }
    next
}
$1 ~ /^[A-Z]+$/ && NF == 2 {
    if (cost($1) > 0 && done == 0) {
        print "build: " steps " steps at most"
        fflush()
    }
    done += cost($1)
    if (total > 0 && int(4 * done / total) > quarters && done < total) {
        quarters = int(4 * done / total)
        left = (now() - began) * (total - done) / done + 1
        printf "build: %d %% done, about %d s left\n", 100 * done / total, left
        fflush()
    }
    next
}
{ print; fflush() }
END { exit failed }
