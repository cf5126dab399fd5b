/* SPDX-License-Identifier: MIT
 * When a gate looks at what was measured, and whether it goes on.
 *
 * Who looks again and again until something is significant finds something in the end. A gate looks at most GATE_LOOKS
 * times, each time at a level that is that many times smaller (compare_options.looks): by Bonferroni's inequality all
 * of them together then call out without cause as seldom as one comparison does. Equal levels are those of Pocock
 * (Group sequential methods in the design and analysis of clinical trials, 1977), whose constants are a little larger:
 * they are of looks at equal distances and of a variance that is known. */
#ifndef CBANK_GATE_H
#define CBANK_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "compare.h"

/* Whether there is a look after so many processes a side, of `most`: at some numbers that grow, and at the last. */
bool gate_is_look(uint64_t processes, uint64_t most);

/* The next number of processes after which there is one. */
uint64_t gate_next_look(uint64_t processes, uint64_t most);

/* How many processes would decide all cells that more processes can decide; 0 where there is no such cell: then a gate
 * ends. */
uint64_t gate_needs(const struct comparison *comparison);

#endif
