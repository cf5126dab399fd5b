/* SPDX-License-Identifier: MIT */
#include "compare_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "identity_csv.h"
#include "identity_json.h"
#include "json.h"
#include "log.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    FIELD_BYTES = CELL_IDENTITY_BYTES, /* of one cell of a table */
    LINE_BYTES = 512,
    SASS_CELLS_MAX = 10,               /* that are named where SASS differs */
    MARKDOWN_END_BYTES = 1024,         /* kept for what follows the rows */
};

static const char schema_name[] = "cbank-comparison";
static const char schema_version[] = "1.1";

static const char bold[] = "\033[1m", red[] = "\033[31m", green[] = "\033[32m", yellow[] = "\033[33m",
                  plain[] = "\033[0m";

enum outcome { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_SKIPPED };

/* How a verdict looks: in the order in which a summary counts them. */
static const struct aspect {
    enum verdict verdict;
    enum outcome outcome; /* in JUnit */
    const char *style;    /* ANSI attribute */
    const char *strong;   /* around the word in Markdown */
} aspects[] = {
    {VERDICT_REGRESSED, OUTCOME_FAILED, red, "**"}, {VERDICT_MISSING, OUTCOME_FAILED, red, "**"},
    {VERDICT_INVALID, OUTCOME_FAILED, red, "**"},   {VERDICT_INCONCLUSIVE, OUTCOME_SKIPPED, yellow, ""},
    {VERDICT_NEW, OUTCOME_SKIPPED, yellow, ""},     {VERDICT_IMPROVED, OUTCOME_PASSED, green, ""},
    {VERDICT_SAME, OUTCOME_PASSED, "", ""},
};

static const struct aspect *aspect_of(enum verdict verdict)
{
    size_t i = 0;

    while (aspects[i].verdict != verdict)
        i++;
    return &aspects[i];
}

/* -- sentences ---------------------------------------------------------------------------------------- */

static void append(char line[LINE_BYTES], const char *text)
{
    const size_t used = strlen(line);

    snprintf(line + used, LINE_BYTES - used, "%s", text);
}

static size_t cells_in_common(const struct comparison *comparison)
{
    return comparison->cell_count - comparison->counts[VERDICT_MISSING] - comparison->counts[VERDICT_NEW];
}

/* What the comparison comes to, in a few words. */
static const char *outcome_text(const struct comparison *comparison)
{
    const enum status status = comparison_status(comparison);

    if (!comparison->comparable)
        return "NEW cannot be compared with BASE";
    if (comparison->counts[VERDICT_REGRESSED] > 0)
        return "NEW is worse";
    if (status == STATUS_FINDING)
        return "NEW does not pass";
    if (status == STATUS_INCONCLUSIVE)
        return "NEW may be worse";
    return comparison->counts[VERDICT_IMPROVED] > 0 ? "NEW is better" : "NEW is the same";
}

/* Why the sides are not comparable; nothing when they are. */
static void append_refusals(const struct comparison *comparison, char line[LINE_BYTES])
{
    for (size_t i = 0; i < comparison->difference_count; i++) {
        if (comparison->differences[i].allowed)
            continue;
        append(line, ", ");
        append(line, comparison->differences[i].facet->name);
        append(line, " differs");
    }
    if (!comparison->comparable && cells_in_common(comparison) == 0)
        append(line, ", no cell in common");
}

/* The line above everything else. */
static void summary_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const char *separator = ": ";
    char part[96];

    line[0] = '\0';
    append(line, outcome_text(comparison));
    append_refusals(comparison, line);
    for (size_t i = 0; i < COUNT(aspects); i++) {
        const enum verdict verdict = aspects[i].verdict;

        if (comparison->counts[verdict] == 0)
            continue;
        snprintf(part, sizeof(part), "%s%zu %s", separator, comparison->counts[verdict], verdict_rows[verdict].name);
        append(line, part);
        separator = ", ";
    }
    snprintf(part, sizeof(part), "%s of %zu cell%s (threshold %.4g %%)", comparison->cell_count ? "" : ": none",
             comparison->cell_count, comparison->cell_count == 1 ? "" : "s", 100 * comparison->options.threshold);
    append(line, part);
}

/* What a side is of. */
static void side_line(const struct side *side, char line[LINE_BYTES])
{
    const struct side_identity *identity = &side->identity;
    char part[LINE_BYTES];

    snprintf(line, LINE_BYTES, "%zu result%s of %s", side->files, side->files == 1 ? "" : "s",
             identity->device[0] ? identity->device : "an unknown device");
    snprintf(part, sizeof(part), ", engine %s", identity->engine);
    append(line, part);
    snprintf(part, sizeof(part), ", driver %s", identity->driver);
    append(line, identity->driver[0] ? part : "");
    snprintf(part, sizeof(part), ", %s", identity->started_utc);
    append(line, identity->started_utc[0] ? part : "");
    snprintf(part, sizeof(part), ", %zu of an interrupted run", side->incomplete);
    append(line, side->incomplete ? part : "");
}

/* A facet's text on one side, as it is read. */
static const char *shown(const char *text)
{
    return text[0] ? text : "unknown";
}

static void difference_line(const struct facet_difference *difference, char line[LINE_BYTES])
{
    const char *base = shown(difference->base), *new_text = shown(difference->new_text);

    /* A facet of cells has the same on both sides: how many of them. */
    if (strcmp(base, new_text) == 0)
        snprintf(line, LINE_BYTES, "%s differs: %s", difference->facet->name, base);
    else
        snprintf(line, LINE_BYTES, "%s differs: %s -> %s", difference->facet->name, base, new_text);
    if (!difference->allowed) {
        append(line, "; not comparable, unless --allow-diff ");
        append(line, difference->facet->name);
    }
}

static size_t sass_differing(const struct comparison *comparison)
{
    size_t count = 0;

    for (size_t i = 0; i < comparison->cell_count; i++)
        count += comparison->cells[i].sass_differs;
    return count;
}

static bool sass_known(const struct side *side)
{
    for (size_t i = 0; i < side->cell_count; i++)
        if (!side->cells[i].sha256[0])
            return false;
    return side->cell_count > 0;
}

/* Names of the first cells whose SASS differs. */
static void append_sass_cells(const struct comparison *comparison, char line[LINE_BYTES])
{
    char identity[CELL_IDENTITY_BYTES];
    size_t named = 0;

    for (size_t i = 0; i < comparison->cell_count && named < SASS_CELLS_MAX; i++) {
        if (!comparison->cells[i].sass_differs)
            continue;
        cell_identity(&comparison->cells[i].cell, identity);
        /* The line's end stays for how many there are more. */
        if (strlen(line) + strlen(identity) + 32 > LINE_BYTES)
            break;
        append(line, named ? ", " : ": ");
        append(line, identity);
        named++;
    }
    if (sass_differing(comparison) > named) {
        snprintf(identity, sizeof(identity), " and %zu more", sass_differing(comparison) - named);
        append(line, identity);
    }
}

/* Whether the kernels' code changed, and what follows from it. "" where the sides have no cell in common. */
static void code_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    const struct side_identity *base = &comparison->base->identity, *new_id = &comparison->new_side->identity;
    const size_t differing = sass_differing(comparison), common = cells_in_common(comparison);

    line[0] = '\0';
    if (common == 0)
        return;
    if (differing > 0) {
        snprintf(line, LINE_BYTES, "SASS differs in %zu of %zu cells, the code changed there", differing, common);
        append_sass_cells(comparison, line);
    } else if (!sass_known(comparison->base) || !sass_known(comparison->new_side)) {
        append(line, "SASS is not known of every cell: the code may have changed");
    } else if (strcmp(base->driver, new_id->driver) != 0 && comparison->difference_count == 1) {
        append(line, "SASS is equal and the driver alone differs: a change is the driver's doing");
    } else {
        append(line, "SASS is equal: the code did not change");
    }
}

/* To how many cells the calibration applies; "" without one. */
static void calibration_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    size_t known = 0;

    line[0] = '\0';
    for (size_t i = 0; i < comparison->cell_count; i++)
        known += comparison->cells[i].noise_known;
    if (comparison->options.calibration)
        snprintf(line, LINE_BYTES, "the noise of %zu of %zu cells is calibrated, over %zu launches", known,
                 cells_in_common(comparison), comparison->options.calibration->launches);
}

/* Line `index` of what there is to say of all cells together; false when there is none. */
static bool context_line(const struct comparison *comparison, size_t index, char line[LINE_BYTES])
{
    static void (*const lines[])(const struct comparison *, char *) = {code_line, calibration_line};

    if (index < comparison->difference_count) {
        difference_line(&comparison->differences[index], line);
        return true;
    }
    index -= comparison->difference_count;
    for (size_t i = 0; i < COUNT(lines); i++) {
        lines[i](comparison, line);
        if (line[0] && index-- == 0)
            return true;
    }
    return false;
}

/* -- a cell's line ------------------------------------------------------------------------------------- */

static void format_identity(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    cell_identity(&cell->cell, out);
}

static void format_base(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    text_time(cell->base_ns, out);
}

static void format_new(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    text_time(cell->new_ns, out);
}

static void format_change(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    text_change(cell->ratio.value - 1, out);
}

static void format_interval(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    char low[TEXT_NUMBER_BYTES], high[TEXT_NUMBER_BYTES];

    text_change(cell->ratio.ci_low - 1, low);
    text_change(cell->ratio.ci_high - 1, high);
    if (isfinite(cell->ratio.ci_low) && isfinite(cell->ratio.ci_high))
        snprintf(out, FIELD_BYTES, "%s to %s", low, high);
    else
        snprintf(out, FIELD_BYTES, "-");
}

static void format_verdict(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    snprintf(out, FIELD_BYTES, "%s", verdict_rows[cell->verdict].name);
}

static void format_p(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    if (isfinite(cell->adjusted_p))
        snprintf(out, FIELD_BYTES, "%.2g", cell->adjusted_p);
    else
        snprintf(out, FIELD_BYTES, "-");
}

static void format_noise(const struct comparison_cell *cell, char out[FIELD_BYTES])
{
    if (cell->noise_known)
        snprintf(out, FIELD_BYTES, "%.2f%%", 100 * cell->noise);
    else
        snprintf(out, FIELD_BYTES, "-");
}

/* Columns of the table, on the terminal and in Markdown. */
static const struct column {
    const char *heading;
    bool left;   /* aligned left */
    bool styled; /* as the verdict is */
    void (*format)(const struct comparison_cell *cell, char out[FIELD_BYTES]);
} columns[] = {
    {"cell", true, false, format_identity},
    {"base", false, false, format_base},
    {"new", false, false, format_new},
    {"change", false, false, format_change},
    {"95% CI", false, false, format_interval},
    {"verdict", true, true, format_verdict},
    {"p", false, false, format_p},
    {"noise", false, false, format_noise},
};

static void change_line(const struct counter_change *change, char line[LINE_BYTES])
{
    const double relative = change->new_value / change->base - 1;
    char percent[TEXT_NUMBER_BYTES];

    text_change(relative, percent);
    if (!isfinite(change->base) || !isfinite(change->new_value))
        snprintf(line, LINE_BYTES, "%s was read on one side alone", change->name);
    else if (change->kind == COUNTER_EXACT || !isfinite(relative))
        snprintf(line, LINE_BYTES, "%s %.17g -> %.17g", change->name, change->base, change->new_value);
    else
        snprintf(line, LINE_BYTES, "%s %s (%.6g -> %.6g)", change->name, percent, change->base, change->new_value);
}

/* Line `index` of what there is to say beneath a cell; false when there is none. */
static bool detail_line(const struct comparison_cell *cell, size_t index, char line[LINE_BYTES])
{
    const char *texts[3];
    size_t count = 0;

    if (index < cell->change_count) {
        change_line(&cell->changes[index], line);
        return true;
    }
    if (cell->sass_differs)
        texts[count++] = "SASS differs: the code changed";
    /* What was found all the same needs no more samples. */
    if (cell->underpowered && cell->verdict == VERDICT_INCONCLUSIVE)
        texts[count++] = "too few samples to tell: take more launches or more samples";
    if (cell->note[0])
        texts[count++] = cell->note;
    if (index - cell->change_count >= count)
        return false;
    snprintf(line, LINE_BYTES, "%s", texts[index - cell->change_count]);
    return true;
}

/* -- terminal ----------------------------------------------------------------------------------------- */

static void put_line(FILE *stream, const char *before, const char *line)
{
    fputs(before, stream);
    text_put(stream, escapes_none, line);
    putc('\n', stream);
}

/* What the sides are, and what differs between them. */
static void print_sides(FILE *stream, const struct comparison *comparison)
{
    const struct {
        const char *name;
        const struct side *side;
    } sides[] = {{"BASE ", comparison->base}, {"NEW  ", comparison->new_side}};
    char line[LINE_BYTES];

    for (size_t i = 0; i < COUNT(sides); i++) {
        fputs(sides[i].name, stream);
        text_put(stream, escapes_none, sides[i].side->label);
        side_line(sides[i].side, line);
        put_line(stream, ": ", line);
    }
    for (size_t i = 0; context_line(comparison, i, line); i++)
        put_line(stream, "", line);
}

static void print_field(FILE *stream, const struct column *column, const char *text, int width, const char *style)
{
    const bool last = column == &columns[COUNT(columns) - 1];
    const int blanks = width - (int)strlen(text);

    if (!column->left)
        fprintf(stream, "%*s", blanks, "");
    fprintf(stream, "%s%s%s", style, text, *style ? plain : "");
    if (column->left && !last)
        fprintf(stream, "%*s", blanks, "");
    fputs(last ? "\n" : "  ", stream);
}

static void print_headings(FILE *stream, const int *widths)
{
    for (size_t c = 0; c < COUNT(columns); c++)
        print_field(stream, &columns[c], columns[c].heading, widths[c], "");
}

static void print_cell(FILE *stream, const struct comparison_cell *cell, const int *widths, bool color)
{
    char field[FIELD_BYTES], line[LINE_BYTES];

    for (size_t c = 0; c < COUNT(columns); c++) {
        columns[c].format(cell, field);
        print_field(stream, &columns[c], field, widths[c],
                    color && columns[c].styled ? aspect_of(cell->verdict)->style : "");
    }
    for (size_t i = 0; detail_line(cell, i, line); i++)
        put_line(stream, "    ", line);
}

/* Widths of the columns. Returns how many cells there are to print. */
static size_t measure(const struct comparison *comparison, bool all, int *widths)
{
    char field[FIELD_BYTES];
    size_t count = 0;

    for (size_t c = 0; c < COUNT(columns); c++)
        widths[c] = (int)strlen(columns[c].heading);
    for (size_t i = 0; i < comparison->cell_count; i++) {
        if (!all && comparison->cells[i].verdict == VERDICT_SAME)
            continue;
        count++;
        for (size_t c = 0; c < COUNT(columns); c++) {
            columns[c].format(&comparison->cells[i], field);
            widths[c] = (int)strlen(field) > widths[c] ? (int)strlen(field) : widths[c];
        }
    }
    return count;
}

/* All cells that are the same, in one line. */
static void same_line(const struct comparison *comparison, char line[LINE_BYTES])
{
    char from[TEXT_NUMBER_BYTES], to[TEXT_NUMBER_BYTES];
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < comparison->cell_count; i++) {
        if (comparison->cells[i].verdict != VERDICT_SAME)
            continue;
        low = fmin(low, comparison->cells[i].ratio.value);
        high = fmax(high, comparison->cells[i].ratio.value);
    }
    text_change(low - 1, from);
    text_change(high - 1, to);
    snprintf(line, LINE_BYTES, "%zu cell%s the same", comparison->counts[VERDICT_SAME],
             comparison->counts[VERDICT_SAME] == 1 ? " is" : "s are");
    if (low <= high) {
        append(line, ": ");
        append(line, from);
        append(line, low < high ? " to " : "");
        append(line, low < high ? to : "");
    }
}

void compare_print(FILE *stream, const struct comparison *comparison, bool all, bool color)
{
    int widths[COUNT(columns)];
    char line[LINE_BYTES];
    size_t count;

    summary_line(comparison, line);
    fputs(color ? bold : "", stream);
    text_put(stream, escapes_none, line);
    fprintf(stream, "%s\n\n", color ? plain : "");
    print_sides(stream, comparison);
    count = measure(comparison, all, widths);
    if (count > 0) {
        putc('\n', stream);
        print_headings(stream, widths);
    }
    for (size_t i = 0; i < comparison->cell_count; i++)
        if (all || comparison->cells[i].verdict != VERDICT_SAME)
            print_cell(stream, &comparison->cells[i], widths, color);
    if (!all && comparison->counts[VERDICT_SAME] > 0) {
        same_line(comparison, line);
        append(line, "; --all lists them");
        putc('\n', stream);
        put_line(stream, "", line);
    }
}

/* -- Markdown ----------------------------------------------------------------------------------------- */

/* A file that may not grow over a size. */
struct bounded {
    FILE *stream;
    size_t left; /* bytes for more rows */
};

static void markdown_line(FILE *stream, const char *before, const char *line)
{
    fputs(before, stream);
    text_put(stream, escapes_markdown, line);
    putc('\n', stream);
}

static void markdown_head(FILE *stream, const struct comparison *comparison)
{
    char line[LINE_BYTES];

    summary_line(comparison, line);
    markdown_line(stream, "### ", line);
    fputs("\n- **BASE** ", stream);
    text_put(stream, escapes_markdown, comparison->base->label);
    side_line(comparison->base, line);
    markdown_line(stream, ": ", line);
    fputs("- **NEW** ", stream);
    text_put(stream, escapes_markdown, comparison->new_side->label);
    side_line(comparison->new_side, line);
    markdown_line(stream, ": ", line);
    for (size_t i = 0; context_line(comparison, i, line); i++)
        markdown_line(stream, "- ", line);
}

static void markdown_headings(FILE *stream)
{
    putc('\n', stream);
    for (size_t c = 0; c < COUNT(columns); c++)
        fprintf(stream, "| %s ", columns[c].heading);
    fputs("| why |\n", stream);
    for (size_t c = 0; c < COUNT(columns); c++)
        fputs(columns[c].left ? "|---" : "|---:", stream);
    fputs("|---|\n", stream);
}

static void markdown_row(FILE *stream, const struct comparison_cell *cell)
{
    char field[FIELD_BYTES], line[LINE_BYTES];

    for (size_t c = 0; c < COUNT(columns); c++) {
        const char *strong = columns[c].styled ? aspect_of(cell->verdict)->strong : "";

        columns[c].format(cell, field);
        fprintf(stream, "| %s", strong);
        text_put(stream, escapes_markdown, field);
        fprintf(stream, "%s ", strong);
    }
    fputs("| ", stream);
    for (size_t i = 0; detail_line(cell, i, line); i++) {
        fputs(i ? "<br>" : "", stream);
        text_put(stream, escapes_markdown, line);
    }
    fputs(" |\n", stream);
}

/* Writes the cell's row when there is room for all of it; *fits says whether. */
static enum status bounded_row(struct bounded *file, const struct comparison_cell *cell, bool *fits)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);

    *fits = false;
    if (memory)
        markdown_row(memory, cell);
    if (!memory || fclose(memory) != 0) {
        free(text);
        return log_error(STATUS_ENVIRONMENT, "out of memory for a row of a report");
    }
    *fits = bytes <= file->left;
    if (*fits) {
        fwrite(text, 1, bytes, file->stream);
        file->left -= bytes;
    }
    free(text);
    return STATUS_OK;
}

/* Writes the rows of the cells that are the same, or of those that are not, the gravest first, as many as there
 * is room for. *dropped counts the others. */
static enum status markdown_rows(struct bounded *file, const struct comparison *comparison, bool same, size_t *dropped)
{
    enum status status = STATUS_OK;
    bool fits = file->left > 0;

    for (size_t i = 0; i < comparison->cell_count && status == STATUS_OK; i++) {
        if ((comparison->cells[i].verdict == VERDICT_SAME) != same)
            continue;
        if (fits)
            status = bounded_row(file, &comparison->cells[i], &fits);
        *dropped += !fits;
    }
    /* After the first that was dropped, nothing that is less grave. */
    if (!fits)
        file->left = 0;
    return status;
}

static enum status markdown_tables(struct bounded *file, const struct comparison *comparison)
{
    const size_t same = comparison->counts[VERDICT_SAME];
    enum status status = STATUS_OK;
    char line[LINE_BYTES];
    size_t dropped = 0;

    if (comparison->cell_count > same) {
        markdown_headings(file->stream);
        status = markdown_rows(file, comparison, false, &dropped);
    }
    if (same > 0 && status == STATUS_OK) {
        same_line(comparison, line);
        fputs("\n<details><summary>", file->stream);
        text_put(file->stream, escapes_xml, line);
        fputs("</summary>\n", file->stream);
        markdown_headings(file->stream);
        status = markdown_rows(file, comparison, true, &dropped);
        fputs("\n</details>\n", file->stream);
    }
    if (dropped > 0)
        fprintf(file->stream, "\nThe %zu least grave of %zu cells are left out: the file would be too large.\n",
                dropped, comparison->cell_count);
    return status;
}

static enum status write_markdown(FILE *stream, const struct comparison *comparison)
{
    struct bounded file = {.stream = stream};
    enum status status = STATUS_OK;
    char *head = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&head, &bytes);

    if (memory)
        markdown_head(memory, comparison);
    if (!memory || fclose(memory) != 0) {
        status = log_error(STATUS_ENVIRONMENT, "out of memory for a report");
        goto out;
    }
    fwrite(head, 1, bytes, stream);
    if (bytes + MARKDOWN_END_BYTES < MARKDOWN_BYTES_MAX)
        file.left = MARKDOWN_BYTES_MAX - MARKDOWN_END_BYTES - bytes;
    status = markdown_tables(&file, comparison);
out:
    free(head);
    return status;
}

/* -- JUnit -------------------------------------------------------------------------------------------- */

static void xml_attribute(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, " %s=\"", name);
    text_put(stream, escapes_xml, text);
    putc('"', stream);
}

static size_t count_outcome(const struct comparison *comparison, enum outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < COUNT(aspects); i++)
        if (aspects[i].outcome == outcome)
            count += comparison->counts[aspects[i].verdict];
    return count;
}

static void junit_property(FILE *stream, const char *name, const char *value)
{
    fputs("      <property", stream);
    xml_attribute(stream, "name", name);
    xml_attribute(stream, "value", value);
    fputs("/>\n", stream);
}

static void junit_properties(FILE *stream, const struct comparison *comparison)
{
    char line[LINE_BYTES];

    fputs("    <properties>\n", stream);
    summary_line(comparison, line);
    junit_property(stream, "summary", line);
    junit_property(stream, "base", comparison->base->label);
    side_line(comparison->base, line);
    junit_property(stream, "base_of", line);
    junit_property(stream, "new", comparison->new_side->label);
    side_line(comparison->new_side, line);
    junit_property(stream, "new_of", line);
    for (size_t i = 0; context_line(comparison, i, line); i++)
        junit_property(stream, "note", line);
    fputs("    </properties>\n", stream);
}

/* The cell's line in a sentence: what its table row says. */
static void cell_line(const struct comparison_cell *cell, char line[LINE_BYTES])
{
    char change[FIELD_BYTES], interval[FIELD_BYTES], base[FIELD_BYTES], new_text[FIELD_BYTES], p[FIELD_BYTES];

    snprintf(line, LINE_BYTES, "%s", verdict_rows[cell->verdict].name);
    if (!isfinite(cell->ratio.value))
        return;
    format_change(cell, change);
    format_interval(cell, interval);
    format_base(cell, base);
    format_new(cell, new_text);
    format_p(cell, p);
    snprintf(line, LINE_BYTES, "%s: %.32s (%.80s), %.32s -> %.32s, p %.32s", verdict_rows[cell->verdict].name, change,
             interval, base, new_text, p);
}

/* What is said within a test case: message as attribute, details as text. */
static void junit_body(FILE *stream, const char *element, const struct comparison_cell *cell)
{
    char line[LINE_BYTES];

    cell_line(cell, line);
    fprintf(stream, ">\n      <%s", element);
    xml_attribute(stream, "type", verdict_rows[cell->verdict].name);
    xml_attribute(stream, "message", line);
    putc('>', stream);
    for (size_t i = 0; detail_line(cell, i, line); i++) {
        fputs(i ? "\n" : "", stream);
        text_put(stream, escapes_xml, line);
    }
    fprintf(stream, "</%s>\n    </testcase>\n", element);
}

static void junit_cell(FILE *stream, const struct comparison_cell *cell)
{
    static const char *const elements[] = {[OUTCOME_FAILED] = "failure", [OUTCOME_SKIPPED] = "skipped"};
    const enum outcome outcome = aspect_of(cell->verdict)->outcome;
    char text[CELL_IDENTITY_BYTES];

    snprintf(text, sizeof(text), "%s.%s", cell->cell.workload->name, cell->cell.path->name);
    fputs("    <testcase", stream);
    xml_attribute(stream, "classname", text);
    cell_identity(&cell->cell, text);
    xml_attribute(stream, "name", text);
    if (isfinite(cell->new_ns))
        fprintf(stream, " time=\"%.9f\"", cell->new_ns * 1e-9);
    if (outcome == OUTCOME_PASSED)
        fputs("/>\n", stream);
    else
        junit_body(stream, elements[outcome], cell);
}

/* A comparison that could not be made must not pass for want of cells. */
static void junit_not_comparable(FILE *stream, const struct comparison *comparison)
{
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs("    <testcase classname=\"cbank\" name=\"comparable\">\n      <error type=\"not comparable\"", stream);
    xml_attribute(stream, "message", line);
    fputs("/>\n    </testcase>\n", stream);
}

static void junit_counts(FILE *stream, const struct comparison *comparison)
{
    const size_t errors = comparison->comparable ? 0 : 1;

    fprintf(stream, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
            comparison->cell_count + errors, count_outcome(comparison, OUTCOME_FAILED), errors,
            count_outcome(comparison, OUTCOME_SKIPPED));
}

static enum status write_junit(FILE *stream, const struct comparison *comparison)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cbank compare\"", stream);
    junit_counts(stream, comparison);
    fputs("  <testsuite name=\"cbank compare\"", stream);
    junit_counts(stream, comparison);
    junit_properties(stream, comparison);
    if (!comparison->comparable)
        junit_not_comparable(stream, comparison);
    for (size_t i = 0; i < comparison->cell_count; i++)
        junit_cell(stream, &comparison->cells[i]);
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}

/* -- JSON --------------------------------------------------------------------------------------------- */

/* Text that is null when it is empty. */
static void add_text(cJSON *object, const char *key, const char *text)
{
    json_add_text(object, key, text[0] ? text : NULL);
}

static cJSON *json_side(const struct side *side)
{
    const struct side_identity *identity = &side->identity;
    cJSON *object = cJSON_CreateObject();

    json_add_text(object, "label", side->label);
    json_add_integer(object, "results", side->files);
    json_add_integer(object, "incomplete", side->incomplete);
    add_text(object, "engine", identity->engine);
    add_text(object, "device", identity->device);
    add_text(object, "uuid", identity->uuid);
    add_text(object, "compute_capability", identity->compute_capability);
    add_text(object, "driver", identity->driver);
    add_text(object, "vbios", identity->vbios);
    add_text(object, "ecc", identity->ecc);
    add_text(object, "mig", identity->mig);
    add_text(object, "started_utc", identity->started_utc);
    return object;
}

static cJSON *json_calibration(const struct calibration *calibration)
{
    cJSON *object = calibration ? cJSON_CreateObject() : cJSON_CreateNull();

    if (calibration) {
        add_text(object, "device", calibration->device);
        add_text(object, "uuid", calibration->uuid);
        add_text(object, "driver", calibration->driver);
        json_add_integer(object, "launches", calibration->launches);
    }
    return object;
}

static cJSON *json_options(const struct compare_options *options)
{
    cJSON *object = cJSON_CreateObject(), *allowed;

    json_add_double(object, "threshold", options->threshold);
    json_add_double(object, "counter_threshold", options->counter_threshold);
    json_add_double(object, "confidence", STATS_CONFIDENCE);
    json_add_integer(object, "seed", options->seed);
    allowed = json_add(object, "allowed", cJSON_CreateArray());
    for (size_t i = 0; options->allowed && i < options->allowed->count; i++)
        json_append(allowed, cJSON_CreateString(((const struct facet *)options->allowed->rows[i])->name));
    json_add(object, "calibration", json_calibration(options->calibration));
    return object;
}

static cJSON *json_difference(const struct facet_difference *difference)
{
    cJSON *object = cJSON_CreateObject();

    json_add_text(object, "facet", difference->facet->name);
    json_add(object, "allowed", cJSON_CreateBool(difference->allowed));
    add_text(object, "base", difference->base);
    add_text(object, "new", difference->new_text);
    return object;
}

static cJSON *json_ratio(const struct ratio *ratio)
{
    cJSON *object = isfinite(ratio->value) ? cJSON_CreateObject() : cJSON_CreateNull();

    if (isfinite(ratio->value)) {
        json_add_double(object, "value", ratio->value);
        json_add_double(object, "ci_low", ratio->ci_low);
        json_add_double(object, "ci_high", ratio->ci_high);
        json_add_double(object, "p", ratio->p);
        json_add_integer(object, "resamples", ratio->resamples);
    }
    return object;
}

static cJSON *json_change(const struct counter_change *change)
{
    cJSON *object = cJSON_CreateObject();

    json_add_text(object, "name", change->name);
    json_add_text(object, "kind", counter_kind_names[change->kind]);
    json_add_double(object, "base", change->base);
    json_add_double(object, "new", change->new_value);
    return object;
}

static cJSON *json_cell(const struct comparison_cell *cell)
{
    cJSON *object = cJSON_CreateObject(), *changes;

    json_add_identity(object, &cell->cell);
    json_add_text(object, "verdict", verdict_rows[cell->verdict].name);
    json_add_double(object, "base_ns", cell->base_ns);
    json_add_double(object, "new_ns", cell->new_ns);
    json_add(object, "ratio", json_ratio(&cell->ratio));
    json_add_double(object, "adjusted_p", cell->adjusted_p);
    json_add_double(object, "noise", cell->noise_known ? cell->noise : NAN);
    json_add(object, "underpowered", cJSON_CreateBool(cell->underpowered));
    json_add(object, "sass_differs", cJSON_CreateBool(cell->sass_differs));
    changes = json_add(object, "counters", cJSON_CreateArray());
    for (size_t i = 0; i < cell->change_count; i++)
        json_append(changes, json_change(&cell->changes[i]));
    add_text(object, "note", cell->note);
    return object;
}

static void json_counts(const struct comparison *comparison, cJSON *counts)
{
    for (size_t i = 0; i < verdict_count; i++)
        json_add_integer(counts, verdict_rows[i].name, comparison->counts[i]);
}

static enum status write_json(FILE *stream, const struct comparison *comparison)
{
    cJSON *root = cJSON_CreateObject(), *object;
    char line[LINE_BYTES];

    object = json_add(root, "schema", cJSON_CreateObject());
    json_add_text(object, "name", schema_name);
    json_add_text(object, "version", schema_version);
    summary_line(comparison, line);
    json_add_text(root, "summary", line);
    json_add(root, "comparable", cJSON_CreateBool(comparison->comparable));
    json_add_integer(root, "status", (uint64_t)comparison_status(comparison));
    json_add(root, "base", json_side(comparison->base));
    json_add(root, "new", json_side(comparison->new_side));
    json_add(root, "options", json_options(&comparison->options));
    object = json_add(root, "differences", cJSON_CreateArray());
    for (size_t i = 0; i < comparison->difference_count; i++)
        json_append(object, json_difference(&comparison->differences[i]));
    json_counts(comparison, json_add(root, "counts", cJSON_CreateObject()));
    object = json_add(root, "cells", cJSON_CreateArray());
    for (size_t i = 0; i < comparison->cell_count; i++)
        json_append(object, json_cell(&comparison->cells[i]));
    return json_put_owned(stream, root);
}

/* -- CSV ---------------------------------------------------------------------------------------------- */

/* One row: the time of a cell, or (change is not NULL) a counter of it that moved. */
struct csv_row {
    const struct comparison_cell *cell;
    const struct counter_change *change;
};

static void csv_verdict(FILE *stream, const struct csv_row *row)
{
    text_csv(stream, verdict_rows[row->cell->verdict].name);
}

static void csv_quantity(FILE *stream, const struct csv_row *row)
{
    text_csv(stream, row->change ? row->change->name : "time_ns");
}

static void csv_kind(FILE *stream, const struct csv_row *row)
{
    text_csv(stream, row->change ? counter_kind_names[row->change->kind] : "time");
}

static void csv_base(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change ? row->change->base : row->cell->base_ns);
}

static void csv_new(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change ? row->change->new_value : row->cell->new_ns);
}

static void csv_ratio(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change ? row->change->new_value / row->change->base : row->cell->ratio.value);
}

static void csv_ci_low(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change ? NAN : row->cell->ratio.ci_low);
}

static void csv_ci_high(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change ? NAN : row->cell->ratio.ci_high);
}

static void csv_p(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change || !isfinite(row->cell->ratio.value) ? NAN : row->cell->ratio.p);
}

static void csv_adjusted_p(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change ? NAN : row->cell->adjusted_p);
}

static void csv_noise(FILE *stream, const struct csv_row *row)
{
    text_csv_number(stream, row->change || !row->cell->noise_known ? NAN : row->cell->noise);
}

static void csv_underpowered(FILE *stream, const struct csv_row *row)
{
    fputs(row->cell->underpowered ? "true" : "false", stream);
}

static void csv_sass_differs(FILE *stream, const struct csv_row *row)
{
    fputs(row->cell->sass_differs ? "true" : "false", stream);
}

static void csv_note(FILE *stream, const struct csv_row *row)
{
    text_csv(stream, row->cell->note);
}

/* After those of the cell's identity. */
static const struct {
    const char *name;
    void (*put)(FILE *stream, const struct csv_row *row);
} csv_columns[] = {
    {"verdict", csv_verdict},
    {"quantity", csv_quantity},
    {"kind", csv_kind},
    {"base", csv_base},
    {"new", csv_new},
    {"ratio", csv_ratio},
    {"ci_low", csv_ci_low},
    {"ci_high", csv_ci_high},
    {"p", csv_p},
    {"adjusted_p", csv_adjusted_p},
    {"noise", csv_noise},
    {"underpowered", csv_underpowered},
    {"sass_differs", csv_sass_differs},
    {"note", csv_note},
};

static void csv_put(FILE *stream, const struct csv_row *row)
{
    identity_csv_fields(stream, &row->cell->cell);
    for (size_t i = 0; i < COUNT(csv_columns); i++) {
        fputs(i ? "," : "", stream);
        csv_columns[i].put(stream, row);
    }
    text_csv_end(stream);
}

static enum status write_csv(FILE *stream, const struct comparison *comparison)
{
    identity_csv_names(stream);
    for (size_t i = 0; i < COUNT(csv_columns); i++)
        fprintf(stream, "%s%s", i ? "," : "", csv_columns[i].name);
    text_csv_end(stream);
    for (size_t i = 0; i < comparison->cell_count; i++) {
        const struct comparison_cell *cell = &comparison->cells[i];

        csv_put(stream, &(struct csv_row){.cell = cell});
        for (size_t k = 0; k < cell->change_count; k++)
            csv_put(stream, &(struct csv_row){.cell = cell, .change = &cell->changes[k]});
    }
    return STATUS_OK;
}

/* -- files -------------------------------------------------------------------------------------------- */

const struct report_format report_formats[] = {
    {"markdown", "GitHub-flavoured Markdown, for a step summary or a comment", write_markdown},
    {"junit", "JUnit XML: a test case a cell", write_junit},
    {"json", "everything, schema results/comparison.schema.json", write_json},
    {"csv", "tidy CSV: one row a time or counter that moved", write_csv},
};

const size_t report_format_count = COUNT(report_formats);

/* A comparison and the format that it is written in. */
struct written {
    const struct report_format *format;
    const struct comparison *comparison;
};

static enum status write_report(FILE *stream, const void *context)
{
    const struct written *written = context;

    return written->format->write(stream, written->comparison);
}

enum status compare_write(const struct report_format *format, const struct comparison *comparison, const char *path)
{
    return file_write(path, write_report, &(struct written){format, comparison});
}
