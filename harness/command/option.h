/* SPDX-License-Identifier: MIT
 * Options: parsing, limits, help, man page and completion follow from rows. A command, or a group
 * that several commands share, has a struct and a table of rows; each row sets a member of the
 * struct. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "table.h"

struct invocation; /* command.h */
struct option_row;
struct texts; /* texts.h */

/* How to read and release a value. */
struct option_kind {
    /* Sets the member of the row's struct at `member`. STATUS_USAGE, logged, for a bad value. */
    enum status (*parse)(const struct option_row *option, const char *text, void *member);
    /* Releases the member's memory; accepts a zeroed member. NULL: nothing to release. */
    void (*close)(void *member);
};

/* The subject of an option. Its heading in help, and the order there, are those of the table in
 * help.c. */
enum option_topic {
    TOPIC_NONE, /* of hidden options alone */
    TOPIC_PLAN,
    TOPIC_PARAMETERS,
    TOPIC_KERNEL,
    TOPIC_GPU,
    TOPIC_MEASURING,
    TOPIC_RESUME,
    TOPIC_VERDICT,
    TOPIC_VIEW,
    TOPIC_OUTPUT,
    OPTION_TOPICS
};

/* What a command does with the files that a value names. */
enum option_file {
    FILE_NONE,
    FILE_READ = 1 << 0,
    FILE_WRITTEN = 1 << 1, /* it must differ from every other file of the command line */
    FILE_UPDATED = FILE_READ | FILE_WRITTEN,
};

/* Adds the files that a command reads because of a value, which is "" for a flag. An error is
 * logged. */
typedef enum status option_reads(const struct invocation *invocation, const char *value,
                                 struct texts *out);

struct option_row {
    const char *name;
    enum option_topic topic;
    const char *argument; /* its name in help; NULL for a flag */
    const char *help;
    const struct option_kind *kind;
    size_t offset; /* of the member in the struct */
    /* offset of a bool that is set if the option is given; 0: there is none */
    size_t given;
    struct table table; /* rows to choose from */
    double low, high; /* limits of numbers */
    uint64_t multiple; /* integers are multiples of this; 0: of 1 */
    const char *unit; /* unit in the message about limits */
    const char *otherwise; /* a word that is allowed instead of numbers or a row: "all", "auto" */
    const char *fallback; /* parsed if the option is not given; NULL: the member stays zero */
    const char *instead; /* an option that, if given, takes the place of the fallback */
    enum option_file file;
    option_reads *reads; /* NULL: the value, its parts, and .json files of folders (file_check.h) */
    bool numbered; /* of an output: with several devices each has its own, see file_of_device */
    bool hidden; /* for developers: not in help */
};

/* A list of integers in the order given, each once. `all` is set if the word `otherwise` was given
 * instead. */
struct integers {
    uint64_t *values; /* owned */
    size_t count;
    bool all;
};

/* Releases; accepts a zeroed struct. */
void integers_close(struct integers *integers);

/* The kinds of option.c, and the member that each sets. Other rooms have kinds of their own. */
extern const struct option_kind option_flag; /* bool */
extern const struct option_kind option_text; /* const char *, which lies in argv; not empty */
/* uint64_t; "12.8M", "64KB", "0x400" are numbers, see parse_size.h */
extern const struct option_kind option_integer;
extern const struct option_kind option_integers; /* struct integers, comma-separated */
extern const struct option_kind option_number; /* double */
extern const struct option_kind option_seed; /* uint64_t without limits */
extern const struct option_kind option_choice; /* row of `table`; NULL for `otherwise` */
extern const struct option_kind option_preset; /* the same; the row is a struct preset */
extern const struct option_kind option_selection; /* struct selection of rows of `table` */

/* Values of other options under one name. They apply to options that are not given. */
enum { PRESET_VALUES_MAX = 8 };

struct preset {
    const char *name;
    const char *summary;
    struct {
        const char *option, *value; /* NULL after the last */
    } values[PRESET_VALUES_MAX];
};

/* Rows that a command takes, and the offset of their struct in the struct of the command. */
struct option_group {
    const struct option_row *rows;
    size_t count;
    size_t offset;
};

#define OPTION_GROUP(rows, offset) {(rows), sizeof(rows) / sizeof((rows)[0]), (offset)}
