/* SPDX-License-Identifier: MIT
 * The fuzzer's entry: finds the target that CBANK_FUZZ names, feeds it, mutates JSON as JSON, and
 * holds stdout and stderr in memory, so that a target can require what was said. */
#include "fuzz.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

static const struct target {
    const char *name;
    fuzz_target *execute;
    bool json;
} targets[] = {
    {"result", fuzz_result, true},   {"calibration", fuzz_calibration, true},
    {"card", fuzz_card, true},       {"characterization", fuzz_characterization, true},
    {"compare", fuzz_compare, true}, {"command", fuzz_command, false},
    {"npy", fuzz_npy, false},        {"cubin", fuzz_cubin, false},
    {"batch", fuzz_batch, false},
};

enum { TARGETS = sizeof(targets) / sizeof(targets[0]) };

struct capture fuzz_stdout, fuzz_stderr;

/* -- what others call -------------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed);

/* The environment's, changed in place: widths from 40 to 239. */
static char columns[] = "COLUMNS=100";

static const struct target *chosen(void)
{
    static const struct target *target;
    const char *name = target ? NULL : getenv("CBANK_FUZZ");

    for (size_t i = 0; name && i < TARGETS; i++)
        if (strcmp(targets[i].name, name) == 0)
            target = &targets[i];
    if (target)
        return target;
    fprintf(stderr, "CBANK_FUZZ names a target:");
    for (size_t i = 0; i < TARGETS; i++)
        fprintf(stderr, " %s", targets[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    chosen();
    putenv(columns);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const unsigned width = 40 + (unsigned)(bytes % 200);

    for (size_t i = 0, scale = 100; i < 3; i++, scale /= 10)
        columns[sizeof("COLUMNS=") - 1 + i] = (char)('0' + width / scale % 10);
    chosen()->execute((const char *)data, bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed)
{
    return chosen()->json ? mutate_json(data, bytes, most, seed)
                          : LLVMFuzzerMutate(data, bytes, most);
}

/* -- streams ----------------------------------------------------------------------------------- */

/* Puts the capture's stream instead of the other, or back. */
static void exchange(struct capture *capture)
{
    FILE **standard = capture == &fuzz_stdout ? &stdout : &stderr, *before = *standard;

    *standard = capture->stream;
    capture->stream = before;
}

void capture_begin(struct capture *capture)
{
    struct memory *memory = &capture->memory;

    if (!capture->stream)
        capture->stream = memory_open(memory);
    if (!memory->text) /* it was taken */
        *memory = (struct memory){.text = malloc(1), .room = 1};
    if (!capture->stream || !memory->text)
        abort();
    memory->bytes = 0;
    memory->text[0] = '\0';
    exchange(capture);
}

void capture_end(struct capture *capture)
{
    exchange(capture);
    if (fflush(capture->stream) != 0)
        abort();
}

char *capture_take(struct capture *capture)
{
    char *text = capture->memory.text;

    capture->memory = (struct memory){0};
    return text;
}

/* -- what has to hold -------------------------------------------------------------------------- */

void require(bool holds, const char *what, const char *shown)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s: \"%s\"\n", what, shown);
    abort();
}

void require_said(enum status status)
{
    static const char start[] = "cbank: error: ";
    const char *message = fuzz_stderr.memory.text;

    if (status == STATUS_OK) {
        require(fuzz_stderr.memory.bytes == 0, "a message though all is well", message);
        return;
    }
    require(status == STATUS_USAGE, "the status is not 2", message);
    require(strncmp(message, start, strlen(start)) == 0, "no error message", message);
    require(strstr(message, FUZZ_FILE), "the message does not name the file", message);
    for (const char *c = message; *c; c++)
        require((unsigned char)*c >= ' ' || (*c == '\n' && c[1] == '\0'), "more than one line",
                message);
}
