/* SPDX-License-Identifier: MIT
 * Which table in constant memory a load reads: what is proven, and nothing else.
 *
 * The machine code of a load has an address: registers and a number. The number is no proof. In
 * lengths[symbol - 40] the compiler takes 40 entries off the place of `lengths`, and what is left
 * may be the place of another table, inside of one, or before all of them. What proves a table is
 * evidence that admits some tables and excludes the others:
 *
 *     a relocation     of code that is not linked: the one that it names
 *     the range        of the address, see value_range.h: each table that the range touches
 *     the PTX          of the load's row, if there is one: the one that its address is made of. The
 *                      row is of one PTX load, and the compiler may have made one load of two; so
 *                      it is asked only where all paths add the same number to the index
 *
 * Tables that all evidence admits are the candidates. They are a lattice: sets of tables, ordered
 * by inclusion, from all tables of the bank down to none. Each piece of evidence holds the table
 * that is read, so their intersection holds it, too. One that is left is the answer. Of several, or
 * of none, which is evidence that contradicts itself, nothing is told.
 *
 * Where paths meet, the range becomes one that has both, and numbers that differ become several:
 * see value_join in value.h. Then more tables are admitted, never fewer. */
#pragma once

#include "user_access.h"

/* False: it is not proven. */
bool load_table_find(const struct accesses *all, const struct analysed_load *load, uint32_t width,
                     struct cubin_variable *out);
