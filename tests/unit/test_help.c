/* SPDX-License-Identifier: MIT
 * The tables that help is made of: the commands' jobs, and the topics of their options. */
#include <stdlib.h>

#include "test.h"

/* The list of commands is that file's own. */
#define cbank_main tested_main
#include "../../harness/commands.c" /* NOLINT(bugprone-suspicious-include) */
#undef cbank_main

/* How many options the command has: in all, shown, or shown in its short help. */
struct option_counts {
    size_t all, shown, common;
};

static struct option_counts count_options(const struct command *command)
{
    struct option_counts counts = {0};

    for (size_t g = 0; g < command->group_count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++) {
            const struct option_row *row = &command->groups[g].rows[i];

            counts.all++;
            counts.shown += !row->hidden;
            counts.common += !row->hidden && command_lists(command, row);
        }
    return counts;
}

/* Options of that name in a command. */
static size_t count_named(const struct command *command, const char *name, size_t bytes)
{
    size_t count = 0;

    for (size_t g = 0; g < command->group_count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++)
            count += strlen(command->groups[g].rows[i].name) == bytes &&
                     strncmp(command->groups[g].rows[i].name, name, bytes) == 0;
    return count;
}

TEST(topics_and_jobs_have_headings)
{
    for (int topic = 0; topic < OPTION_TOPICS; topic++)
        assert_non_null(option_topic_headings[topic]);
    for (int job = 0; job < COMMAND_JOBS; job++)
        assert_non_null(job_headings[job]);
}

TEST(options_have_a_topic_unless_they_are_hidden)
{
    for (size_t c = 0; c < row_count; c++)
        for (size_t g = 0; g < rows[c].command->group_count; g++)
            for (size_t i = 0; i < rows[c].command->groups[g].count; i++) {
                const struct option_row *row = &rows[c].command->groups[g].rows[i];

                if ((row->topic == TOPIC_NONE) != row->hidden)
                    fail_msg("cbank %s --%s: its topic and whether it is hidden", rows[c].name,
                             row->name);
            }
}

TEST(short_help_lists_twelve_options_that_the_command_has)
{
    for (size_t c = 0; c < row_count; c++) {
        const struct command *command = rows[c].command;
        const struct option_counts counts = count_options(command);
        size_t bytes;

        assert_true(counts.all <= OPTIONS_MAX);
        if (!command->common) {
            assert_true(counts.shown <= COMMON_OPTIONS_MAX);
            assert_int_equal(counts.common, counts.shown);
            continue;
        }
        assert_in_range(counts.common, 8, COMMON_OPTIONS_MAX);
        assert_true(counts.shown > COMMON_OPTIONS_MAX);
        for (const char *name = command->common; *name; name += bytes + (name[bytes] == ',')) {
            bytes = strcspn(name, ",");
            if (count_named(command, name, bytes) != 1)
                fail_msg("cbank %s has no option %.*s", rows[c].name, (int)bytes, name);
        }
    }
}
