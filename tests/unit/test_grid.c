/* SPDX-License-Identifier: MIT
 * Tests of the layout of grids: texts written by hand. */
#include <math.h>
#include <stdlib.h>

#include "grid.h"
#include "table.h"
#include "test.h"
#include "text.h"

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
    out->number = ((const struct row *)row)->ns[*(const size_t *)column->context];
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

#define NAME {.key = "cell", .heading = "cell", .value = value_name, .head = true}
#define TIME(key_, side, ...) \
    {.key = key_,             \
     .heading = "time",       \
     .format = text_time,     \
     .value = value_ns,       \
     .context = side,         \
     __VA_ARGS__}
#define SHARE(key_, ...) \
    {.key = key_, .heading = "change", .format = text_change, .value = value_share, __VA_ARGS__}

static const struct row rows[] = {
    {"per_warp", {25.31e3, 1406}, 0.1, {"a note", NULL}},
    {"x, \"y\"|", {98.5, NAN}, -1, {NULL, NULL}},
};
static const struct row long_names[] = {{.name = "add/global/distinct/128000", .ns = {1, 2}}};
static const struct row single[] = {{.name = "x", .ns = {100, 200}, .share = 0.1}};

static const struct grid_column columns[] = {NAME, TIME("base_ns", &first, .group = "constant"),
                                             SHARE("share", .group = "constant", .rank = 1),
                                             TIME("new_ns", &second, .group = "global")};
static const struct grid_column some_below[] = {NAME, TIME("base_ns", &first, .group = "constant"),
                                                SHARE("share", .group = "constant", .below = true),
                                                TIME("new_ns", &second, .group = "global",
                                                     .below = true)};
/* One column next to the name, for which there is no room. */
static const struct grid_column one_below[] = {NAME,
                                               SHARE("share", .group = "constant", .below = true)};
static const struct grid_column ranked[] = {NAME,
                                            TIME("a", &first, .group = "a"),
                                            SHARE("b", .group = "a", .rank = 2),
                                            {.key = "c",
                                             .heading = "more",
                                             .group = "a",
                                             .format = text_change,
                                             .value = value_share,
                                             .rank = 3},
                                            TIME("d", &second, .group = "a long name")};
static const struct grid_column paired[] = {NAME, TIME("a", &first, .group = "a"),
                                            SHARE("b", .group = "a"),
                                            TIME("c", &second, .group = "b"),
                                            SHARE("d", .group = "b")};

#define GRID(columns_, rows_, ...)    \
    {.columns = columns_,             \
     .column_count = COUNT(columns_), \
     .rows = rows_,                   \
     .row_count = COUNT(rows_),       \
     .row_bytes = sizeof(struct row), \
     __VA_ARGS__}
static const struct grid grid = GRID(columns, rows, .note = note_of),
                         below = GRID(some_below, rows, .note = note_of),
                         narrow = GRID(one_below, rows, .note = note_of),
                         stacked = GRID(columns, long_names, .note = NULL),
                         many = GRID(ranked, single, .note = NULL),
                         pairs = GRID(paired, single, .note = NULL);
static const struct grid empty = {.title = "nothing",
                                  .columns = columns,
                                  .column_count = COUNT(columns)};

/* Texts of grids at a width, and the greatest rank that is shown then. */
static const struct {
    const struct grid *grid;
    int width;
    unsigned rank;
    const char *text;
} texts[] = {
    {&grid, 60, 1,
     "         | constant           | global\n"
     "cell     |     time    change |     time\n"
     "per_warp | 25.31 us    +10.0% | 1.406 us\n"
     "    a note\n"
     "x, \"y\"|  | 98.50 ns  failed a |        -\n"},
    {&grid, 35, 0,
     "         | constant | global\n"
     "cell     |     time |     time\n"
     "per_warp | 25.31 us | 1.406 us\n"
     "    a note\n"
     "x, \"y\"|  | 98.50 ns |        -\n"},
    {&grid, 22, 0,
     "         | constant\n"
     "cell     |     time\n"
     "per_warp | 25.31 us\n"
     "x, \"y\"|  | 98.50 ns\n"
     "\n"
     "         | global\n"
     "cell     |     time\n"
     "per_warp | 1.406 us\n"
     "    a note\n"
     "x, \"y\"|  |        -\n"},
    /* The name has a line of its own where it takes more than half of the width. */
    {&stacked, 30, 0,
     "cell\n"
     "    constant | global\n"
     "        time |     time\n"
     "add/global/distinct/128000\n"
     "    1.000 ns | 2.000 ns\n"},
    /* Columns without room go below the row before anything is left out; nothing is said of "-". */
    {&below, 35, 0,
     "         | constant\n"
     "cell     |     time\n"
     "per_warp | 25.31 us\n"
     "    change: +10.0%\n"
     "    time: 1.406 us\n"
     "    a note\n"
     "x, \"y\"|  | 98.50 ns\n"
     "    change: failed a\n"},
    {&narrow, 18, 0,
     "cell\n"
     "per_warp\n"
     "    change:\n"
     "      +10.0%\n"
     "    a note\n"
     "x, \"y\"|\n"
     "    change:\n"
     "      failed a\n"},
    /* Columns of a greater rank are left out first. */
    {&many, 34, 0,
     "     | a        | a long name\n"
     "cell |     time |        time\n"
     "x    | 100.0 ns |    200.0 ns\n"},
    /* A group stays whole, though its first column would fit. */
    {&pairs, 36, 0,
     "     | a\n"
     "cell |     time  change\n"
     "x    | 100.0 ns  +10.0%\n"
     "\n"
     "     | b\n"
     "cell |     time  change\n"
     "x    | 200.0 ns  +10.0%\n"},
    {&empty, 60, 0, ""},
};

/* A stream to memory, and what has to be in it. */
static char *written;

static FILE *begin(void)
{
    static size_t bytes;
    FILE *stream = open_memstream(&written, &bytes);

    assert_non_null(stream);
    return stream;
}

static void expect(FILE *stream, const char *expected)
{
    fclose(stream);
    assert_string_equal(written, expected);
    free(written);
}

TEST(columns_stand_on_one_line_or_several)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        FILE *stream = begin();
        struct print_ranks ranks = {.greatest = 0, .least = 99}; /* of an earlier grid: 0 and 99 */

        assert_int_equal(grid_print(stream, texts[i].grid,
                                    &(struct print_style){.width = texts[i].width,
                                                          .ranks = &ranks}),
                         STATUS_OK);
        expect(stream, texts[i].text);
        assert_int_equal(ranks.greatest, texts[i].rank);
        assert_int_equal(ranks.least, texts[i].grid->row_count ? texts[i].rank : 99);
    }
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
    {.key = "text",
     .heading = "text",
     .value = grid_text,
     .member = GRID_MEMBER(struct outer, text)},
    {.key = "number",
     .heading = "a number",
     .format = text_time,
     .value = grid_number,
     .member = GRID_BEHIND(struct outer, behind, struct behind, number)},
    {.key = "small",
     .heading = "small",
     .format = text_count,
     .value = grid_integer,
     .member = GRID_BEHIND(struct outer, behind, struct behind, small)},
    {.key = "large",
     .heading = "large",
     .format = text_count,
     .value = grid_integer,
     .member = GRID_BEHIND(struct outer, behind, struct behind, large)},
    {.key = "word",
     .heading = "word",
     .value = grid_name,
     .member = &(const struct grid_member){.offset = offsetof(struct behind, word),
                                           .bytes = sizeof(int),
                                           .pointer = offsetof(struct outer, behind),
                                           .names = words}},
    {.key = "yes",
     .heading = "yes",
     .value = grid_bool,
     .member = GRID_BEHIND(struct outer, behind, struct behind, yes)},
    {.key = "array",
     .heading = "array",
     .value = grid_array,
     .member = GRID_BEHIND(struct outer, behind, struct behind, array)},
};

static const struct behind behind = {1500, 0, 12800000, 1, true, "chars"};
static const struct outer outers[] = {{"a text that goes on_and_on_and_on_and_on", &behind},
                                      {NULL, NULL}};
static const struct grid outer_grid = {.title = "title",
                                       .columns = members,
                                       .column_count = COUNT(members),
                                       .rows = outers,
                                       .row_count = COUNT(outers),
                                       .row_bytes = sizeof(outers[0])};

/* A fact goes on below itself, a word that is too long is divided, and what is not there is left
 * out. */
TEST(records_have_a_line_a_fact)
{
    FILE *stream = begin();

    grid_print_records(stream, &outer_grid, &(struct print_style){.width = 30, .indent = 2});
    expect(stream, "title\n"
                   "  text      a text that goes\n"
                   "            on_and_on_and_on_a\n"
                   "            nd_on\n"
                   "  a number  1.500 us\n"
                   "  large     12800000\n"
                   "  word      some\n"
                   "  yes       true\n"
                   "  array     chars\n");
}

TEST(times_have_four_digits)
{
    static const struct {
        double ns;
        const char *text;
    } times[] = {
        {0.5, "0.500 ns"},    {9.9994, "9.999 ns"}, {9.9996, "10.00 ns"}, {99.996, "100.0 ns"},
        {999.94, "999.9 ns"}, {999.96, "1.000 us"}, {25310, "25.31 us"},  {999960, "1.000 ms"},
        {1.5e6, "1.500 ms"},  {2.5e9, "2.500 s"},   {123.4e9, "123.4 s"}, {-25310, "-25.31 us"},
    };

    for (size_t i = 0; i < COUNT(times); i++)
        assert_string_equal(text_of(text_time, times[i].ns).text, times[i].text);
}

TEST(csv_and_json_have_all_digits)
{
    struct grid what = grid;
    cJSON *array = grid_to_json(&grid);
    char *json = cJSON_PrintUnformatted(array);
    FILE *stream = begin();

    grid_csv.print(stream, &what);
    what.continued = true; /* the line of keys stands once */
    what.row_count = 1;
    grid_csv.print(stream, &what);
    expect(stream, "cell,base_ns,share,new_ns\r\n"
                   "per_warp,25310,0.10000000000000001,1406\r\n"
                   "\"x, \"\"y\"\"|\",98.5,-1,\r\n"
                   "per_warp,25310,0.10000000000000001,1406\r\n");
    assert_string_equal(json,
                        "[{\"cell\":\"per_warp\",\"base_ns\":25310,\"share\":0.1,\"new_ns\":1406},"
                        "{\"cell\":\"x, "
                        "\\\"y\\\"|\",\"base_ns\":98.5,\"share\":-1,\"new_ns\":null}]");
    cJSON_free(json);
    cJSON_Delete(array);
}

/* Blanks up to the column, lines no wider than the width, those after the first indented. */
TEST(paragraphs_are_wrapped)
{
    FILE *stream = begin();

    text_paragraph((struct text_wrap){.stream = stream, .width = 20, .column = 2, .indent = 4},
                   "%s %d words, %s", "there are", 7, "in three lines");
    text_paragraph((struct text_wrap){.stream = stream, .width = 20, .indent = 4}, "  short");
    expect(stream, "  there are 7\n    words, in three\n    lines\n  short\n");
}
