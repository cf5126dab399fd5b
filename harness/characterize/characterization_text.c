/* SPDX-License-Identifier: MIT
 * A short text of the findings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "characterization.h"
#include "text.h"
#include "text_print.h"

enum { INDENT = 2 };

/* Prints a line of its own, wrapped. */
#define print_line(columns, first, ...)                                                                          \
    text_paragraph(                                                                                              \
        (struct text_wrap){.stream = stdout, .width = (columns), .column = (first), .indent = (first) + INDENT}, \
        __VA_ARGS__)

void characterization_print(const struct characterization *characterization)
{
    const int width = text_width(stdout);

    for (size_t i = 0; i < characterization->count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];

        print_line(width, 0, "%s: %s", outcome->experiment.name, outcome->experiment.what);
        if (outcome->status == OUTCOME_SKIPPED)
            print_line(width, INDENT, "skipped: %s", outcome->reason);
        for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++) {
            print_line(width, INDENT, "%s", one->sentence);
            if (isnan(one->share))
                print_line(width, 2 * INDENT, "%s", one->reason);
        }
        /* A number, or for several with one name their range: the file has each of them. */
        for (size_t j = 0; j < outcome->number_count; j++) {
            const struct number *one = &outcome->numbers[j], *first = NULL;
            double low = one->value, high = one->value;
            size_t count = 0;

            for (size_t k = 0; k < outcome->number_count; k++)
                if (strcmp(outcome->numbers[k].name, one->name) == 0) {
                    first = first ? first : &outcome->numbers[k];
                    low = fmin(low, outcome->numbers[k].value);
                    high = fmax(high, outcome->numbers[k].value);
                    count++;
                }
            if (first == one && count > 1)
                print_line(width, INDENT, "%s: %.4g to %.4g %s in %zu cases", one->name, low, high, one->unit, count);
            else if (first == one && isnan(one->value))
                print_line(width, INDENT, "%s: none: %s", one->name, one->reason);
            else if (first == one)
                print_line(width, INDENT, "%s: %.4g [%.4g, %.4g] %s", one->name, one->value, one->low, one->high,
                           one->unit);
        }
        for (size_t k = 0; outcome->geometry && k < outcome->geometry->level_count; k++) {
            const struct geometry_level *level = &outcome->geometry->level[k];
            const char *reason = "";
            char found[TEXT_PARAGRAPH_BYTES / 2];

            snprintf(found, sizeof(found), "level %zu: %.4g [%.4g, %.4g] cycles, the clock's own included", k + 1,
                     level->latency.value, level->latency.ci_low, level->latency.ci_high);
            for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
                const struct geometry_number *number = geometry_number(level, &geometry_findings[i]);

                if (number->known && number == &level->replacement)
                    text_join(found, sizeof(found), ", ", "%s", level->replacement_name);
                else if (number->known)
                    text_join(found, sizeof(found), ", ", "%s %u", geometry_findings[i].key, number->value);
            }
            print_line(width, INDENT, "%s", found);
            for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
                const struct geometry_number *number = geometry_number(level, &geometry_findings[i]);

                if (!number->known && strcmp(number->reason, reason) != 0) {
                    reason = number->reason;
                    print_line(width, 2 * INDENT, "%s not found: %s", geometry_findings[i].key, reason);
                }
            }
            if (level->contradiction[0])
                print_line(width, 2 * INDENT, "contradiction: %s", level->contradiction);
        }
    }
}
