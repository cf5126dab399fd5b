/* SPDX-License-Identifier: MIT
 * A fleet: what a store says of many GPUs, night by night.
 *
 * A night is a set of runs with no gap between the starts of two that follow each other. A GPU that ran several times in
 * a night has a value in as many rounds of it. The last night is the one that is judged. */
#ifndef CBANK_FLEET_H
#define CBANK_FLEET_H

#include "cell.h"
#include "fleet_judge.h"
#include "pool.h"
#include "store.h"

struct fleet_run {
    int64_t id, started_utc;
    int64_t geometry;
    size_t gpu, night, round;
    const char *host, *slot, *driver, *vbios, *commit; /* "" not known */
    bool complete;
};

/* A board, by its UUID; without one, by host and slot. */
struct fleet_gpu {
    int64_t id; /* of the store */
    const char *uuid, *name;
    bool modelled; /* its times are predictions */
    size_t last; /* its last run */
    bool answered; /* it ran in the last night */
    size_t model, member; /* of one that answered: its model, and which of its GPUs it is */
};

struct fleet_night {
    int64_t first_utc, last_utc; /* starts of its runs */
    size_t first_round, rounds;
};

/* All GPUs of a name that answered, and their times. */
struct fleet_model {
    const char *name;
    bool modelled;
    size_t *gpus; /* owned; of the fleet */
    size_t gpu_count;
    struct fleet_times times; /* of those; owned, and so are its arrays */
};

struct fleet_cell {
    int64_t id; /* of the store */
    const char *identity, *path;
    const struct regime *regime;
};

struct fleet_options {
    const char *baseline; /* a driver, or a date; NULL: each GPU's past */
    size_t nights; /* that are looked at, the last; without a baseline */
    double gap_hours; /* between nights */
};

struct fleet {
    const char *path; /* of the store */
    struct texts texts;
    struct fleet_run *runs; /* owned; in the order of their starts */
    size_t run_count;
    struct fleet_gpu *gpus; /* owned */
    size_t gpu_count;
    struct fleet_night *nights; /* owned */
    size_t night_count, round_count;
    struct fleet_cell *cells; /* owned; by identity */
    size_t cell_count;
    struct fleet_model *models; /* owned */
    size_t model_count;
};

/* A text that the fleet has once, made printable (text_clean); NULL, logged, out of memory. */
const char *fleet_text(struct fleet *fleet, const char *text);

/* Reads the runs, and what they say: fleet_read_times afterwards their times. STATUS_USAGE, logged, for a store without
 * runs, a baseline that no run is of, and errors of the store. The caller closes *fleet, on an error, too. */
enum status fleet_read(struct store *store, const struct fleet_options *options, struct fleet *fleet);
enum status fleet_read_times(struct store *store, const struct fleet_options *options, struct fleet *fleet);

/* What the GPUs of a group have in common, at their last run: of all GPUs of a model its name, of one below its driver, VBIOS
 * or host; "" not known. Texts of a group are the same one. */
const char *fleet_group(const struct fleet *fleet, size_t gpu, enum fleet_level level);

/* Whether no cell before it is of its path. */
bool fleet_is_first_of_path(const struct fleet *fleet, size_t cell);

/* Where a board sits, "n17:07:00.0": host and slot, without the domain 00000000 that most have; "" not known. */
enum { FLEET_PLACE_BYTES = 400 };
void fleet_place(const struct fleet_run *run, char out[FLEET_PLACE_BYTES]);

/* Releases; accepts a zeroed struct. */
void fleet_close(struct fleet *fleet);

#endif
