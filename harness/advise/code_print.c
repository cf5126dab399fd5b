/* SPDX-License-Identifier: MIT
 * The kernels of a file as text: how many tables have which verdict, these tables by verdict and
 * reason, and what they are in. Loads are in code_loads.c. */
#include "code_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "advise.h"
#include "code_arrays.h"
#include "code_groups.h"
#include "code_loads.h"
#include "log.h"
#include "table_verdict.h"
#include "text.h"

enum { NAME_BYTES = 512, LINE_BYTES = 1024 };
/* A library's answer shows so many tables of a verdict, and so many names in a line. */
enum { TABLES_SHOWN = 5, NAMES_SHOWN = 4 };

/* A text that is written. */
struct answer {
    FILE *stream;
    const struct print_style *look;
    const struct user_code *code;
    const struct card *card; /* what cycles are of */
    struct kernel_groups groups;
    struct table_rows tables;
    struct compared_rows arrays;
    struct conditions conditions;
    bool all; /* nothing is left out */
};

static enum status answer_open(struct answer *answer)
{
    enum status status = kernel_groups_open(answer->code, &answer->groups);

    conditions_find(answer->code, &answer->conditions);
    if (status == STATUS_OK)
        status = table_rows_open(answer->code, &answer->groups, &answer->tables);
    if (status == STATUS_OK)
        status = compared_rows_open(answer->code, &answer->groups, &answer->arrays);
    return status;
}

static void answer_close(struct answer *answer)
{
    compared_rows_close(&answer->arrays);
    table_rows_close(&answer->tables);
    kernel_groups_close(&answer->groups);
}

/* -- names ------------------------------------------------------------------------------------- */

/* "24 kernels" */
static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* A table by its name; one without a name that the whole file knows, with its kernel. */
static void name_table(const struct answer *answer, const struct table_row *row,
                       char out[NAME_BYTES])
{
    const struct user_access *load = &row->table->load;

    load_table_name(load, out, NAME_BYTES);
    if (!row->declared && answer->groups.count > 1)
        text_join(out, NAME_BYTES, "", " of %s", answer->groups.groups[row->group].name);
}

/* Where a table is read: "in 24 kernels"; "" if the file has one kernel. */
static void name_kernels(const struct answer *answer, const struct table_row *row,
                         char out[NAME_BYTES])
{
    const char *group = answer->groups.groups[row->group].name;

    out[0] = '\0';
    if (answer->code->count == 1)
        return;
    if (row->kernels > 1 && row->groups == 1 && row->declared && answer->groups.count > 1)
        text_join(out, NAME_BYTES, "", "in %zu kernels of %s", row->kernels, group);
    else if (row->kernels > 1)
        text_join(out, NAME_BYTES, "", "in %zu kernels", row->kernels);
    else if (row->declared || answer->groups.count == 1)
        text_join(out, NAME_BYTES, "", "in %s", group);
}

/* -- the summary ------------------------------------------------------------------------------- */

/* "2 would be faster elsewhere: NF4_LUT in 24 kernels, c in filter" */
static void summarize_verdict(const struct answer *answer, const struct verdict_words *verdict,
                              char out[LINE_BYTES])
{
    size_t count = 0, named = 0;
    char names[LINE_BYTES] = "", name[NAME_BYTES], kernels[NAME_BYTES];

    for (size_t i = 0; i < answer->tables.count; i++) {
        const struct table_row *row = &answer->tables.rows[i];

        if (!row->worst || row->verdict != verdict)
            continue;
        count++;
        if (!verdict->open || named == NAMES_SHOWN)
            continue;
        name_table(answer, row, name);
        name_kernels(answer, row, kernels);
        text_join(names, sizeof(names), ", ", "%s%s%s", name, kernels[0] ? " " : "", kernels);
        named++;
    }
    if (count == 0)
        return;
    if (named > 0 && count > named)
        text_join(names, sizeof(names), ", ", "and %zu more", count - named);
    text_join(out, LINE_BYTES, "; ", "%zu %s%s%s", count, count == 1 ? verdict->few : verdict->many,
              names[0] ? ": " : "", names);
}

/* Whether tables stand under a verdict. Each counts once, at the verdict with most to do. */
static bool has_rows(const struct answer *answer, const struct verdict_words *verdict)
{
    for (size_t i = 0; i < answer->tables.count; i++)
        if (answer->tables.rows[i].verdict == verdict)
            return true;
    return false;
}

/* Whose cycles the answer has. Another architecture's may be others. */
static void print_card(const struct answer *answer)
{
    const struct card *card = answer->card;
    const uint32_t architecture = card_architecture(card);

    if (architecture == answer->code->architecture)
        advise_put(answer->stream, answer->look, "cycles: by the card of %s; nothing was measured",
                   card->name);
    else
        advise_put(answer->stream, answer->look,
                   "cycles: by the card of %s, sm_%" PRIu32
                   "; nothing was measured. Those of sm_%" PRIu32
                   " may be others: --card names a card of it (cbank list cards), if there is one",
                   card->name, architecture, answer->code->architecture);
}

static void print_summary(const struct answer *answer)
{
    const struct user_code *code = answer->code;
    size_t tables = 0;
    uint64_t least = UINT64_MAX, most = 0; /* bytes of the constant bank */
    char line[LINE_BYTES];

    fputs("code: ", answer->stream);
    text_put(answer->stream, escapes_none, code->path);
    fprintf(answer->stream, ", sm_%" PRIu32 "\n", code->architecture);
    if (code->others[0])
        advise_put(answer->stream, answer->look, "the file also has %s, which --arch chooses",
                   code->others);
    for (size_t i = 0; i < answer->tables.count; i++)
        tables += answer->tables.rows[i].worst;
    for (size_t i = 0; i < code->count; i++) {
        const uint64_t bytes = code->kernels[i].usage.constant_bytes.value;

        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    snprintf(line, sizeof(line), "%zu kernel%s", code->count, plural(code->count));
    if (answer->groups.count < code->count)
        text_join(line, sizeof(line), "", " of %zu name%s", answer->groups.count,
                  plural(answer->groups.count));
    if (code->left_out > 0)
        text_join(line, sizeof(line), "", " (--kernel-name leaves out %zu)", code->left_out);
    advise_put(answer->stream, answer->look, "%s, %zu table%s", line, tables, plural(tables));
    for (size_t v = 0; v < VERDICT_WORDS; v++) {
        line[0] = '\0';
        summarize_verdict(answer, &verdict_words[v], line);
        if (!line[0] && has_rows(answer, &verdict_words[v]))
            snprintf(line, sizeof(line), "of these, some %s in other kernels",
                     verdict_words[v].many);
        if (line[0])
            advise_put(answer->stream, answer->look, "    %s", line);
    }
    if (answer->arrays.count > 0)
        advise_put(answer->stream, answer->look, "    %zu small array%s became compares",
                   answer->arrays.count, plural(answer->arrays.count));
    if (code->count > 0 && code->kernels[0].doubt)
        advise_put(answer->stream, answer->look, "nothing is proven: %s", code->kernels[0].doubt);
    advise_put(answer->stream, answer->look,
               "constant bank: %s%" PRIu64 " bytes of %d in use by __constant__ variables",
               least < most ? "up to " : "", most, CBANK_TABLE_BYTES);
    if (tables > 0)
        print_card(answer);
}

/* -- tables ------------------------------------------------------------------------------------ */

/* "1 address a load", "12.5 to 14 addresses a load" */
static void say_addresses(const struct table_row *row, char out[LINE_BYTES])
{
    if (isnan(row->addresses_low))
        return;
    if (row->addresses_high - row->addresses_low < 0.05)
        text_join(out, LINE_BYTES, "; ", "%.3g address%s a load", row->addresses_low,
                  row->addresses_low == 1 ? "" : "es");
    else
        text_join(out, LINE_BYTES, "; ", "%.3g to %.3g addresses a load", row->addresses_low,
                  row->addresses_high);
}

/* "shared is 8.1x as fast (5.6x to 11.2x)" */
static void say_better(const struct user_table *table, char out[LINE_BYTES])
{
    if (!table->better)
        return;
    text_join(out, LINE_BYTES, "; ", "better: %s", table->better);
    if (isnan(table->gain))
        return;
    text_join(out, LINE_BYTES, ", ", "unit time %s", text_of(text_ratio, table->gain).text);
    text_join(out, LINE_BYTES, "", isnan(table->high) ? " (%s or more)" : " (%s to %s)",
              text_of(text_ratio, table->low).text, text_of(text_ratio, table->high).text);
}

static void print_table(const struct answer *answer, const struct table_row *row)
{
    const struct user_table *table = row->table;
    char name[NAME_BYTES], kernels[NAME_BYTES], line[LINE_BYTES] = "", bytes[64] = "";
    char memory[128] = "", marks[64] = "";

    name_table(answer, row, name);
    name_kernels(answer, row, kernels);
    for (size_t i = 0; i < row->conditions.count; i++)
        text_join(marks, sizeof(marks), i > 0 ? "," : "", "%s",
                  condition_mark(&answer->conditions, row->conditions.texts[i]));
    if (table->load.table_bytes.known)
        snprintf(bytes, sizeof(bytes), ", %" PRIu64 " bytes", table->load.table_bytes.value);
    say_addresses(row, line);
    say_better(table, line);
    if (kernels[0])
        text_join(line, sizeof(line), "; ", "%s", kernels);
    if (row->kernels > 1 && row->groups > 1)
        text_join(line, sizeof(line), "", ", such as %s", answer->groups.groups[row->group].name);
    if (row->reasons_differ)
        text_join(line, sizeof(line), "; ", "the reason is of one of them");
    if (load_is_named(&table->load))
        snprintf(memory, sizeof(memory), " (%s%s)", table->load.memory, bytes);
    advise_put(answer->stream, answer->look, "  %s%s%s%s%s", name, memory, line[0] ? ": " : "",
               line, marks);
}

/* Whether a table is worth reading in a library. */
static bool is_told(const struct answer *answer, const struct table_row *row)
{
    return answer->all || row->verdict->open || row->declared ||
           strcmp(row->table->load.memory, "constant") == 0 ||
           strcmp(row->table->load.memory, "param") == 0;
}

/* Prints the tables, those of one verdict and one reason below that. Returns how many were left
 * out. */
static size_t print_tables(const struct answer *answer)
{
    const struct table_row *before = NULL;
    size_t shown = 0, left_out = 0;

    for (size_t i = 0; i < answer->tables.count; i++) {
        const struct table_row *row = &answer->tables.rows[i];

        if (before && before->verdict != row->verdict)
            shown = 0;
        if (!is_told(answer, row) || (!answer->all && shown == TABLES_SHOWN)) {
            left_out++;
            continue;
        }
        if (!before || before->verdict != row->verdict ||
            strcmp(before->table->why, row->table->why) != 0) {
            fputc('\n', answer->stream);
            advise_put(answer->stream, answer->look, "%s: %s", row->verdict->verdict,
                       row->table->why);
        }
        print_table(answer, row);
        before = row;
        shown++;
    }
    return left_out;
}

/* -- all --------------------------------------------------------------------------------------- */

/* Names the templates of the most kernels, and how to see more. */
static void print_rest(const struct answer *answer, size_t left_out)
{
    char names[LINE_BYTES] = "";

    for (size_t g = 0; g < answer->groups.count && g < NAMES_SHOWN; g++)
        text_join(names, sizeof(names), ", ", "%s", answer->groups.groups[g].name);
    if (answer->groups.count > NAMES_SHOWN)
        text_join(names, sizeof(names), ", ", "and %zu more", answer->groups.count - NAMES_SHOWN);
    fputc('\n', answer->stream);
    if (left_out > 0)
        advise_put(answer->stream, answer->look,
                   "not printed: %zu table%s (arguments and unnamed memory with nothing to change, "
                   "and those beyond the first %d of a verdict)",
                   left_out, plural(left_out), TABLES_SHOWN);
    advise_put(answer->stream, answer->look, "kernels: %s", names);
    advise_put(answer->stream, answer->look,
               "--kernel-name GLOB chooses kernels; --all-loads prints all tables and loads; "
               "--json "
               "FILE has everything");
}

enum status user_code_print(FILE *stream, const struct user_code *code, const struct card *card,
                            bool all, const struct print_style *look)
{
    struct answer answer = {.stream = stream, .look = look, .code = code, .card = card};
    enum status status = answer_open(&answer);
    size_t left_out;

    if (status != STATUS_OK)
        goto out;
    answer.all = all || answer.groups.count <= 1;
    print_summary(&answer);
    left_out = print_tables(&answer);
    compared_rows_print(stream, &answer.arrays, &answer.groups,
                        answer.all ? SIZE_MAX : TABLES_SHOWN, look);
    if (answer.conditions.count > 0)
        fputc('\n', stream);
    for (size_t i = 0; i < answer.conditions.count; i++)
        advise_put(stream, look, "%s %s",
                   condition_mark(&answer.conditions, answer.conditions.texts[i]) + 1,
                   answer.conditions.texts[i]);
    if (answer.all)
        status = code_loads_print(stream, code, &answer.groups, &answer.conditions, look);
    else
        print_rest(&answer, left_out);
out:
    answer_close(&answer);
    return status;
}

enum status user_code_fail(const struct user_code *code, const struct card *card, double share)
{
    struct answer answer = {.code = code, .card = card};
    enum status status = answer_open(&answer);

    for (size_t i = 0; status <= STATUS_FINDING && i < answer.tables.count; i++) {
        const struct table_row *row = &answer.tables.rows[i];
        const struct user_table *table = row->table;
        char name[NAME_BYTES], kernels[NAME_BYTES];

        if (!verdict_is_gain(table) || !(table->low > 1 + share))
            continue;
        name_table(&answer, row, name);
        name_kernels(&answer, row, kernels);
        status = log_message("--fail: ", STATUS_FINDING,
                             "%s%s%s: by the card of %s, %s keeps its unit busy %s or more as long "
                             "as %s; the limit is %s",
                             name, kernels[0] ? " " : "", kernels, card->name, table->load.memory,
                             text_of(text_ratio, table->low).text, table->better,
                             text_of(text_ratio, 1 + share).text);
    }
    answer_close(&answer);
    return status;
}
