/* SPDX-License-Identifier: MIT
 * A fuzz target for libFuzzer: any bytes as a result file and as a calibration. `make fuzz` runs it.
 *
 * A file is refused with one line that names it, or it is read without a word; then what was read is
 * written, and reading and writing that gives the same text again. Messages and results go to memory: by
 * the streams' names, so that libFuzzer and the sanitizers keep standard error. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "result.h"
#include "show.h"

static const char name[] = "fuzz.json";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A stream that goes to memory for a while. */
struct memory {
    FILE **stream;
    FILE *saved;
    char *text; /* to free */
    size_t bytes;
};

static void memory_begin(struct memory *memory, FILE **stream)
{
    *memory = (struct memory){.stream = stream, .saved = *stream};
    *stream = open_memstream(&memory->text, &memory->bytes);
    if (!*stream)
        abort();
}

static void memory_end(struct memory *memory)
{
    if (fclose(*memory->stream) != 0)
        abort();
    *memory->stream = memory->saved;
}

static void require(bool holds, const char *what, const char *shown)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_result: %s: \"%s\"\n", what, shown);
    abort();
}

/* A refusal is one line of printable text that names the file, and no fault of the environment. */
static void check_refusal(enum status status, const char *message)
{
    static const char start[] = "cbank: error: ";

    require(status == STATUS_USAGE, "the status is not 2", message);
    require(strncmp(message, start, strlen(start)) == 0, "no error message", message);
    require(strstr(message, name), "the message does not name the file", message);
    for (const char *c = message; *c; c++)
        require((unsigned char)*c >= ' ' || (*c == '\n' && c[1] == '\0'), "more than one line", message);
}

/* Reads a result. False when it is refused. */
static bool read_checked(const char *text, size_t bytes, struct result *result)
{
    struct memory messages;
    enum status status;

    memory_begin(&messages, &stderr);
    status = result_parse(name, text, bytes, result);
    memory_end(&messages);
    if (status == STATUS_OK)
        require(messages.bytes == 0, "a message though all is well", messages.text);
    else
        check_refusal(status, messages.text);
    free(messages.text);
    return status == STATUS_OK;
}

/* What a result is written as. */
static void write_checked(const struct result *result, struct memory *written)
{
    memory_begin(written, &stdout);
    if (result_write(result, "-") != STATUS_OK)
        abort();
    memory_end(written);
}

/* What people see of it; it must come to an end. */
static void show(const struct result *result)
{
    struct memory shown;

    memory_begin(&shown, &stdout);
    show_result(stdout, result, false);
    memory_end(&shown);
    free(shown.text);
}

static void fuzz_result(const char *text, size_t bytes)
{
    struct result result, again;
    struct memory first, second;

    if (!read_checked(text, bytes, &result))
        return;
    result_verdict(&result);
    show(&result);
    write_checked(&result, &first);
    require(read_checked(first.text, first.bytes, &again), "what was written is refused", first.text);
    write_checked(&again, &second);
    require(strcmp(first.text, second.text) == 0, "written otherwise the second time", first.text);
    free(first.text);
    free(second.text);
    result_close(&result);
    result_close(&again);
}

/* The same for a calibration: what it is written as, or NULL when it is refused. To free. */
static char *rewritten_calibration(const char *text, size_t bytes)
{
    struct calibration calibration;
    struct memory messages, written;
    enum status status;

    memory_begin(&messages, &stderr);
    status = calibration_parse(name, text, bytes, &calibration);
    memory_end(&messages);
    if (status != STATUS_OK)
        check_refusal(status, messages.text);
    free(messages.text);
    if (status != STATUS_OK)
        return NULL;
    memory_begin(&written, &stdout);
    if (calibration_write(&calibration, "-") != STATUS_OK)
        abort();
    memory_end(&written);
    calibration_close(&calibration);
    return written.text;
}

static void fuzz_calibration(const char *text, size_t bytes)
{
    char *first = rewritten_calibration(text, bytes), *second;

    if (!first)
        return;
    second = rewritten_calibration(first, strlen(first));
    require(second && strcmp(first, second) == 0, "a calibration is written otherwise the second time", first);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_result((const char *)data, bytes);
    fuzz_calibration((const char *)data, bytes);
    return 0;
}
