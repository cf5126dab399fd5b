/* SPDX-License-Identifier: MIT */
#include "deviation.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
enum { DEGREES_MOST = 100000 }; /* of what is known for certain */

const char *const deviation_origin_names[] = {
    [DEVIATION_UNKNOWN] = "unknown",        [DEVIATION_DEFAULT] = "default",
    [DEVIATION_CALIBRATED] = "calibration", [DEVIATION_OTHER_BOARD] = "calibration_of_another_board",
    [DEVIATION_PROCESSES] = "processes",
};

static const struct names origins =
    NAMES(deviation_origin_names, DEVIATION_ORIGINS, "default, calibration or processes");

const struct field deviation_rows[DEVIATION_ROWS] = {
    {FIELD(field_number, struct deviation, "value", value, REQUIRED), .high = INFINITY},
    {FIELD(field_number, struct deviation, "degrees_of_freedom", degrees, REQUIRED), .high = INFINITY},
    {FIELD(field_name, struct deviation, "origin", origin, REQUIRED), .of = &origins},
};

/* -- deviations --------------------------------------------------------------------------------------- */

struct deviation deviation_default(enum deviation_cause cause, bool cold, bool copies, double ns)
{
    enum { row_hot, row_cold, row_copies, ROWS };
    static const struct {
        double relative, ns, degrees;
    } known[CAUSES][ROWS] = {
#define DEVIATION(cause, cells, relative, ns, degrees) [CAUSE_##cause][row_##cells] = {relative, ns, degrees},
#include "deviation.def"
    };
    const int row = copies ? row_copies : cold ? row_cold : row_hot;

    return (struct deviation){hypot(known[cause][row].relative, known[cause][row].ns / ns), known[cause][row].degrees,
                              DEVIATION_DEFAULT};
}

struct deviation deviation_at_least(struct deviation before, double within)
{
    before.value = fmax(before.value, within);
    return before;
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
    return (struct deviation){sqrt(squares / (double)(count - 1)), (double)(count - 1), DEVIATION_PROCESSES};
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
    return (struct deviation){sqrt(sum), uncertain > 0 ? sum * sum / uncertain : DEGREES_MOST, parts[0].origin};
}

/* -- evidence ----------------------------------------------------------------------------------------- */

static bool tells(const struct deviation_evidence *cell, bool flush)
{
    return cell->flush == flush && cell->before.degrees > 0 && cell->before.value > 0 && cell->own.degrees > 0;
}

void deviation_find_scales(const struct deviation_evidence *cells, size_t count, struct deviation_scale scales[2])
{
    for (int flush = 0; flush < 2; flush++) {
        double low = -20, high = 20, seen = 0, one = 0, prior = 0; /* of the factor's logarithm, and degrees */

        for (size_t i = 0; i < count; i++)
            if (tells(&cells[i], flush)) {
                seen += cells[i].own.degrees;
                one = fmax(one, cells[i].own.degrees);
                prior = fmax(prior, cells[i].before.degrees);
            }
        /* Degrees seen beyond those expected fall as the factor grows. */
        for (int step = 0; step < 60 && seen > 0; step++) {
            const double middle = (low + high) / 2;
            double excess = prior * (exp(-middle) - 1);

            for (size_t i = 0; i < count; i++)
                if (tells(&cells[i], flush))
                    excess +=
                        cells[i].own.degrees * (pow(cells[i].own.value / cells[i].before.value, 2) / exp(middle) - 1);
            *(excess > 0 ? &low : &high) = middle;
        }
        scales[flush] = seen > 0 ? (struct deviation_scale){exp(high), one * pow((prior + seen) / seen, 2)}
                                 : (struct deviation_scale){1, INFINITY};
    }
}

struct deviation deviation_conclude(const struct deviation_scale scales[2], const struct deviation_evidence *cell)
{
    const struct deviation_scale *scale = &scales[cell->flush];
    struct deviation before = cell->before;

    if (before.degrees <= 0)
        return cell->own;
    before.value *= sqrt(scale->factor);
    /* Relative variances, 2 over the degrees, add. */
    before.degrees = 1 / (1 / before.degrees + 1 / scale->degrees);
    return deviation_pool(&before, &cell->own);
}

struct deviation deviation_pool(const struct deviation *one, const struct deviation *other)
{
    const double degrees = one->degrees + other->degrees;
    const double sum = one->degrees * one->value * one->value + other->degrees * other->value * other->value;

    return degrees > 0
               ? (struct deviation){sqrt(sum / degrees), degrees, one->degrees > 0 ? one->origin : other->origin}
               : (struct deviation){0};
}

/* -- the median --------------------------------------------------------------------------------------- */

double deviation_of_median(size_t count)
{
    const double n = (double)count;

    /* Exact to 1 % (0 for one value and for two). An even number has two values in the middle. */
    if (count < 3)
        return 1 / n;
    return pi / 2 / (n + (count % 2 ? 0.48 : 1.3));
}
