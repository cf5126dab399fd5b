/* SPDX-License-Identifier: MIT
 * The times at which a gate evaluates its data.
 *
 * Testing repeatedly until significance inflates false positives. A gate makes at most GATE_LOOKS interim analyses,
 * each at a level that is that many times smaller (judge_options.interim_analyses). By Bonferroni's inequality, all of them
 * together raise a false alarm no more often than one comparison does. Equal levels are those of Pocock (Group
 * sequential methods in the design and analysis of clinical trials, 1977), whose constants are a little larger. */
#ifndef CBANK_GATE_H
#define CBANK_GATE_H

#include <stdint.h>

enum { GATE_INTERIM_ANALYSES = 5 };

/* The first number of processes of a side above `processes` at which a gate of at most `most` makes an interim
 * analysis. */
uint64_t gate_next_interim_analysis(uint64_t processes, uint64_t most);

#endif
