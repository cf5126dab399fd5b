/* SPDX-License-Identifier: MIT
 * Advice: where a table should live, by a card. Every path that can hold the table is a place; the cells of one
 * configuration, one for each place, are predicted and ranked. Where two places are nearer than what the model is known to be
 * wrong by, that is said, and not decided. */
#ifndef CBANK_ADVISE_H
#define CBANK_ADVISE_H

#include "card.h"
#include "device.h"
#include "grid.h"
#include "index_list.h"
#include "memory.h"
#include "model.h"

struct document;
struct invocation;
struct user_code;

/* -- what the model is known to be wrong by ------------------------------------------------------------ */

/* As a factor less 1, see uncertainty.def. Of the time of a cell of that unit: what nine of ten are not beyond. Of the ratio of
 * the times of two places of one configuration, whose common errors cancel: what nine of ten are not beyond on one side;
 * `apart` is the share of the time in which they differ. Of units that the table does not have, the largest that it has:
 * whether it has times of a unit, the first says. */
bool advise_error_known(enum load_unit unit);
double advise_time_error(enum load_unit unit);
double advise_ratio_error(enum load_unit one, enum load_unit other, double apart);

/* -- places ------------------------------------------------------------------------------------------- */

/* A difference of places that is told, as a share of the time: of predicted times, and of measured ones. What is less makes
 * no place better than another. */
#define ADVISE_TOLD_MODELLED 0.05
#define ADVISE_TOLD_MEASURED 0.01

/* How a place stands to the first of the ranking, wherever the error of their ratio may have it. */
enum advise_standing {
    ADVISE_FIRST,
    ADVISE_ALIKE_FIRST, /* neither faster nor slower by what is told */
    ADVISE_NO_FASTER, /* not faster by what is told; slower or not */
    ADVISE_TOO_CLOSE, /* it may be faster by what is told */
    ADVISE_SLOWER,
    ADVISE_STANDING_COUNT
};

extern const char *const advise_standing_names[ADVISE_STANDING_COUNT]; /* as the document has them */

enum { ADVISE_REASON_BYTES = 256 };

/* What the model said of a place that was measured. */
struct advised_prediction {
    bool known; /* it said something */
    double time_ns, low_ns, high_ns;
    bool off; /* the intervals of model and measurement have nothing in common */
};

/* A path and the configuration. */
struct advised_place {
    const struct path *path;
    struct cell cell;
    struct access_counts access;
    struct model_cell model;
    double time_ns, low_ns, high_ns;
    double relative; /* time over that of the first */
    double apart; /* of the modelled times: what the parts of the two differ by, as a share of the longer */
    double ratio_error; /* of `relative`, see advise_ratio_error; half the intervals' sum where it was measured */
    enum advise_standing standing;
    char reason[ADVISE_REASON_BYTES]; /* what takes the time, or why there is none */
    bool measured; /* time_ns, low_ns and high_ns are, and this is what was predicted: */
    struct advised_prediction predicted;
};

/* Axes along which the model is asked where another place is the best. */
enum advise_axis { ADVISE_DISTINCT, ADVISE_TABLE_BYTES, ADVISE_LOADS, ADVISE_AXIS_COUNT };

extern const char *const advise_axis_names[ADVISE_AXIS_COUNT];

/* A place is the best from a value of an axis to another, of those that were asked. */
struct advised_stretch {
    enum advise_axis axis;
    const struct path *path;
    uint32_t first, last;
    bool close; /* at one of them, some other is too close to call */
    uint64_t elements; /* it was asked with so many */
};

enum { ADVISE_STRETCHES_MAX = 32 };

struct advice {
    const char *card_file; /* NULL: the built-in card */
    const struct card *card;
    struct cell cell; /* the configuration: without a path */
    const char *indices_path; /* NULL: made */
    bool modelled; /* times are; the crossovers always are */
    double told; /* the share of a difference that is told */
    struct device_info device; /* on which they were measured, unless modelled */
    struct advised_place *places; /* owned: ranked (advise_rank), `count` of them, then those that cannot be */
    size_t count, excluded;
    struct advised_stretch stretches[ADVISE_STRETCHES_MAX];
    size_t stretch_count;
    const struct card_level *first_level; /* of the card, that constants go through */
    const struct user_code *code; /* of --kernel; NULL: none was given; not owned */
};

/* Predicts the configuration `cell`, whose path is not looked at, in every place of the card's chip, and ranks them. The
 * list keeps its indices. What card_file and card point to has to live as long. STATUS_USAGE, logged, where no path can
 * hold the table, or an index is beyond it; STATUS_ENVIRONMENT out of memory. On success the caller closes. */
enum status advise_open(const struct cell *cell, const struct card *card, struct index_list *indices,
                        struct advice *out);

/* Finds the best place along each axis that the configuration has: where indices are those of a
 * file, none. ADVISE_ELEMENTS are asked for, which fill a chip, where the configuration has more. */
enum { ADVISE_ELEMENTS = 1 << 17 };
enum status advise_find_stretches(struct advice *advice);

/* Measures each place that holds the table on the first GPU, with the indices of the list, and ranks them by that. Those
 * that could not be measured are no longer ranked, and say why. STATUS_ENVIRONMENT, logged, where there is no GPU;
 * STATUS_FINDING where some failed, and then advice->modelled is false if there is a ranking. */
enum status advise_measure(struct advice *advice, struct index_list *indices, const struct invocation *invocation);

/* The place that the model would have chosen, of those that were measured. NULL: it said nothing of them. */
const struct advised_place *advise_predicted_choice(const struct advice *advice);

/* Whether the place's interval is of what was measured, or of an error that was found. */
bool advised_place_is_sure(const struct advised_place *place);

/* Sorts the first advice->count places by their times, those that are not sure behind all others, and sets relative, ratio_error
 * and standing. */
void advise_rank(struct advice *advice);

/* Writes why the place takes as long as the model says. */
void advise_find_reason(struct advised_place *place, const struct card *card);

/* Whether some place is as near to the first as ADVISE_TOO_CLOSE says. */
bool advise_is_close(const struct advice *advice);

/* Releases; accepts a zeroed struct. */
void advise_close(struct advice *advice);

/* -- what it looks like -------------------------------------------------------------------------------- */

/* The C++ that makes a path: a row of places.def. */
struct place_code {
    const char *name; /* of the path */
    const char *declaration, *load;
};

/* NULL where there is no row. */
const struct place_code *place_code_of(const struct path *path);

/* Writes the command that measures the places that are as good or too close to call, and the first. False out of memory, as
 * memory_close. */
bool advise_run_command(const struct advice *advice, struct memory *out);

/* Prints it as text. STATUS_ENVIRONMENT when out of memory. */
enum status advise_print(FILE *stream, const struct advice *advice, const struct grid_look *look);

/* The document of struct advice: written as results/advice.schema.json says, and not read. */
extern const struct document advise_document;

#endif
