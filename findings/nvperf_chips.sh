#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The profiler's library of 11.8 lacks half of Ada, that of 12.4 has lost Kepler.
#
# tool: libnvperf_host 11.8.87 (Debian 12) and 12.4.127 (Debian 13)
# question: which chips do they name? (they need no GPU for it)
# guess (70 %): 12.4 has all of 11.8, and no Blackwell
# what is: 11.8 has AD102 and AD103 alone of Ada; 12.4 adds AD104, AD106 and AD107, and lacks
#   GK110 to GK20A, which 11.8 names. 11.8 names GK208 twice.
# why: the toolkit 11.8 compiles for all of sm_89, but its library was made before the smaller
#   chips
# what it means: on an L4 or RTX 4070 (AD104) or 4060 (AD107) code that 11.8 compiles can run and
#   be timed, and this library has no counters for the chip: a newer one is needed. A list of
#   chips is no list of architectures.
#
# usage: findings/nvperf_chips.sh
#
# It fetches 33 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

unpack bookworm "contrib non-free" libcupti11.8=11.8.87~11.8.0-5~deb12u1 \
    libcupti-dev=11.8.87~11.8.0-5~deb12u1
unpack trixie "contrib non-free" libcupti12=12.4.127~12.4.1-2 libcupti-dev=12.4.127~12.4.1-2
command -v cc >/dev/null || fail 'no C compiler here' 3
cat >ask.c <<'END'
#include <nvperf_host.h>
#include <stdio.h>

int main(void)
{
    NVPW_InitializeHost_Params host = {NVPW_InitializeHost_Params_STRUCT_SIZE};
    NVPW_GetSupportedChipNames_Params chips = {NVPW_GetSupportedChipNames_Params_STRUCT_SIZE};
    if (NVPW_InitializeHost(&host) || NVPW_GetSupportedChipNames(&chips)) {
        return 1;
    }
    for (size_t i = 0; i < chips.numChipNames; i++) {
        puts(chips.ppChipNames[i]);
    }
    return 0;
}
END
for suite in bookworm trixie; do
    libraries=$place/$suite/root/usr/lib/x86_64-linux-gnu
    cc -I"$suite/root/usr/include" ask.c "$libraries/libnvperf_host.so" -o "ask_$suite" ||
        fail 'the program does not compile' 3
    LD_LIBRARY_PATH=$libraries "./ask_$suite" >"$suite.txt" || fail "nvperf of $suite fails" 1
done
sort -u bookworm.txt >old
sort -u trixie.txt >new
echo "11.8 alone: $(comm -23 old new | tr '\n' ' ')"
echo "12.4 alone: $(comm -13 old new | tr '\n' ' ')"
echo "twice in 11.8: $(sort bookworm.txt | uniq -d)"
[ "$(comm -13 old new | tr '\n' ' ')" = 'AD104 AD106 AD107 ' ] || fail '12.4 adds others' 1
comm -23 old new | grep -q '^GK110$' || fail '12.4 has Kepler' 1
