/* SPDX-License-Identifier: MIT
 * Whether something else had the device while samples were taken.
 *
 * A process that computes on the device, too, has it in slices of a millisecond or more, in which nothing of a sample
 * runs. Nothing of a sample's own takes as long, compared with another one of its place: none of 86,000 committed samples
 * does. Samples of other places may take three times as long: by which slices of L2 the table's lines are in. */
#ifndef CBANK_NEIGHBOUR_H
#define CBANK_NEIGHBOUR_H

#include <stddef.h>

/* How many samples of a cell a slice was in. totals_ns[0 .. count - 1]: what each took in all; sample i is of place i modulo
 * `places`. */
size_t neighbour_slices(const double *totals_ns, size_t count, size_t places);

#endif
