/* SPDX-License-Identifier: MIT
 * How much times differ where nobody calibrated, and what follows from the times at hand. */
#include "deviation.h"

#include <math.h>
#include <string.h>

#include "schema.h"

#include "stats.h"

static const double pi = 3.14159265358979323846;
enum { DEGREES_MOST = 100000 }; /* of what is known for certain */
enum { SCALE_STEPS = 30 };      /* until the scale moves by less than 1 % */

static const char *const origin_names[] = {
    [DEVIATION_UNKNOWN] = "unknown",        [DEVIATION_DEFAULT] = "default",
    [DEVIATION_CALIBRATED] = "calibration", [DEVIATION_PROCESSES] = "processes",
    [DEVIATION_BOARDS] = "boards",          [DEVIATION_WIDEST] = "widest",
};

static const struct names origins =
    NAMES(origin_names, DEVIATION_ORIGINS, "default, calibration, processes, boards or widest");

const struct field deviation_rows[DEVIATION_ROWS] = {
    {FIELD(field_number, struct deviation, "value", value, REQUIRED), .high = INFINITY,
     .about = "standard deviation of the logarithm of the time of one process: 0.01 is 1 %",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct deviation, "degrees_of_freedom", degrees, REQUIRED),
     .high = INFINITY, .about = "how well it is known: intervals are Student's t at these",
     .rules = ABOVE(0)},
    {FIELD(field_name, struct deviation, "origin", origin, REQUIRED), .names = &origins,
     .about = "what was known before the sides: the default of the program; a calibration of this "
              "GPU; processes: nothing, the sides say it alone; boards: other GPUs of the model, "
              "with the default; widest: the widest noise that is known, as nothing was measured "
              "of this GPU model, kernel or memory space"},
};

/* -- deviations -------------------------------------------------------------------------------- */

/* The kinds of cells. Each has deviations of its own. */
enum cells {
    CELLS_HOT,
    CELLS_COLD, /* of that cache state */
    CELLS_COPIES, /* the host takes part in every launch: most copy memory */
    CELLS
};

/* The standard deviation grows with the time, and has a part that does not; both add as squares. */
struct known_deviation {
    double relative, ns, degrees;
};

/* What scripts/studies/process_deviation.py derives from the committed results: a test holds it
 * against this table. The rows of CAUSE_LATER are an assumption, taken as known: no committed
 * results of a board are hours apart. */
static const struct known_deviation known_deviations[CAUSES][CELLS] = {
    [CAUSE_PROCESS][CELLS_HOT] = {0.00019, 0.27, 9.3},
    [CAUSE_PROCESS][CELLS_COLD] = {0.00022, 3.4, 15},
    [CAUSE_PROCESS][CELLS_COPIES] = {0, 48, 7.2},
    [CAUSE_WIDEST][CELLS_HOT] = {0.0049, 0, 4},
    [CAUSE_WIDEST][CELLS_COLD] = {0.0049, 0, 4},
    [CAUSE_WIDEST][CELLS_COPIES] = {0.02, 0, 2},
    [CAUSE_OCCASION][CELLS_HOT] = {0, 0.31, 4},
    [CAUSE_OCCASION][CELLS_COLD] = {0, 0, 2},
    [CAUSE_OCCASION][CELLS_COPIES] = {0, 0.31, 4},
    [CAUSE_LATER][CELLS_HOT] = {0.0005, 0, 100},
    [CAUSE_LATER][CELLS_COLD] = {0.0005, 0, 100},
    [CAUSE_LATER][CELLS_COPIES] = {0.0005, 0, 100},
    [CAUSE_PLAN][CELLS_HOT] = {0.00031, 0, 38},
    [CAUSE_PLAN][CELLS_COLD] = {0, 0, 11},
    [CAUSE_PLAN][CELLS_COPIES] = {0.00031, 0, 38},
    [CAUSE_KIND][CELLS_HOT] = {0.00034, 1.7, 7},
    [CAUSE_KIND][CELLS_COLD] = {0.00034, 1.7, 7},
    [CAUSE_KIND][CELLS_COPIES] = {0.00034, 1.7, 7},
    [CAUSE_BOARD][CELLS_HOT] = {0.0027, 0, 1.4},
    [CAUSE_BOARD][CELLS_COLD] = {0.0027, 0, 1.4},
    [CAUSE_BOARD][CELLS_COPIES] = {0.0027, 0, 1.4},
    [CAUSE_FURTHEST][CELLS_HOT] = {0.066, 0, 8},
    [CAUSE_FURTHEST][CELLS_COLD] = {0.066, 0, 8},
    [CAUSE_FURTHEST][CELLS_COPIES] = {0.066, 0, 8},
};

/* What has data of its own, by scripts/studies/widest_noise.py: models of GPUs, and kernels in
 * memory spaces. */
struct measured {
    const char *kernel;
    enum cells cells;
    const char *spaces;
};

static const char *const measured_models[] = {
    "NVIDIA H100 80GB HBM3",
    "NVIDIA H200",
};
static const struct measured measured[] = {
    {"add", CELLS_COLD, "constant global readonly"},
    {"add", CELLS_HOT,
     "constant global global_l2 param readonly restrict shared shared_fill_only "
     "texture"},
    {"add_runtime", CELLS_HOT,
     "constant global global_l2 param readonly restrict shared shared_fill_only "
     "texture"},
    {"add_switch", CELLS_HOT,
     "constant global global_l2 param readonly restrict shared shared_fill_only "
     "texture"},
    {"conv_1d", CELLS_HOT,
     "constant constant_uniform global global_l2 param readonly restrict shared "
     "shared_fill_only texture"},
    {"conv_2d", CELLS_HOT,
     "constant constant_uniform global global_l2 param readonly restrict shared "
     "shared_fill_only texture"},
    {"conv_3d", CELLS_HOT,
     "constant constant_uniform global global_l2 param readonly restrict shared "
     "shared_fill_only texture"},
    {"lookup", CELLS_HOT,
     "constant global global_l2 param readonly restrict select_4 shared shared_copies "
     "shared_fill_only shuffle texture"},
    {"modules", CELLS_HOT,
     "constant global global_l2 param readonly restrict shared shared_fill_only "
     "texture"},
    {"refill", CELLS_COPIES,
     "constant global global_l2 readonly restrict shared shared_fill_only texture"},
    {"refill", CELLS_HOT, "param"},
    {"stencil_1d", CELLS_HOT,
     "constant constant_uniform global global_l2 param readonly restrict shared "
     "shared_fill_only texture"},
};

static enum cells cells_of(bool cold, bool copies)
{
    return copies ? CELLS_COPIES : cold ? CELLS_COLD : CELLS_HOT;
}

/* Whether a word is one of a text, with blanks between. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);

    for (const char *next = text; next; next = strchr(next, ' ')) {
        next += *next == ' ';
        if (strncmp(next, word, length) == 0 && (next[length] == ' ' || next[length] == '\0'))
            return true;
    }
    return false;
}

bool deviation_measured(const char *model, const char *kernel, const char *space, bool cold,
                        bool copies)
{
    const enum cells cells = cells_of(cold, copies);
    bool known = false;

    for (size_t i = 0; i < sizeof(measured_models) / sizeof(measured_models[0]); i++)
        known |= strcmp(measured_models[i], model) == 0;
    for (size_t i = 0; known && i < sizeof(measured) / sizeof(measured[0]); i++)
        if (measured[i].cells == cells && strcmp(measured[i].kernel, kernel) == 0)
            return has_word(measured[i].spaces, space);
    return false;
}

struct deviation deviation_default(enum deviation_cause cause, bool cold, bool copies, double ns)
{
    const struct known_deviation *known = &known_deviations[cause][cells_of(cold, copies)];

    return (struct deviation){hypot(known->relative, known->ns / ns), known->degrees,
                              cause == CAUSE_WIDEST ? DEVIATION_WIDEST : DEVIATION_DEFAULT};
}

struct deviation deviation_of(const double *values, size_t count)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        mean += log(values[i]) / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (log(values[i]) - mean) * (log(values[i]) - mean);
    if (count < 2)
        return (struct deviation){0};
    return (struct deviation){sqrt(squares / (double)(count - 1)), (double)(count - 1),
                              DEVIATION_PROCESSES};
}

struct deviation deviation_sum(const struct deviation *parts, const double *weights, size_t count)
{
    double sum = 0, uncertain = 0;

    for (size_t i = 0; i < count; i++) {
        const double variance = weights[i] * parts[i].value * parts[i].value;

        if (weights[i] > 0 && parts[i].degrees <= 0)
            return (struct deviation){0};
        sum += variance;
        uncertain += variance > 0 ? variance * variance / parts[i].degrees : 0;
    }
    return (struct deviation){sqrt(sum), uncertain > 0 ? sum * sum / uncertain : DEGREES_MOST,
                              parts[0].origin};
}

/* -- evidence ---------------------------------------------------------------------------------- */

/* The scale is that of the greatest likelihood, and starts at 1 with the degrees of the prior,
 * since one cell says little about all. A cell that differs much says little, too: the more, the
 * less alike cells are by the prior. */
void deviation_conclude(struct deviation_evidence *cells, size_t count, bool boards)
{
    for (int flush = 0; flush < 2; flush++) {
        double factor = 1, seen = 0, most = 0, prior = 0; /* the last three are degrees */

        for (int step = 0; step < SCALE_STEPS; step++) {
            double squares = 0;

            seen = 0;
            for (size_t i = 0; i < count; i++)
                if (cells[i].flush == flush && cells[i].before.degrees > 0 &&
                    cells[i].before.value > 0 && cells[i].own.degrees > 0) {
                    const double own = cells[i].own.degrees, before = cells[i].before.degrees;
                    const double square = pow(cells[i].own.value / cells[i].before.value, 2);

                    seen += own;
                    squares += own * square * (before + own) / (before + own * square / factor);
                    most = fmax(most, own);
                    prior = fmax(prior, before);
                }
            factor = seen > 0 ? fmax((prior + squares) / (prior + seen), boards) : 1;
        }
        for (size_t i = 0; i < count; i++) {
            struct deviation before = cells[i].before;

            if (cells[i].flush != flush)
                continue;
            before.value *= sqrt(factor);
            /* Relative variances, 2 over the degrees, add. The cells of a process may change
             * together, so many cells count no more than one. */
            if (seen > 0 && !boards)
                before.degrees =
                    1 / (1 / before.degrees + 1 / (most * pow((prior + seen) / seen, 2)));
            cells[i].concluded =
                before.degrees > 0 ? deviation_pool(&before, &cells[i].own) : cells[i].own;
            if (boards && cells[i].own.degrees > 0)
                cells[i].concluded.origin = DEVIATION_BOARDS;
        }
    }
}

struct deviation deviation_pool(const struct deviation *first, const struct deviation *second)
{
    const double degrees = first->degrees + second->degrees;
    const double sum = first->degrees * first->value * first->value +
                       second->degrees * second->value * second->value;

    return degrees > 0 ? (struct deviation){sqrt(sum / degrees), degrees,
                                            first->degrees > 0 ? first->origin : second->origin}
                       : (struct deviation){0};
}

/* -- occasions --------------------------------------------------------------------------------- */

double deviation_weight(double *const moments[2], const size_t counts[2], double lasts)
{
    size_t next[2] = {0}, occasions[2] = {0};
    double sum = 0, median = 1;

    for (size_t side = 0; side < 2; side++)
        stats_sort(moments[side], counts[side]);
    while (next[0] < counts[0] || next[1] < counts[1]) {
        const bool second = next[0] == counts[0] ||
                            (next[1] < counts[1] && moments[1][next[1]] < moments[0][next[0]]);
        const double first = moments[second][next[second]];
        double shares[2] = {0};

        for (size_t side = 0; side < 2; side++) {
            const size_t before = next[side];

            while (next[side] < counts[side] && moments[side][next[side]] <= first + lasts)
                next[side]++;
            occasions[side] += next[side] > before;
            shares[side] =
                (double)(next[side] - before) / (double)(counts[side] ? counts[side] : 1);
        }
        sum += pow(shares[1] - shares[0], 2);
    }
    /* Shares are weights of a mean. A time is a median, which varies more. */
    for (size_t side = 0; side < 2; side++)
        if (occasions[side] > 0)
            median = fmax(median, (double)occasions[side] * deviation_of_median(occasions[side]));
    return sum * median;
}

/* -- the median -------------------------------------------------------------------------------- */

double deviation_of_median(size_t count)
{
    const double n = (double)count;

    /* Exact to 1 % (0 for one value and for two). An even number has two values in the middle. */
    if (count < 3)
        return 1 / n;
    return pi / 2 / (n + (count % 2 ? 0.48 : 1.3));
}
