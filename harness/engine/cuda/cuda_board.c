/* SPDX-License-Identifier: MIT
 * What board a device is: its part number, and the groups of SMs that share a constant cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_sharing.h"
#include "engine_cuda.h"
#include "log.h"
#include "sm_sharing.h"

static const double probe_seconds = 1;        /* at most, of a call */
static const double disagreement_max = 0.001; /* of the pairs of SMs: errors of single loads */

static enum status ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    return cuda_sharing_ask(context, request, answer) ? STATUS_OK : STATUS_ENVIRONMENT;
}

/* Sets the groups from the answers, or returns the reason why they are not known. */
static const char *find_groups(const struct sm_sharing *sharing, struct board *board)
{
    const double threshold = sm_sharing_threshold(sharing);
    uint32_t *group, count;
    double disagreement;

    if (!sharing->at_once)
        return "the SMs did not all run at the same time: something else uses the GPU";
    if (!sharing->complete)
        return "the numbers of the SMs are not those of this device, as of a part of a GPU";
    if (isnan(threshold))
        return "the times of loads do not tell a shared cache from what is behind it";
    group = calloc(sharing->sm_count, sizeof(*group));
    if (!group)
        return "out of memory";
    count = sm_sharing_groups(sharing, threshold, group);
    disagreement = sm_sharing_disagreement(sharing, threshold, group);
    if (disagreement <= disagreement_max)
        board_set_groups(board, group, sharing->sm_count, count);
    free(group);
    return disagreement <= disagreement_max ? NULL
                                            : "the times of loads contradict each other: something "
                                              "else uses the GPU";
}

/* Probes the groups of an open device. After a failed call they are not known, which is logged. */
static void probe_groups(struct cuda_device *device, struct board *board)
{
    struct sm_sharing answers = {0};
    struct cuda_sharing sharing = {0};
    const char *reason;

    cuda_expect(device, probe_seconds);
    if (cuda_sharing_open(device, &sharing) &&
        sm_sharing_measure(&answers, sm_sharing_request(device->info->sm_count), ask, &sharing) ==
            STATUS_OK) {
        reason = find_groups(&answers, board);
    } else {
        cuda_device_lost(device);
        reason = cuda_device_error(device);
        reason = reason[0] ? reason : "the probe could not be opened";
        log_warning("SMs that share a constant cache are not known: %s", reason);
    }
    if (reason)
        snprintf(board->groups_reason, sizeof(board->groups_reason), "%.190s", reason);
    cuda_sharing_close(&sharing);
    sm_sharing_close(&answers);
}

void cuda_identify(struct engine_session *session, struct result *result)
{
    struct board *board = &result->device.board;

    board->given = true;
    if (!board->part_number[0]) {
        watch_begin(session->options->watchdog, "reading the part number by NVML", probe_seconds);
        nvml_part_number(session->nvml, board);
        watch_end(session->options->watchdog);
    }
    if (board->group_count == 0)
        probe_groups(&session->device, board);
}

void cuda_identify_device(uint32_t ordinal, struct device_info *info)
{
    const struct cuda_request request = {.ordinal = ordinal, .info = info};
    struct cuda_device device;

    if (cuda_device_open(&device, &request) != STATUS_OK) {
        snprintf(info->board.groups_reason, sizeof(info->board.groups_reason),
                 "the device cannot be opened");
        return;
    }
    probe_groups(&device, &info->board);
    cuda_device_close(&device);
}
