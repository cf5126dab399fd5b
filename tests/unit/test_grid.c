/* SPDX-License-Identifier: MIT
 * Tests of the layout of grids: texts written by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grid.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct row {
    const char *name;
    double ns[2];
    double share;
    const char *notes[2];
};

static void value_name(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = ((const struct row *)row)->name;
}

static const size_t first = 0, second = 1;

static void value_ns(const struct grid_column *column, const void *row, struct grid_value *out)
{
    out->number = ((const struct row *)row)->ns[*(const size_t *)column->of];
    out->style = out->number < 100 ? GRID_BOLD : GRID_PLAIN;
}

static void value_share(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->number = ((const struct row *)row)->share;
    if (out->number < 0)
        out->text = "failed a";
}

static bool note_of(const void *row, size_t index, char *out, size_t bytes)
{
    const char *note = index < 2 ? ((const struct row *)row)->notes[index] : NULL;

    if (note)
        snprintf(out, bytes, "%s", note);
    return note;
}

static const struct grid_column columns[] = {
    {.key = "cell", .heading = "cell", .value = value_name, .head = true},
    {.key = "base_ns", .heading = "time", .group = "constant", .format = text_time, .value = value_ns, .of = &first},
    {.key = "share", .heading = "change", .group = "constant", .format = text_change, .value = value_share, .rank = 1},
    {.key = "new_ns", .heading = "time", .group = "global", .format = text_time, .value = value_ns, .of = &second},
};

static const struct row rows[] = {
    {"per_warp", {25.31e3, 1406}, 0.1, {"a note", NULL}},
    {"x, \"y\"|", {98.5, NAN}, -1, {NULL, NULL}},
};

static const struct grid grid = {
    .columns = columns,
    .column_count = COUNT(columns),
    .rows = rows,
    .row_count = COUNT(rows),
    .row_bytes = sizeof(rows[0]),
    .note = note_of,
};

/* What a grid prints in a format; the caller's to free. */
static char *printed(const struct grid *what, int width, bool color)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_int_equal(grid_print(stream, what, &(struct grid_look){.width = width, .color = color}), STATUS_OK);
    fclose(stream);
    return text;
}

static void expect(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static void test_wide(void **state)
{
    (void)state;
    expect(printed(&grid, 60, false), "         | constant           | global\n"
                                      "cell     |     time    change |     time\n"
                                      "per_warp | 25.31 us    +10.0% | 1.406 us\n"
                                      "    a note\n"
                                      "x, \"y\"|  | 98.50 ns  failed a |        -\n");
}

static void test_narrower_set(void **state)
{
    (void)state;
    expect(printed(&grid, 35, false), "         | constant | global\n"
                                      "cell     |     time |     time\n"
                                      "per_warp | 25.31 us | 1.406 us\n"
                                      "    a note\n"
                                      "x, \"y\"|  | 98.50 ns |        -\n");
}

static void test_blocks(void **state)
{
    (void)state;
    expect(printed(&grid, 22, false), "         | constant\n"
                                      "cell     |     time\n"
                                      "per_warp | 25.31 us\n"
                                      "x, \"y\"|  | 98.50 ns\n"
                                      "\n"
                                      "         | global\n"
                                      "cell     |     time\n"
                                      "per_warp | 1.406 us\n"
                                      "    a note\n"
                                      "x, \"y\"|  |        -\n");
}

static void test_stacked(void **state)
{
    const struct row names[] = {{.name = "add/global/distinct/128000", .ns = {1, 2}}};
    const struct grid stacked = {.columns = columns,
                                 .column_count = COUNT(columns),
                                 .rows = names,
                                 .row_count = 1,
                                 .row_bytes = sizeof(names[0])};

    (void)state;
    expect(printed(&stacked, 30, false), "cell\n"
                                         "    constant | global\n"
                                         "        time |     time\n"
                                         "add/global/distinct/128000\n"
                                         "    1.000 ns | 2.000 ns\n");
}

/* What has no room beside the others goes below the row before anything is left out; nothing is said of "-". */
static void test_below(void **state)
{
    struct grid_column some[COUNT(columns)];
    struct grid below = grid;

    (void)state;
    memcpy(some, columns, sizeof(some));
    some[2].below = some[3].below = true;
    below.columns = some;
    expect(printed(&below, 60, false), "         | constant           | global\n"
                                       "cell     |     time    change |     time\n"
                                       "per_warp | 25.31 us    +10.0% | 1.406 us\n"
                                       "    a note\n"
                                       "x, \"y\"|  | 98.50 ns  failed a |        -\n");
    expect(printed(&below, 35, false), "         | constant\n"
                                       "cell     |     time\n"
                                       "per_warp | 25.31 us\n"
                                       "    change: +10.0%\n"
                                       "    time: 1.406 us\n"
                                       "    a note\n"
                                       "x, \"y\"|  | 98.50 ns\n"
                                       "    change: failed a\n");
    /* One column beside the name, for which there is no room. */
    some[1] = some[2];
    below.column_count = 2;
    expect(printed(&below, 18, false), "cell\n"
                                       "per_warp\n"
                                       "    change:\n"
                                       "      +10.0%\n"
                                       "    a note\n"
                                       "x, \"y\"|\n"
                                       "    change:\n"
                                       "      failed a\n");
}

/* As few blocks as can be, and in them as many columns. */
static void test_fewest_blocks(void **state)
{
    static const struct grid_column many[] = {
        {.key = "cell", .heading = "cell", .value = value_name, .head = true},
        {.key = "a", .heading = "time", .group = "a", .format = text_time, .value = value_ns, .of = &first},
        {.key = "b", .heading = "change", .group = "a", .format = text_change, .value = value_share, .rank = 2},
        {.key = "c", .heading = "more", .group = "a", .format = text_change, .value = value_share, .rank = 3},
        {.key = "d", .heading = "time", .group = "a long name", .format = text_time, .value = value_ns, .of = &second},
    };
    const struct row one[] = {{.name = "x", .ns = {100, 200}, .share = 0.1}};
    const struct grid what = {
        .columns = many, .column_count = COUNT(many), .rows = one, .row_count = 1, .row_bytes = sizeof(one[0])};
    FILE *stream = fopen("/dev/null", "w");
    unsigned rank = 0;

    (void)state;
    expect(printed(&what, 34, false), "     | a        | a long name\n"
                                      "cell |     time |        time\n"
                                      "x    | 100.0 ns |    200.0 ns\n");
    expect(printed(&what, 25, false), "     | a\n"
                                      "cell |     time  change\n"
                                      "x    | 100.0 ns  +10.0%\n"
                                      "\n"
                                      "     | a long name\n"
                                      "cell |        time\n"
                                      "x    |    200.0 ns\n");
    assert_int_equal(grid_print(stream, &what, &(struct grid_look){.width = 36, .rank = &rank}), STATUS_OK);
    assert_int_equal(rank, 0);
    assert_int_equal(grid_print(stream, &what, &(struct grid_look){.width = 60, .rank = &rank}), STATUS_OK);
    assert_int_equal(rank, 3);
    fclose(stream);
}

struct behind {
    double number;
    uint32_t small;
    uint64_t large;
    int word;
    bool yes;
    char array[8];
};

struct outer {
    const char *text;
    const struct behind *behind;
};

static const char *const words[] = {"none", "some"};

/* Every kind of member, of the row and behind a pointer, and what is not there. */
static const struct grid_column members[] = {
    {.key = "text", .heading = "text", .value = grid_text, .of = GRID_MEMBER(struct outer, text)},
    {.key = "number",
     .heading = "a number",
     .format = text_time,
     .value = grid_number,
     .of = GRID_BEHIND(struct outer, behind, struct behind, number)},
    {.key = "small",
     .heading = "small",
     .format = text_count,
     .value = grid_integer,
     .of = GRID_BEHIND(struct outer, behind, struct behind, small)},
    {.key = "large",
     .heading = "large",
     .format = text_count,
     .value = grid_integer,
     .of = GRID_BEHIND(struct outer, behind, struct behind, large)},
    {.key = "word",
     .heading = "word",
     .value = grid_name,
     .of = &(const struct grid_member){offsetof(struct behind, word), sizeof(int), offsetof(struct outer, behind),
                                       words}},
    {.key = "yes", .heading = "yes", .value = grid_bool, .of = GRID_BEHIND(struct outer, behind, struct behind, yes)},
    {.key = "array",
     .heading = "array",
     .value = grid_array,
     .of = GRID_BEHIND(struct outer, behind, struct behind, array)},
};

static const struct behind behind = {1500, 0, 12800000, 1, true, "chars"};
static const struct outer outers[] = {{"a text that goes on_and_on_and_on_and_on", &behind}, {NULL, NULL}};
static const struct grid outer_grid = {.title = "title",
                                       .columns = members,
                                       .column_count = COUNT(members),
                                       .rows = outers,
                                       .row_count = COUNT(outers),
                                       .row_bytes = sizeof(outers[0])};

/* A fact goes on below itself, a word that is too long is divided, and what is not there is left out. */
static void test_records(void **state)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    (void)state;
    grid_print_records(stream, &outer_grid, &(struct grid_look){.width = 30, .indent = 2});
    fclose(stream);
    expect(text, "title\n"
                 "  text      a text that goes\n"
                 "            on_and_on_and_on_a\n"
                 "            nd_on\n"
                 "  a number  1.500 us\n"
                 "  large     12800000\n"
                 "  word      some\n"
                 "  yes       true\n"
                 "  array     chars\n");
}

/* The line of keys stands once. */
static void test_continued(void **state)
{
    struct grid what = outer_grid;
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    (void)state;
    what.row_count = 1;
    grid_print_csv(stream, &what);
    what.continued = true;
    grid_print_csv(stream, &what);
    fclose(stream);
    expect(text, "text,number,small,large,word,yes,array\r\n"
                 "a text that goes on_and_on_and_on_and_on,1500,,12800000,some,true,chars\r\n"
                 "a text that goes on_and_on_and_on_and_on,1500,,12800000,some,true,chars\r\n");
}

static void test_no_line_is_wider(void **state)
{
    (void)state;
    for (int width = 20; width < 70; width++) {
        char *text = printed(&grid, width, false);

        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            assert_true((int)text_columns(line) <= width);
        free(text);
    }
}

static void test_color(void **state)
{
    char *text = printed(&grid, 60, true);

    (void)state;
    assert_non_null(strstr(text, "| \033[1m98.50 ns\033[m  failed a"));
    free(text);
}

static void test_formats(void **state)
{
    char *text = NULL, *json;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    cJSON *array = grid_to_json(&grid);

    (void)state;
    grid_print_csv(stream, &grid);
    grid_print_markdown(stream, &grid);
    fclose(stream);
    expect(text, "cell,base_ns,share,new_ns\r\n"
                 "per_warp,25310,0.10000000000000001,1406\r\n"
                 "\"x, \"\"y\"\"|\",98.5,-1,\r\n"
                 "| cell | constant time | constant change | global time | notes |\n"
                 "|---|--:|--:|--:|---|\n"
                 "| per\\_warp | 25.31 us | +10.0% | 1.406 us | a note |\n"
                 "| x, \"y\"\\| | **98.50 ns** | failed a | - |  |\n");
    json = cJSON_PrintUnformatted(array);
    expect(json, "[{\"cell\":\"per_warp\",\"base_ns\":25310,\"share\":0.1,\"new_ns\":1406},"
                 "{\"cell\":\"x, \\\"y\\\"|\",\"base_ns\":98.5,\"share\":-1,\"new_ns\":null}]");
    cJSON_Delete(array);
}

static void test_no_rows(void **state)
{
    const struct grid empty = {.title = "nothing", .columns = columns, .column_count = COUNT(columns)};

    (void)state;
    expect(printed(&empty, 60, false), "");
}

/* Blanks up to the column, lines no wider than the width, those after the first indented. */
static void test_paragraph(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    (void)state;
    assert_non_null(stream);
    text_paragraph((struct text_wrap){.stream = stream, .width = 20, .column = 2, .indent = 4}, "%s %d words, %s",
                   "there are", 7, "in three lines");
    text_paragraph((struct text_wrap){.stream = stream, .width = 20, .indent = 4}, "  short");
    fclose(stream);
    assert_string_equal(text, "  there are 7\n    words, in three\n    lines\n  short\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paragraph), cmocka_unit_test(test_wide),          cmocka_unit_test(test_narrower_set),
        cmocka_unit_test(test_blocks),    cmocka_unit_test(test_stacked),       cmocka_unit_test(test_no_line_is_wider),
        cmocka_unit_test(test_color),     cmocka_unit_test(test_formats),       cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_below),     cmocka_unit_test(test_fewest_blocks), cmocka_unit_test(test_records),
        cmocka_unit_test(test_continued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
