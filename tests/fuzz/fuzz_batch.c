/* SPDX-License-Identifier: MIT
 * Questions of cbank compare --batch: each line of any bytes has an answer of one line, in JSON,
 * and nothing is said elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "fuzz.h"
#include "json.h"

/* How many lines a text has; the last may lack its end. */
static size_t count_lines(const char *text, size_t bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += text[i] == '\n' || i + 1 == bytes;
    return count;
}

/* An answer has cells, or an error where the status says so. */
static void check_answer(const char *line, size_t bytes, enum status status)
{
    cJSON *tree = NULL;

    require(json_parse(FUZZ_FILE, line, bytes, &tree) == STATUS_OK, "an answer is no JSON", line);
    require(json_get(tree, "cells") || (json_get(tree, "error") && status == STATUS_USAGE),
            "an answer says nothing", line);
    json_free(tree);
}

void fuzz_batch(const char *text, size_t bytes)
{
    const size_t lines = count_lines(text, bytes);
    char *copy = malloc(bytes + 1), *answers, *next;
    FILE *questions;
    enum status status;
    size_t answered = 0;

    if (!copy)
        abort();
    memcpy(copy, text, bytes);
    questions = fmemopen(copy, bytes + (bytes == 0), "r");
    if (!questions)
        abort();
    capture_begin(&fuzz_stderr);
    capture_begin(&fuzz_stdout);
    status = bytes > 0 ? batch_answer(questions, stdout) : STATUS_OK;
    capture_end(&fuzz_stdout);
    capture_end(&fuzz_stderr);
    fclose(questions);
    free(copy);
    require(fuzz_stderr.memory.bytes == 0, "a batch speaks aside", "");
    answers = next = capture_take(&fuzz_stdout);
    for (char *line; *next; answered++) {
        line = strsep(&next, "\n");
        require(next, "an answer has no end", line);
        check_answer(line, strlen(line), status);
    }
    require(answered == lines, "not each line has one answer", answers);
    free(answers);
}
