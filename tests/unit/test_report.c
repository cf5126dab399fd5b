/* SPDX-License-Identifier: MIT
 * What reports of a comparison say, against golden files, and pieces of text. Run from the root of
 * the repository: CBANK_UPDATE_GOLDEN=1 writes the golden files anew. */
#include "golden.h"
#include "memory.h"
#include "report.h"
#include "report_words.h"
#include "sides.h"
#include "test.h"
#include "text.h"

static const struct print_style narrow = {.width = 80}, wide = {.width = 160},
                                colored = {.width = 160, .color = true};

enum { CELLS = 10 };

/* Results with every verdict, and with much that can be said of a cell. */
static void fill_sides(struct sides sides[SIDES])
{
    struct result base, new_result;

    result_fill(&base, CELLS, 1);
    result_fill(&new_result, CELLS, 2);
    strcpy(new_result.device.driver, "580");
    for (size_t i = 0; i < CELLS; i++) {
        result_time(&base.cells[i], 25310);
        result_time(&new_result.cells[i], 25310 * (1 + 0.0001 * (double)i));
    }
    result_time(&new_result.cells[0], 25310 * 1.1004);
    result_counter(&base.cells[0], "ldc_instructions", COUNTER_EXACT, 16000);
    result_counter(&new_result.cells[0], "ldc_instructions", COUNTER_EXACT, 20000);
    result_counter(&base.cells[0], "idc_misses", COUNTER_MEASURED, 10543);
    result_counter(&new_result.cells[0], "idc_misses", COUNTER_MEASURED, 11896);
    strcpy(new_result.cells[0].kernel.sha256, "bb");
    base.cells[0].kernel.code = "LDC 4 IMAD 1;AAAAB;x";
    new_result.cells[0].kernel.code = "LDC 5 IMAD 2;AAAAABB;y";
    new_result.cells[1].cell = cell_distinct(0, 8, 64); /* missing, and new */
    new_result.cells[2].status = CELL_FAILED;
    strcpy(new_result.cells[2].reason, "output[7] is <1>, not \"2\" & | not 3\033[31m \xff\xc3");
    result_time(&new_result.cells[3], 25310 * 1.0105);
    result_time(&new_result.cells[4], 25310 * 0.8512);
    new_result.cells[4].flags = FLAG_THROTTLED;
    result_time(&new_result.cells[5], 25310 * 1.05);
    new_result.cells[5].flags = FLAG_UNSTABLE;
    new_result.cells[6].time.sm_clock_mhz = 1980 * 1.004;
    result_time(&new_result.cells[9], 25310 * 1.3);
    new_result.cells[9].flags = FLAG_CONTENDED;
    new_result.cells[9].time.samples_ns[0] = 25310;
    base.cells[7].status = new_result.cells[7].status = CELL_SKIPPED;
    new_result.complete = false;
    sides_put(&sides[BASE], &base);
    sides_put(&sides[NEW], &new_result);
    strcpy(sides[BASE].total.label, "results/<base> & \"co\"|*");
    strcpy(sides[NEW].total.label, "results/new, or so");
}

static const struct compare_options *options(void)
{
    static const struct table table = TABLE("context field", context_fields, context_field_count);
    static const void *row[1];
    static const struct selection allowed = {row, 1};
    static const struct compare_options out = {.judge.threshold = 0.01, .allowed = &allowed};

    row[0] = row_named(table, "sass");
    return &out;
}

/* A report as text; no line of text is wider than the look. */
static char *report(const struct report_format *format, const struct comparison *comparison,
                    bool all, const struct print_style *look)
{
    const struct report_view view = {*look, all};
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    assert_int_equal(format->write(stream, comparison, &view), STATUS_OK);
    assert_int_equal(fclose(stream), 0);
    for (const char *line = text; *line && format == &report_text && !look->color;
         line = strchr(line, '\n') + 1) {
        char copy[1024];

        snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
        assert_true(text_columns(copy) <= (size_t)look->width);
    }
    return text;
}

#define printed(comparison, all, look) report(&report_text, comparison, all, look)
#define written(format, comparison)    report(format, comparison, false, &wide)

TEST(test_every_format_says_everything)
{
    struct sides sides[SIDES] = {{.count = 0}, {.count = 0}};
    struct comparison comparison;

    fill_sides(sides);
    comparison = compared(sides, options());
    for (size_t i = 0; i < VERDICTS; i++)
        assert_true(comparison.counts[i] > 0);
    check_golden("tests/golden/compare.txt", printed(&comparison, false, &narrow));
    check_golden("tests/golden/compare.xml", written(&report_junit, &comparison));
    check_golden("tests/golden/compare.json", written(&report_json, &comparison));
    check_golden("tests/golden/compare.md", written(&report_markdown, &comparison));
    compared_close(&comparison, sides);
}

enum { DRIVER, DEVICE, GPU, GATE, PLAN, CASES };

/* Adds process k of a case, the first to BASE and the others to NEW: a result of two cells. */
static void add_process(struct sides sides[SIDES], size_t i, unsigned k)
{
    struct result result;

    result_fill(&result, 2, k);
    strcpy(result.device.driver, i == DRIVER && k ? "580" : "570");
    strcpy(result.device.name, i == DEVICE && k ? "NVIDIA Other" : "NVIDIA H200");
    strcpy(result.host.name, "n17");
    snprintf(result.device.uuid, sizeof(result.device.uuid), "GPU-%u-x", i == DEVICE ? k : k / 2);
    for (size_t c = 0; c < 2; c++) {
        result_time(&result.cells[c], i == GATE && k ? 1009.5 : 1000 + 0.1 * k);
        result.cells[c].cell.elements += i == PLAN && k ? 500 : 0;
    }
    sides_put(&sides[k > 0], &result);
}

/* Two or three results of two cells each, and what every format says of their comparison. */
TEST(test_what_is_said_of_other_comparisons)
{
    static const struct {
        const struct report_format *format;
        const char *part;
    } rows[CASES][4] = {
        [DRIVER] = {{&report_text, "driver differs: 570 -> 580\n"},
                    {&report_text, "2 cells are the same"}},
        [DEVICE] = {{&report_text,
                     "NEW cannot be compared with BASE, device differs, uuid differs: 2 "
                     "invalid of 2 cells"},
                    {&report_text,
                     "NVIDIA H200 -> NVIDIA Other; not comparable, unless --allow-diff device"},
                    {&report_junit, "<error type=\"not comparable\""}},
        [GPU] = {{&report_text,
                  "NEW is the same: 2 new, 2 same of 4 cells of 2 GPUs (threshold 1 %)"},
                 {&report_text, "GPU-1-x on n17: new"},
                 {&report_junit, "classname=\"GPU-0-x.add.constant\""},
                 {&report_json, "\"uuid\":\t\"GPU-1-x\""}},
        [GATE] =
            {{&report_text, "one of at most 5 interim analyses: intervals are of 99 %"},
             {&report_text, "would settle what can be; cbank gate --processes "},
             {&report_text,
              "NEW may be worse, as no cell could be decided (exit 4): 2 inconclusive of 2 cells"},
             {&report_junit, "<error type=\"not decided\""}},
        [PLAN] = {{&report_text,
                   "NEW cannot be compared with BASE, no cell in common: 2 missing, 2 new of "
                   "4 cells (threshold 1 %)\n"},
                  {&report_junit, "errors=\"1\""}},
    };

    for (size_t i = 0; i < CASES; i++) {
        const struct compare_options as = {
            .judge = {.threshold = 0.01, .other_analyses = i == GATE ? 4 : 0}};
        struct sides sides[SIDES] = {{.count = 0}, {.count = 0}};
        struct comparison comparison;

        for (unsigned k = 0; k < 2 + (i == GPU); k++)
            add_process(sides, i, k);
        comparison = compared(sides, &as);
        for (size_t row = 0; row < 4 && rows[i][row].part; row++) {
            char *text = report(rows[i][row].format, &comparison, false, &wide);

            if (!strstr(text, rows[i][row].part))
                fail_msg("%s\nlacks %s", text, rows[i][row].part);
            free(text);
        }
        compared_close(&comparison, sides);
    }
}

/* The first line says how it ended, for every verdict alone. */
TEST(test_first_line)
{
    static const char *const lines[VERDICTS] = {
        [VERDICT_SAME] = "NEW is the same: 1 same of 1 cell (threshold 1 %)",
        [VERDICT_IMPROVED] = "NEW is better: 1 improved of 1 cell (threshold 1 %)",
        [VERDICT_REGRESSED] = "NEW is worse: 1 regressed of 1 cell (threshold 1 %)",
        [VERDICT_INCONCLUSIVE] =
            ("NEW may be worse, as no cell could be decided (exit 4): 1 inconclusive of 1 cell "
             "(threshold 1 %)"),
        [VERDICT_CONTENDED] =
            ("NEW may be worse, as another process used the GPU (exit 4): 1 contended of 1 cell "
             "(threshold 1 %)"),
        [VERDICT_MISSING] = "NEW does not pass: 1 missing of 1 cell (threshold 1 %)",
        [VERDICT_NEW] = "NEW is the same: 1 new of 1 cell (threshold 1 %)",
        [VERDICT_INVALID] = "NEW does not pass: 1 invalid of 1 cell (threshold 1 %)",
    };

    for (size_t i = 0; i < VERDICTS; i++) {
        struct compared_gpu gpu = {.alone = false};
        struct comparison comparison = {.comparable = true,
                                        .cell_count = 1,
                                        .gpus = &gpu,
                                        .gpu_count = 1,
                                        .common = 1,
                                        .decided = i != VERDICT_INCONCLUSIVE,
                                        .options.judge = {.threshold = 0.01}};
        char line[LINE_BYTES];

        comparison.counts[i] = 1;
        summary_line(&comparison, line);
        assert_string_equal(line, lines[i]);
    }
}

TEST(test_color)
{
    struct sides sides[SIDES] = {{.count = 0}, {.count = 0}};
    struct comparison comparison;
    char *text;

    fill_sides(sides);
    comparison = compared(sides, options());
    text = printed(&comparison, true, &colored);
    assert_non_null(strstr(text, "\033[1mNEW is worse: "));
    assert_non_null(strstr(text, "\033[31mregressed\033[m"));
    assert_non_null(strstr(text, "\033[32mimproved\033[m"));
    free(text);
    for (size_t all = 0; all < 2; all++) {
        text = printed(&comparison, all, &wide);
        assert_null(strchr(text, '\033'));
        assert_int_equal(!strstr(text, "--all lists them"), all);
        free(text);
    }
    compared_close(&comparison, sides);
}

/* Bytes that belong to no character, or to none that XML takes, are escaped, and text in CSV is no
 * formula. */
TEST(text_is_safe_where_it_is_printed)
{
    static const struct {
        bool csv;
        const char *text, *put;
    } rows[] = {
        {false, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&apos;"},
        {false, "\xc2\xb1 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc2\xb1 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {false, "\x01\t\n\x7f", "\\x01\\x09\\x0a\\x7f"},
        {false, "\xc0\x80", "\\xc0\\x80"}, /* overlong */
        {false, "\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
        {false, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
        {false, "\xef\xbf\xbf\xff", "\\xef\\xbf\\xbf\\xff"}, /* U+FFFF, and no first byte */
        {false, "\xc2\x9b", "\\xc2\\x9b"}, /* a control of C1: CSI */
        {false, "\xe2\x82", "\\xe2\\x82"}, /* cut */
        {false, "\xe2\x80\xa7\xe2\x80\xae\xe2\x81\xa9",
         "\xe2\x80\xa7\\xe2\\x80\\xae\\xe2\\x81\\xa9"}, /* a point; what turns the order of text */
        {true, "=1+1", "'=1+1"},
        {true, "@a", "'@a"},
        {true, "+cmd", "'+cmd"},
        {true, "-a,b", "\"'-a,b\""},
        {true, "-", "'-"},
        {true, "-1.5e3", "-1.5e3"},
        {true, "+1", "+1"},
        {true, "1=1", "1=1"},
        {true, "\t=1", "'\\x09=1"},
        {true, "-inf", "'-inf"}, /* a name, for a spreadsheet */
        {true, "-nan(1)", "'-nan(1)"},
        {true, "+0x10", "'+0x10"},
        {true, "-1e", "'-1e"},
        {true, "-1.", "-1."},
        {true, "\uff1d1+1", "'\uff1d1+1"}, /* wide */
        {true, "\uff201", "'\uff201"},
        {true, "\uff1c1", "\uff1c1"}, /* a wide <, which is none */
    };
    char buffer[128];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        FILE *stream = fmemopen(buffer, sizeof(buffer), "w");

        if (rows[i].csv)
            text_csv(stream, rows[i].text);
        else
            text_put(stream, escapes_xml, rows[i].text);
        fclose(stream);
        assert_string_equal(buffer, rows[i].put);
    }
}

/* Markdown shows text as it is, in a line and in a cell of a table. */
TEST(text_is_no_markdown)
{
    static const char text[] = "a|b*c*`d`[e](f)~~g~~$h$<i>&j\\k_l";
    char buffer[128];
    FILE *stream = fmemopen(buffer, sizeof(buffer), "w");

    text_put(stream, escapes_markdown, text);
    fclose(stream);
    assert_string_equal(buffer, "a\\|b\\*c\\*\\`d\\`\\[e](f)\\~\\~g\\~\\~\\$h\\$"
                                "&lt;i&gt;&amp;j\\\\k_l");
}

/* All that was written, with a NUL in it and after it. */
TEST(test_memory)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);

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

TEST(changes_have_three_digits_and_their_sign)
{
    static const struct {
        double relative;
        const char *text;
    } rows[] = {{0.1004, "+10.0%"}, {-0.00211, "-0.21%"}, {0, "+0.00%"}, {0.0999499, "+9.99%"},
                {0.9996, "+100%"},  {9.9996, "+1000%"},   {NAN, "-"},    {INFINITY, "-"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(text_of(text_change, rows[i].relative).text, rows[i].text);
    assert_string_equal(text_of(text_time, NAN).text, "-");
}
