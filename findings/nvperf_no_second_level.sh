#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The metric lists of 11.8 and 12.4 have no counter of the second constant cache.
#
# tool: libnvperf_host 11.8.87 (Debian 12) and 12.4.127 (Debian 13)
# question: on which chips are `gcc__*`, the counters of the constant cache behind that of the SM?
# guess (50 %): on every chip, with the same names
# what is: on none of 17 and 20 chips that have metrics; nor is `smsp__imc_*`, the immediate
#   constant cache. `idc__requests` is on each. The library of 13.0 lists both.
# why: unknown; the units existed, and 13.0 lists them for the same chips
# what it means: with these libraries a miss of the first level is all that is counted by name.
#   Whether the second level hit must come from times, or from L2 sectors that the constant path
#   asks for.
#
# usage: findings/nvperf_no_second_level.sh
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

#include <nvperf_cuda_host.h>
#include <stdio.h>
#include <stdlib.h>

static int names(const char *chip)
{
    NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params size = {
        NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params_STRUCT_SIZE};
    size.pChipName = chip;
    if (NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(&size)) {
        return 0; /* a chip without this kind of metrics */
    }
    NVPW_CUDA_MetricsEvaluator_Initialize_Params begin = {
        NVPW_CUDA_MetricsEvaluator_Initialize_Params_STRUCT_SIZE};
    begin.pChipName = chip;
    begin.scratchBufferSize = size.scratchBufferSize;
    begin.pScratchBuffer = malloc(size.scratchBufferSize);
    if (NVPW_CUDA_MetricsEvaluator_Initialize(&begin)) {
        return 1;
    }
    for (int type = NVPW_METRIC_TYPE_COUNTER; type <= NVPW_METRIC_TYPE_THROUGHPUT; type++) {
        NVPW_MetricsEvaluator_GetMetricNames_Params list = {
            NVPW_MetricsEvaluator_GetMetricNames_Params_STRUCT_SIZE};
        list.pMetricsEvaluator = begin.pMetricsEvaluator;
        list.metricType = type;
        if (NVPW_MetricsEvaluator_GetMetricNames(&list)) {
            return 1;
        }
        for (size_t i = 0; i < list.numMetrics; i++) {
            printf("%s %s\n", chip, list.pMetricNames + list.pMetricNameBeginIndices[i]);
        }
    }
    return 0;
}

int main(void)
{
    NVPW_InitializeHost_Params host = {NVPW_InitializeHost_Params_STRUCT_SIZE};
    NVPW_GetSupportedChipNames_Params chips = {NVPW_GetSupportedChipNames_Params_STRUCT_SIZE};
    int bad = NVPW_InitializeHost(&host) || NVPW_GetSupportedChipNames(&chips);
    for (size_t i = 0; !bad && i < chips.numChipNames; i++) {
        bad = names(chips.ppChipNames[i]);
    }
    return bad;
}
END
for suite in bookworm trixie; do
    libraries=$place/$suite/root/usr/lib/x86_64-linux-gnu
    cc -I"$suite/root/usr/include" ask.c "$libraries/libnvperf_host.so" -o "ask_$suite" ||
        fail 'the program does not compile' 3
    LD_LIBRARY_PATH=$libraries "./ask_$suite" >"$suite.txt" || fail "nvperf of $suite fails" 1
done
for suite in bookworm trixie; do
    for metric in idc__requests gcc__ smsp__imc_; do
        chips=$(grep " $metric" "$suite.txt" | cut -d ' ' -f 1 | sort -u | wc -l)
        echo "$suite: $metric on $chips chips"
        case $metric in
        idc__*) [ "$chips" -ge 17 ] || fail 'fewer than expected' 1 ;;
        *) [ "$chips" = 0 ] || fail 'it is listed' 1 ;;
        esac
    done
done
