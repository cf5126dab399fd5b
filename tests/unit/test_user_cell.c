/* SPDX-License-Identifier: MIT
 * Tests of cells of users' kernels: identities, their order (by names, and by no address), and
 * documents that are written, read again and refused. */
#include "user_cell.h"

#include <math.h>

#include "access.h"
#include "capture.h"
#include "cells.h"
#include "directory.h"
#include "result.h"

static struct user_kernel kernel(const char *name, const char *spaces, uint64_t hash)
{
    struct user_kernel out = {.hash = hash};

    snprintf(out.name, sizeof(out.name), "%s", name);
    snprintf(out.spaces, sizeof(out.spaces), "%s", spaces);
    return out;
}

static struct cell cell(const char *name, const char *spaces, uint64_t hash, uint64_t size)
{
    const struct user_kernel user = kernel(name, spaces, hash);

    return user_cell(&user, size, &cache_states[0]);
}

TEST(identity_names_kernel_spaces_and_size)
{
    static const struct {
        const char *spaces, *identity;
    } rows[] = {
        {"shared", "crc32/shared/own/131072/0/hot/kernel=00000000000000ab"},
        {"prmt", "crc32/prmt/own/131072/0/hot/kernel=00000000000000ab"},
        {"grid=shared+signs=constant",
         "crc32/mixed/own/131072/0/hot/kernel=00000000000000ab/spaces=grid=shared+signs=constant"},
    };
    char identity[CELL_IDENTITY_BYTES];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct cell user = cell("crc32", rows[i].spaces, 0xab, 131072);

        cell_identity(&user, identity);
        assert_string_equal(identity, rows[i].identity);
        assert_true(cell_is_named(&user, rows[i].identity));
        assert_true(cell_origin(&user)->compiled);
    }
}

TEST(longest_identity_has_room)
{
    char name[USER_KERNEL_NAME_BYTES], spaces[USER_KERNEL_SPACES_BYTES],
        identity[CELL_IDENTITY_BYTES];
    struct cell longest;

    memset(name, 'n', sizeof(name));
    memset(spaces, 't', sizeof(spaces));
    memcpy(spaces + sizeof(spaces) - sizeof("=shared_copies"), "=shared_copies",
           sizeof("=shared_copies"));
    name[sizeof(name) - 1] = '\0';
    longest = cell(name, spaces, UINT64_MAX, CELL_ELEMENTS_MAX);
    cell_identity(&longest, identity);
    assert_true(strlen(identity) < CELL_IDENTITY_BYTES - 1);
    assert_non_null(strstr(identity, "tttt=shared_copies"));
}

TEST(unknown_memory_spaces_have_no_path)
{
    static const char *const rows[] = {"",       "fast",    "mixed",      "a=",
                                       "a=fast", "=shared", "a=shared+b", "a=shared+b=fast"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_null(user_path(rows[i]));
    assert_ptr_equal(user_path("texture"), path_named("texture"));
}

/* Cells of this program come first, then kernels by name, hash and memory spaces; none by an
 * address. */
TEST(order_is_of_names)
{
    const struct cell in_order[] = {
        cell_of(5, 3),
        cell("aes", "shared", 9, 64),
        cell("crc32", "constant", 1, 64),
        cell("crc32", "constant", 1, 128),
        cell("crc32", "global", 1, 64),
        cell("crc32", "shuffle", 1, 1),
        cell("crc32", "prmt", 1, 1),
        cell("crc32", "select", 1, 1),
        cell("crc32", "a=shared+b=constant", 1, 1),
        cell("crc32", "a=shared+b=global", 1, 1),
        cell("crc32", "constant", 2, 64),
    };
    enum { COUNT = sizeof(in_order) / sizeof(in_order[0]) };

    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++) {
            const struct cell copy = in_order[k];
            const int order = cell_order(&in_order[i], &copy);

            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
}

TEST(nothing_is_known_of_loads)
{
    const struct cell user = cell("crc32", "shared", 1, 64);
    const struct access_counts access = {0};
    const struct expectation expectation = {.cell = &user, .access = &access};
    char reason[CELL_REASON_BYTES];

    assert_false(cell_obstacle(&user, 50, reason));
    assert_int_equal(cell_staged_bytes(&user) + cell_copied_bytes(&user) +
                         requested_blocks_per_sm(&user),
                     0);
    assert_int_equal(cell_blocks(&user), 0);
    assert_false(requested_blocks_obstacle(&user, 132, 0, reason));
    for (size_t i = 0; i < counter_count; i++)
        assert_false(counter_expected(&counters[i], &expectation).known);
}

/* -- documents --------------------------------------------------------------------------------- */

static void write_filled(void)
{
    const struct cell cells[] = {cell("crc32", "grid=shared+signs=constant", 0xba7816bf8f01cfea,
                                      131072),
                                 cell_of(0, 0)};
    struct result result;

    assert_int_equal(result_open(&result, cells, 2), STATUS_OK);
    result.engine = "cuda";
    strcpy(result.started_utc, "2026-01-02T03:04:05Z");
    result.max_noise = 0.005;
    result.device.cc_major = 9;
    result.cells[0].of_case = (struct cell_case){
        .given = true,
        .as_written = true,
        .grid = {512, 2, 1},
        .block = {256, 1, 1},
        .shared_bytes = 1024,
        .blocks_per_sm = 8,
        .items = 131072,
        .instructions = "64 LDS, 65 LDG",
        .reference = REFERENCE_CPU,
        .findings = FINDING_EARLIER_LAUNCH | FINDING_NOT_DETERMINISTIC,
    };
    result.kernels = calloc(1, sizeof(*result.kernels));
    assert_non_null(result.kernels);
    result.kernel_count = 1;
    result.kernels[0] = (struct result_kernel){
        .name = "crc32",
        .file = "kernels/crc32.cu",
        .line = 22,
        .sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        .compiler = "nvcc 13.0.88",
        .options = "-maxrregcount=32",
        .compile_seconds = 1.5,
    };
    assert_int_equal(result_write(&result, path), STATUS_OK);
    result_close(&result);
}

TEST(results_keep_everything)
{
    struct result result;
    char *first, *second;

    write_filled();
    first = file_text(path);
    assert_int_equal(result_read(path, &result), STATUS_OK);
    assert_true(cell_origin(&result.cells[0].cell)->compiled &&
                !cell_origin(&result.cells[1].cell)->compiled);
    assert_int_equal(result.cells[0].of_case.reference, REFERENCE_CPU);
    assert_int_equal(result.cells[0].of_case.grid[1], 2);
    assert_false(result.cells[1].of_case.given);
    assert_string_equal(result.kernels[0].options, "-maxrregcount=32");
    assert_int_equal(result_write(&result, path), STATUS_OK);
    second = file_text(path);
    assert_string_equal(first, second);
    result_close(&result);
    free(first);
    free(second);
}

#define SPACES "\"spaces\":\t\"grid=shared+signs=constant\""

TEST(wrong_cells_are_refused_with_their_place)
{
    static const struct {
        const char *from, *to, *message;
    } rows[] = {
        {"\"workload\":\t\"crc32\"", "\"workload\":\t\"crc/32\"",
         "cells[0].workload: expected the name of a kernel"},
        {"\"workload\":\t\"crc32\"", "\"workload\":\t\"\"",
         "cells[0].workload: expected a string of 1 to 63 bytes"},
        {"\"block_size\":\t0", "\"block_size\":\t32",
         "cells[0].block_size: expected an integer from 0 to 0"},
        {"\"ba7816bf8f01cfea\"", "\"ba7816bf\"",
         "cells[0].kernel_file.hash: expected 16 hexadecimal digits"},
        {"\"ba7816bf8f01cfea\"", "null", "cells[0].kernel_file.hash: expected"},
        {SPACES, "\"spaces\":\t\"grid=fast\"",
         "cells[0].kernel_file.spaces: expected a memory space, or TABLE=SPACE"},
        {SPACES, "\"spaces\":\t\"grid=shared+s\\\\n=shared\"",
         "cells[0].kernel_file.spaces: expected a memory space"},
        {"[512,2,1]", "[512,2]", "cells[0].case.grid: expected three numbers"},
        {"[512,2,1]", "[512,2,1,1]", "cells[0].case.grid: expected three numbers"},
        {"[512,2,1]", "[512,0,1]", "cells[0].case.grid: expected three numbers"},
        {"\"not_deterministic\"", "\"slow\"",
         "cells[0].case.findings: expected an array of findings"},
        {"\"reference\":\t\"cpu\"", "\"reference\":\t\"tpu\"",
         "cells[0].case.reference: expected cpu, gpu or file"},
        {"\"items\":\t131072", "\"items\":\t0", "cells[0].case.items: expected an integer from 1"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct capture capture;
        struct result back;
        enum status status;
        char *text, *edited;
        const char *place;

        write_filled();
        text = file_text(path);
        place = strstr(text, rows[i].from);
        assert_non_null(place);
        assert_true(asprintf(&edited, "%.*s%s%s", (int)(place - text), text, rows[i].to,
                             place + strlen(rows[i].from)) > 0);
        file_put(path, edited, strlen(edited));
        capture_begin(&capture, stderr);
        status = result_read(path, &back);
        capture_end(&capture);
        if (status != STATUS_USAGE || !strstr(capture.text, rows[i].message))
            fail_msg("\"%s\" lacks \"%s\"", capture.text, rows[i].message);
        result_close(&back);
        free(edited);
        free(text);
    }
}
