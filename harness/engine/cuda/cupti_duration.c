/* SPDX-License-Identifier: MIT
 * Durations by CUPTI's activity records. They come in buffers, in a thread of CUPTI's, to functions
 * without a context: so what they add to is static, and one session at a time has it. */
#include "cupti_duration.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "cupti_chip.h"

enum { RECORDS_BYTES = 256 * 1024, RECORDS_ALIGNMENT = 8 };

/* CUPTI's other kind, CONCURRENT_KERNEL, makes some kernels slower while it records: 95 us in place
 * of ncu's 91 are in results/h200/kernels/by-hand.json of commit 2caadaf8. This kind leaves them as
 * they are; its empty kernel is longer. */
static const CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_KERNEL;

/* CUPTI hands its records to functions without a context, in a thread of its own: they must be
 * found without one. */
static const struct cupti *_Atomic recording; /* NULL: nothing is recorded */
/* kernels recorded since the last take, and the duration of one of them */
static _Atomic uint64_t kernels, last_ns;

static void give_room(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
    *buffer = aligned_alloc(RECORDS_ALIGNMENT, RECORDS_BYTES);
    *bytes = *buffer ? RECORDS_BYTES : 0;
    *records_max = 0; /* as many as fit */
}

static void take_records(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                         size_t valid_bytes)
{
    const struct cupti *cupti = recording;
    CUpti_Activity *record = NULL;

    (void)context, (void)stream, (void)bytes;
    while (cupti &&
           cupti->f.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        /* Later versions of the record begin with the same members. */
        const void *found = record;
        const CUpti_ActivityKernel9 *kernel = found;

        if (record->kind != kind || kernel->start == 0 || kernel->end < kernel->start)
            continue;
        last_ns = kernel->end - kernel->start;
        kernels++;
    }
    free(buffer);
}

enum counter_status cupti_durations_begin(const struct cupti *cupti,
                                          char reason[CUPTI_REASON_BYTES])
{
    const char *function = "cuptiActivityRegisterCallbacks";
    CUptiResult code;

    recording = cupti;
    kernels = 0;
    if ((code = cupti->f.cuptiActivityRegisterCallbacks(give_room, take_records)) ==
        CUPTI_SUCCESS) {
        function = "cuptiActivityEnable";
        code = cupti->f.cuptiActivityEnable(kind);
    }
    if (code == CUPTI_SUCCESS)
        return COUNTER_OK;
    recording = NULL;
    return cupti_failed(cupti, code, function, reason);
}

double cupti_durations_take(const struct cupti *cupti)
{
    const bool flushed =
        cupti->f.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS;
    const uint64_t recorded = atomic_exchange(&kernels, 0);

    return flushed && recorded == 1 ? (double)last_ns : NAN;
}

void cupti_durations_end(const struct cupti *cupti, bool lost)
{
    if (!lost) {
        cupti->f.cuptiActivityDisable(kind);
        cupti->f.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    }
    recording = NULL;
}
