/* SPDX-License-Identifier: MIT
 * A run of the CUDA engine, and its phases: each is a file. Includes vendor headers. */
#pragma once

#include "access.h"
#include "cuda_device.h"
#include "cupti_reader.h"
#include "engine.h"
#include "launchable.h"
#include "nvml_reader.h"
#include "parallel.h"
#include "reference.h"

/* The engine's data of a cell, in addition to its result. */
struct cuda_cell {
    struct launchable *launchable; /* not owned; NULL if the cell is skipped or failed */
    struct access_counts access;
    bool pending; /* a cell of this process */
};

/* CUPTI's libraries are large: a separate thread loads them while cells are prepared and verified.
 * The thread has ended before anything is timed, and touches no GPU. */
struct loading {
    struct parallel_task task;
    struct watchdog *watchdog; /* guards the wait for it */
    struct cupti *cupti;
    enum counter_status status;
    char reason[CUPTI_REASON_BYTES];
};

struct engine_session {
    const struct engine_options *options;
    struct cuda_device device;
    struct nvml *nvml;
    /* kinds of errors of the device that have grown so far, by enum health_quantity */
    uint32_t grew;
    struct cuda_cell *cells; /* one for each cell of the result */
    struct launchable *launchables; /* owned: a list, in the order of verifying */
    bool *grouped; /* for each cell: whether it is or was in a group that is timed together */
    struct loading loading;
    struct cupti_session *counting; /* NULL until counting is set up */
    /* of verifying: by the CPU, and of a user's case, owned; checks so far */
    struct reference reference;
    struct case_check *case_check;
    uint32_t checks;
};

/* Turns of launches that are enqueued at a time while energy is measured: each has a reading. */
enum { CUDA_ENERGY_SLOTS = 4 };

/* Its phases. */
engine_phase cuda_prepare, cuda_verify, cuda_time, cuda_set_up_counting, cuda_count,
    cuda_measure_durations, cuda_measure_energy;

/* The first pending cell of a launchable that is not verified; NULL: none. */
struct cell_result *launchable_cell(const struct engine_session *session, struct result *result,
                                    const struct launchable *launchable);

/* Waits until CUPTI is loaded. */
void cuda_loading_end(struct loading *loading);

/* Flags the cells of this process if errors of the device grew meanwhile, and warns of each kind
 * once. */
void cuda_observe(struct engine_session *session, struct result *result);

/* Record the board. */
void cuda_identify(struct engine_session *session, struct result *result);
void cuda_identify_device(uint32_t ordinal, struct device_info *info);

/* The engine's view of the machine: the last two hooks of struct engine. */
bool cuda_chips(const struct chip_visitor *visitor, char reason[ENGINE_REASON_BYTES]);
void cuda_diagnose(struct diagnosis *diagnosis);
