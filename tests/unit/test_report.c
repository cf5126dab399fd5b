/* SPDX-License-Identifier: MIT
 * Golden files, run from the root of the repository: CBANK_UPDATE_GOLDEN=1 writes them anew. tests/formats.py
 * reads them as other programs would. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cells.h"
#include "compare_report.h"
#include "golden.h"
#include "memory.h"
#include "random.h"
#include "text.h"

static const struct table facet_table = TABLE("facet", facets, facet_count);
static const size_t report_count = REPORT_COUNT;
static const struct table format_table = TABLE("report", report_formats, report_count);

enum { CELLS = 11 };

/* A comparison made by hand: every verdict, and everything that can be said of a cell. */
struct fixture {
    struct side base, new_side;
    struct side_cell side_cells[CELLS];
    struct comparison_cell cells[CELLS];
    struct code_change code;
    struct counter_change changes[3];
    struct facet_difference differences[2];
    struct calibration calibration;
    struct compared_gpu gpu;
    struct comparison comparison;
};

static struct cell plan_cell(size_t i)
{
    return (struct cell){.workload = &workloads[0],
                         .path = &paths[i % 3],
                         .pattern = &patterns[i / 3 % 4],
                         .elements = 128000 + i / 12,
                         .block_size = 256,
                         .regime = &regimes[0]};
}

static void set_time(struct comparison_cell *cell, double base_ns, double ratio, double half_width, double p)
{
    cell->ns[BASE] = base_ns;
    cell->ns[NEW] = base_ns * ratio;
    cell->ratio =
        (struct ratio){.value = ratio, .ci_low = ratio - half_width, .ci_high = ratio + half_width, .p = p / 8};
    cell->has_deviation = true;
    cell->deviation = (struct deviation){half_width / 4, 27, DEVIATION_DEFAULT};
    cell->noise = half_width;
    cell->adjusted_p = p;
    cell->timed = true;
}

static void set_no_time(struct comparison_cell *cell)
{
    cell->ns[BASE] = cell->ns[NEW] = cell->adjusted_p = cell->noise = NAN;
    cell->ratio = no_ratio;
    cell->deviation = no_deviation;
}

static void fill_side(struct side *side, const char *label, const char *driver)
{
    *side = (struct side){.files = 3, .identity = {.device = device_unknown}};
    snprintf(side->label, sizeof(side->label), "%s", label);
    strcpy(side->identity.engine, "cuda");
    strcpy(side->identity.device.name, "NVIDIA H200");
    strcpy(side->identity.device.uuid, "GPU-11111111-2222-3333-4444-555555555555");
    side->identity.device.cc_major = 9;
    strcpy(side->argv, "cbank run --quiet --json base.json --regime cold");
    strcpy(side->identity.started_utc, "2026-01-02T03:04:05Z");
    snprintf(side->identity.device.driver, sizeof(side->identity.device.driver), "%s", driver);
}

static void fill_changes(struct fixture *fixture)
{
    fixture->changes[0] =
        (struct counter_change){.name = "ldc_instructions", .kind = COUNTER_EXACT, .base = 16000, .new_value = 20000};
    fixture->changes[1] =
        (struct counter_change){.name = "idc_misses", .kind = COUNTER_MEASURED, .base = 10543, .new_value = 11896};
    fixture->changes[2] =
        (struct counter_change){.name = "imc_requests", .kind = COUNTER_EXACT, .base = 16000, .new_value = NAN};
    fixture->cells[0].changes = fixture->changes;
    fixture->cells[0].change_count = 2;
    fixture->cells[1].changes = &fixture->changes[2];
    fixture->cells[1].change_count = 1;
}

static void fill_cells(struct fixture *fixture)
{
    static const enum verdict verdicts[CELLS] = {
        VERDICT_REGRESSED, VERDICT_REGRESSED, VERDICT_MISSING, VERDICT_INVALID, VERDICT_INVALID, VERDICT_INCONCLUSIVE,
        VERDICT_NEW,       VERDICT_IMPROVED,  VERDICT_SAME,    VERDICT_SAME,    VERDICT_SAME,
    };

    for (size_t i = 0; i < CELLS; i++) {
        struct comparison_cell *cell = &fixture->cells[i];

        *cell = (struct comparison_cell){.cell = plan_cell(i), .verdict = verdicts[i], .clock_ratio = 1};
        set_no_time(cell);
        fixture->side_cells[i] = (struct side_cell){.cell = cell->cell, .sha256 = "abcd"};
    }
    for (size_t i = 7; i < 9; i++)
        fixture->cells[i].cell = cell_distinct(i % 3, 8u << (i - 7), 64);
    fill_changes(fixture);
    set_time(&fixture->cells[0], 25310, 1.1004, 0.003, 0.0024);
    fixture->cells[0].sass_differs = true;
    fixture->cells[0].code = &fixture->code;
    fixture->cells[0].sides[BASE] = fixture->cells[0].sides[NEW] = &fixture->side_cells[0];
    fixture->code = (struct code_change){
        .base_instructions = 23,
        .new_instructions = 25,
        .opcodes = {{"LDC", 4, 5}, {"IMAD", 1, 2}},
        .opcode_count = 2,
        .from = 9,
        .to = 12,
        .opcode_at = 12,
        .base_opcode = "IMAD",
        .new_opcode = "LDC",
    };
    set_time(&fixture->cells[1], 1406.35, 1.0004, 0.0012, 1);
    fixture->cells[2].ns[BASE] = 1406.35;
    strcpy(fixture->cells[3].note, "failed in NEW: output[7] is <1>, not \"2\" & | not 3\033[31m \xff\xc3");
    strcpy(fixture->cells[4].note, "skipped in BASE: this build has no image for the chip");
    set_time(&fixture->cells[5], 980.2, 1.021, 0.06, 0.31);
    fixture->cells[5].underpowered = true;
    fixture->cells[5].clock_ratio = 1.007;
    fixture->cells[5].settle = 7;
    fixture->cells[6].ns[NEW] = 812.5;
    set_time(&fixture->cells[7], 49821.09, 0.8512, 0.002, 0.0008);
    fixture->cells[7].deviation = (struct deviation){0.0041, 22, DEVIATION_CALIBRATED};
    set_time(&fixture->cells[8], 5000, 1.0021, 0.003, 1);
    set_time(&fixture->cells[9], 5.1e6, 0.9988, 0.0021, 0.71);
    fixture->cells[9].deviation = (struct deviation){0.002, 31, DEVIATION_OTHER_BOARD};
    fixture->cells[9].side_degrees = 4;
    set_time(&fixture->cells[10], 5100, 1, 0, 1);
    fixture->cells[10].sass_differs = true;
}

static void fill_difference(struct facet_difference *difference, const char *facet, bool allowed, const char *base,
                            const char *new_text)
{
    *difference = (struct facet_difference){.facet = table_find(&facet_table, facet), .allowed = allowed};
    snprintf(difference->base, sizeof(difference->base), "%s", base);
    snprintf(difference->new_text, sizeof(difference->new_text), "%s", new_text);
}

static void count(struct comparison *comparison)
{
    memset(comparison->counts, 0, sizeof(comparison->counts));
    for (size_t i = 0; i < comparison->cell_count; i++)
        comparison->counts[comparison->cells[i].verdict]++;
}

static void fill(struct fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    fill_side(&fixture->base, "results/<base> & \"co\"|*", "570.86.15");
    fill_side(&fixture->new_side, "results/new_side, or so", "580.65.06");
    fixture->new_side.incomplete = 1;
    fill_cells(fixture);
    fixture->base.cells = fixture->new_side.cells = fixture->side_cells;
    fixture->base.cell_count = fixture->new_side.cell_count = CELLS;
    fill_difference(&fixture->differences[0], "driver", true, "570.86.15", "580.65.06");
    fill_difference(&fixture->differences[1], "sass", true, "2 cells", "2 cells");
    fixture->calibration.device = device_unknown;
    strcpy(fixture->calibration.engine, "cuda");
    strcpy(fixture->calibration.device.name, "NVIDIA H200");
    strcpy(fixture->calibration.device.driver, "570.86.15");
    fixture->calibration.processes = 8;
    fixture->comparison = (struct comparison){
        .sides = {&fixture->base, &fixture->new_side},
        .gpus = &fixture->gpu,
        .gpu_count = 1,
        .options = {.threshold = 0.01, .counter_threshold = 0.05, .calibration = &fixture->calibration},
        .comparable = true,
        .differences = {fixture->differences[0], fixture->differences[1]},
        .difference_count = 2,
        .cells = fixture->cells,
        .cell_count = CELLS,
    };
    count(&fixture->comparison);
    fixture->gpu = (struct compared_gpu){
        .sides = {&fixture->base, &fixture->new_side},
        .differences = {fixture->differences[0]},
        .difference_count = 1,
        .verdict = VERDICT_REGRESSED,
    };
    memcpy(fixture->gpu.counts, fixture->comparison.counts, sizeof(fixture->gpu.counts));
    for (size_t i = 0; i < CELLS; i++)
        fixture->cells[i].gpu = &fixture->gpu;
}

/* The cells that are the same, under another driver and the same SASS. */
static void fill_driver(struct fixture *fixture)
{
    fill(fixture);
    fixture->comparison.cells += 8;
    fixture->comparison.cell_count = 3;
    fixture->cells[10].sass_differs = false;
    fixture->comparison.difference_count = 1;
    fixture->comparison.options.calibration = NULL;
    fixture->cells[9].deviation.origin = DEVIATION_DEFAULT;
    count(&fixture->comparison);
}

/* Another device: nothing that was measured counts. */
static void fill_refused(struct fixture *fixture)
{
    fill(fixture);
    fill_difference(&fixture->comparison.differences[1], "device", false, "NVIDIA H200", "NVIDIA A100");
    fill_difference(&fixture->comparison.differences[2], "ecc", false, "on", "");
    fixture->comparison.difference_count = 3;
    fixture->comparison.comparable = false;
    fixture->comparison.cells += 3;
    fixture->comparison.cell_count = 2;
    strcpy(fixture->cells[3].note, "device differs");
    strcpy(fixture->cells[4].note, "device differs");
    count(&fixture->comparison);
}

static const struct grid_look narrow = {.width = 80}, wide = {.width = 160}, colored = {.width = 160, .color = true};

static char *printed(const struct comparison *comparison, bool all, const struct grid_look *look)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    assert_int_equal(compare_print(stream, comparison, all, look), STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static char *written(const char *format, const struct comparison *comparison)
{
    const struct report_format *row = table_find(&format_table, format);
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(row);
    assert_non_null(stream);
    assert_int_equal(row->write(stream, comparison), STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* No line is wider than a look allows. */
static void check_width(const char *text, int width)
{
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        char copy[1024];

        snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
        assert_true(text_columns(copy) <= (size_t)width);
    }
}

static void check_printed(const struct comparison *comparison, bool all, const struct grid_look *look, const char *path)
{
    char *text = printed(comparison, all, look);

    check_width(text, look->width);
    check_golden(path, text);
}

static void test_printed(void **state)
{
    struct fixture fixture;

    (void)state;
    fill(&fixture);
    check_printed(&fixture.comparison, false, &narrow, "tests/golden/compare_every.txt");
    check_printed(&fixture.comparison, true, &wide, "tests/golden/compare_all.txt");
    fill_driver(&fixture);
    check_printed(&fixture.comparison, false, &wide, "tests/golden/compare_driver.txt");
    fill_refused(&fixture);
    check_printed(&fixture.comparison, false, &narrow, "tests/golden/compare_refused.txt");
}

static void test_formats(void **state)
{
    static const struct {
        const char *format, *ending;
    } rows[] = {{"markdown", "md"}, {"junit", "xml"}, {"json", "json"}, {"csv", "csv"}};
    static const struct {
        const char *name;
        void (*fill)(struct fixture *fixture);
    } comparisons[] = {{"every", fill}, {"driver", fill_driver}, {"refused", fill_refused}};

    (void)state;
    assert_int_equal(REPORT_COUNT, sizeof(rows) / sizeof(rows[0]));
    for (size_t c = 0; c < sizeof(comparisons) / sizeof(comparisons[0]); c++) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct fixture fixture;
            char path[128];

            comparisons[c].fill(&fixture);
            snprintf(path, sizeof(path), "tests/golden/compare_%s.%s", comparisons[c].name, rows[i].ending);
            check_golden(path, written(rows[i].format, &fixture.comparison));
        }
    }
}

/* The first line says how it ended, for every verdict alone. */
static void test_first_line(void **state)
{
    static const struct {
        enum verdict verdict;
        const char *line;
    } rows[] = {
        {VERDICT_SAME, "NEW is the same: 1 same of 1 cell (threshold 1 %)\n"},
        {VERDICT_IMPROVED, "NEW is better: 1 improved of 1 cell (threshold 1 %)\n"},
        {VERDICT_REGRESSED, "NEW is worse: 1 regressed of 1 cell (threshold 1 %)\n"},
        {VERDICT_INCONCLUSIVE, "NEW may be worse: 1 inconclusive of 1 cell (threshold 1 %)\n"},
        {VERDICT_MISSING, "NEW does not pass: 1 missing of 1 cell (threshold 1 %)\n"},
        {VERDICT_NEW, "NEW is the same: 1 new of 1 cell (threshold 1 %)\n"},
        {VERDICT_INVALID, "NEW does not pass: 1 invalid of 1 cell (threshold 1 %)\n"},
    };
    struct fixture fixture;

    (void)state;
    assert_int_equal(verdict_count, sizeof(rows) / sizeof(rows[0]));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text;

        fill(&fixture);
        fixture.cells[0].verdict = rows[i].verdict;
        fixture.comparison.cell_count = 1;
        count(&fixture.comparison);
        text = printed(&fixture.comparison, false, &wide);
        assert_memory_equal(text, rows[i].line, strlen(rows[i].line));
        free(text);
    }
}

static void test_color(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    fill(&fixture);
    text = printed(&fixture.comparison, true, &colored);
    assert_non_null(strstr(text, "\033[1mNEW is worse: "));
    assert_non_null(strstr(text, "\033[31mregressed\033[m"));
    assert_non_null(strstr(text, "\033[32mimproved\033[m"));
    free(text);
    text = printed(&fixture.comparison, true, &wide);
    assert_null(strchr(text, '\033'));
    free(text);
}

static void test_no_cells(void **state)
{
    struct fixture fixture;
    char *text;

    (void)state;
    fill(&fixture);
    fixture.comparison.cell_count = 0;
    fixture.comparison.comparable = false;
    count(&fixture.comparison);
    text = printed(&fixture.comparison, false, &wide);
    assert_string_equal(text, "NEW cannot be compared with BASE, no cell in common: none of 0 cells (threshold 1 %)\n");
    free(text);
    for (size_t i = 0; i < REPORT_COUNT; i++) {
        text = written(report_formats[i].name, &fixture.comparison);
        assert_true(strlen(text) > 0);
        free(text);
    }
    text = written("junit", &fixture.comparison);
    assert_non_null(strstr(text, "tests=\"1\" failures=\"0\" errors=\"1\""));
    free(text);
}

/* However many cells: under the limit, the gravest kept, and the others counted. */
static void test_markdown_limit(void **state)
{
    enum { MANY = 30000, REGRESSED = 10 };
    struct comparison_cell *cells = calloc(MANY, sizeof(*cells));
    struct fixture fixture;
    size_t rows = 0, dropped = 0;
    const char *left;
    char *text;

    (void)state;
    assert_non_null(cells);
    fill(&fixture);
    for (size_t i = 0; i < MANY; i++) {
        cells[i] = fixture.cells[i < REGRESSED ? 0 : i < MANY / 2 ? 5 : 8];
        cells[i].cell = plan_cell(i);
    }
    fixture.comparison.cells = cells;
    fixture.comparison.cell_count = MANY;
    count(&fixture.comparison);
    text = written("markdown", &fixture.comparison);
    assert_true(strlen(text) <= MARKDOWN_BYTES_MAX);
    assert_true(strlen(text) > MARKDOWN_BYTES_MAX / 10 * 9);
    for (const char *at = text; (at = strstr(at, "| add/")); at++)
        rows++;
    left = strstr(text, "\nThe ");
    assert_non_null(left);
    assert_int_equal(sscanf(left, "\nThe %zu least grave of 30000 cells", &dropped), 1);
    assert_int_equal(rows + dropped, MANY);
    assert_true(rows > REGRESSED);
    free(text);
    free(cells);
}

/* A file is replaced as a whole, and one that cannot be written is said. */
static void test_write(void **state)
{
    char folder[] = "/tmp/cbank-report-XXXXXX", path[64];
    struct fixture fixture;
    struct capture capture;

    (void)state;
    fill(&fixture);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/report", folder);
    for (size_t i = 0; i < REPORT_COUNT; i++) {
        char *expected = written(report_formats[i].name, &fixture.comparison), *text;

        assert_int_equal(file_write(path, report_formats[i].write, &fixture.comparison), STATUS_OK);
        text = file_text(path);
        assert_string_equal(text, expected);
        free(text);
        free(expected);
    }
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left in it */
    capture_begin(&capture, stderr);
    assert_int_equal(file_write(path, compare_markdown, &fixture.comparison), STATUS_USAGE);
    assert_non_null(strstr(capture_end(&capture), path));
}

static void test_write_stdout(void **state)
{
    struct fixture fixture;
    struct capture capture;
    char *expected;

    (void)state;
    fill_driver(&fixture);
    expected = written("csv", &fixture.comparison);
    capture_begin(&capture, stdout);
    assert_int_equal(file_write("-", compare_csv, &fixture.comparison), STATUS_OK);
    assert_string_equal(capture_end(&capture), expected);
    free(expected);
}

/* What is no character, or none that XML takes, becomes '?', byte for byte. */
static void test_text(void **state)
{
    static const struct {
        const char *text, *put;
    } rows[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&apos;"},
        {"\xc2\xb1 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc2\xb1 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\x01\t\n\x7f", "????"},
        {"\xc0\x80", "??"},             /* overlong */
        {"\xed\xa0\x80", "???"},        /* surrogate */
        {"\xf4\x90\x80\x80", "????"},   /* beyond Unicode */
        {"\xef\xbf\xbf\xff", "????"},   /* U+FFFF, and no first byte */
        {"\xc2\x9b", "??"},             /* a control of C1: CSI */
        {"\xe2\x82", "??"},             /* cut */
        {"\xe2\x80\xa7\xe2\x80\xae\xe2\x81\xa9", "\xe2\x80\xa7??????"}, /* a point; what turns the order of text */
    };
    char buffer[128];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        FILE *stream = fmemopen(buffer, sizeof(buffer), "w");

        text_put(stream, escapes_xml, rows[i].text);
        fclose(stream);
        assert_string_equal(buffer, rows[i].put);
    }
}

/* Text that a spreadsheet calculates, and text that it does not. */
static void test_formulas(void **state)
{
    static const struct {
        const char *text, *put;
    } rows[] = {
        {"=1+1", "'=1+1"},    {"@a", "'@a"}, {"+cmd", "'+cmd"}, {"-a,b", "\"'-a,b\""}, {"-", "'-"},
        {"-1.5e3", "-1.5e3"}, {"+1", "+1"},  {"1=1", "1=1"},    {"\t=1", "'?=1"},
    };
    char buffer[128];

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const bool raw = i % 2;
        FILE *stream = fmemopen(buffer, sizeof(buffer), "w");

        text_csv(stream, rows[i / 2].text, raw);
        fclose(stream);
        if (!raw)
            assert_string_equal(buffer, rows[i / 2].put);
        else
            assert_null(strchr(buffer, '\''));
    }
}

/* All that was written, with a NUL in it and after it. */
static void test_memory(void **state)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

    (void)state;
    fprintf(stream, "a%c", '\0');
    fflush(stream);
    assert_int_equal(memory.bytes, 2);
    for (int i = 0; i < 100000; i++)
        putc('b', stream);
    assert_true(memory_close(&memory, stream));
    assert_int_equal(memory.bytes, 100002);
    assert_string_equal(memory.text, "a");
    assert_int_equal(strspn(memory.text + 2, "b"), 100000);
    free(memory.text);
    memory = (struct memory){0};
    assert_false(memory_close(&memory, NULL));
    assert_null(memory.text);
}

static void test_numbers(void **state)
{
    static const struct {
        double relative;
        const char *text;
    } rows[] = {{0.1004, "+10.0%"}, {-0.00211, "-0.21%"}, {0, "+0.00%"}, {0.0999499, "+9.99%"},
                {0.9996, "+100%"},  {9.9996, "+1e+03%"},  {NAN, "-"},    {INFINITY, "-"}};
    char text[TEXT_NUMBER_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        text_change(rows[i].relative, text);
        assert_string_equal(text, rows[i].text);
    }
    text_time(999.96, text);
    assert_string_equal(text, "1.000 us");
    text_time(NAN, text);
    assert_string_equal(text, "-");
    assert_string_equal(text_of(text_time, 999.96).text, "1.000 us");
}

/* Decimals are rounded as printf does, in the middle between two as well. */
static void test_decimals(void **state)
{
    static const double odd[] = {0, -0.0, 0.005, 0.015, 1.005, 2.5, 0.25, 0.125, -0.001, 999999999999.95, 1e13, -1e300};
    char text[TEXT_NUMBER_BYTES], expected[TEXT_NUMBER_BYTES];
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 100000; i++) {
        const double power = pow(10, (double)(random_next(&seed) % 16) - 4);
        const double drawn = (double)(random_next(&seed) >> 11) / 0x1p53 * power, steps = floor(drawn * 2000) / 2000;
        const double value = i < sizeof(odd) / sizeof(odd[0]) ? odd[i] : i % 2 ? drawn : -steps;

        text_hundredths(value, text);
        snprintf(expected, sizeof(expected), "%.2f", value);
        assert_string_equal(text, expected);
        text_tenths(value, text);
        snprintf(expected, sizeof(expected), "%.1f", value);
        assert_string_equal(text, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed),  cmocka_unit_test(test_formats),      cmocka_unit_test(test_first_line),
        cmocka_unit_test(test_color),    cmocka_unit_test(test_no_cells),     cmocka_unit_test(test_markdown_limit),
        cmocka_unit_test(test_write),    cmocka_unit_test(test_write_stdout), cmocka_unit_test(test_text),
        cmocka_unit_test(test_formulas), cmocka_unit_test(test_memory),       cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_decimals),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
