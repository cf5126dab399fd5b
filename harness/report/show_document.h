/* SPDX-License-Identifier: MIT
 * Documents other than results and characterizations, as a screen of text: facts about the whole,
 * then its lists as tables. Which keys it shows is a row for each kind. */
#pragma once

#include <stdbool.h>

#include "json.h"
#include "status.h"
#include "text_print.h"

/* A list of a document: the keys that lead to it, "code.kernels", and those of its columns, with
 * blanks between, each with another heading behind "=". Elements of arrays on the way are taken one
 * after the other. The column "@" is the key of an element of an object. The first column names the
 * row; where lines are too narrow, the last columns are left out. */
struct shown_list {
    const char *path, *columns;
    const char *descending; /* the largest of this number comes first; NULL: as they stand */
};

enum { SHOWN_LISTS_MAX = 4 };

struct shown_document {
    const char *facts; /* keys of facts about the whole */
    struct shown_list lists[SHOWN_LISTS_MAX];
};

/* Prints a document on stdout; of each list some rows, or all. STATUS_ENVIRONMENT when out of
 * memory. */
enum status document_show(const struct shown_document *shown, const cJSON *tree,
                          const struct print_style *look, bool all);
