/* SPDX-License-Identifier: MIT
 * The one configuration that advice is about, on every path that loads. */
#pragma once

#include "plan.h"
#include "user_access.h"

/* The options of one configuration on every path that loads, and the values that nobody named. */
struct configuration {
    struct plan_options options;
    uint64_t elements, bytes, width;
    const void *workload_rows[1], *source_rows[1];
    struct selection loading; /* owned: paths */
};

/* Gives a parameter a value, unless it was named. */
void configuration_give(struct plan_options *options, enum parameter_index key, uint64_t *value);

/* An option that is not given has the first of its default values. Without --table-bytes, table and
 * entry are those of `largest`, which may be NULL. STATUS_USAGE, logged, without a table's size.
 * The caller closes *out, also after an error. */
enum status configure(const struct plan_options *given, const struct user_access *largest,
                      struct configuration *out);

/* The cells of a configuration. STATUS_USAGE, logged, where options name several. */
enum status plan_configuration(struct configuration *configuration, struct index_list *indices,
                               struct plan *out);

/* Releases; accepts a zeroed struct. */
void configuration_close(struct configuration *configuration);
