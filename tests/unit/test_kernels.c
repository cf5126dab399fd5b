/* SPDX-License-Identifier: MIT
 * The loads of every kernel of every architecture in this program, as the harness reads them from
 * the images. `make check-sass` checks the same with NVIDIA's disassembler; this runs on any
 * machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture.h"
#include "cells.h"
#include "image.h"
#include "instruction.h"
#include "launch_path.h"
#include "source.h"
#include "test.h"
#include "text.h"
#include "version.h"

/* A cell of the rows, with the smallest value of each parameter that it takes and has to name. */
static struct cell smallest_cell(const struct workload *workload, const struct path *path,
                                 const struct pattern *pattern)
{
    struct cell cell = {.workload = workload,
                        .path = path,
                        .pattern = pattern,
                        .elements = 1024,
                        .block_size = 1024,
                        .cache_state = &cache_states[0]};

    for (size_t i = 0; i < parameter_count; i++)
        if (cell_parameter_mask(cell.workload, cell.pattern) >> i & 1)
            cell.parameters[i] =
                parameters[i].default_value == PARAMETER_NAMED ? parameters[i].min : 0;
    return cell;
}

/* -- every kernel ------------------------------------------------------------------------------ */

/* For one image: how many kernels were examined, read, counted as straight-line code, and have
 * other loads. */
struct tally {
    size_t kernels, known, counted, wrong;
};

/* -- the whole kernel -------------------------------------------------------------------------- */

/* Instructions that kernels may hold besides the loads, by the low 9 bits: all that CUDA 11.8 and
 * 13.0 make of kernels.cu for sm_70 to sm_121. All other instructions are found: a wait, a fence, a
 * prefetch, a vote, a call. */
enum {
    NOPS_END = 80, /* before this architecture compilers pad with them */
    MULTIPLIES = OPCODE_COUNT - 1 /* IMAD by 1 and powers of two moves, adds and shifts; by other
                                   * numbers it counts as this */
};

typedef unsigned short operations[64]; /* 0 after the last */

/* Arithmetic of integers and addresses, and values from constant banks: compilers choose among
 * these. PRMT is one: CUDA 11.8 makes it of copies into shared memory for sm_90. */
static const operations arithmetic =
    {OPCODE_MOV,     OPCODE_P2R,     OPCODE_R2P,        OPCODE_CS2R,  OPCODE_SEL,
     OPCODE_ISETP,   OPCODE_IADD3,   OPCODE_LEA,        OPCODE_LOP3,  OPCODE_PRMT,
     OPCODE_IMNMX,   OPCODE_SHF,     OPCODE_PLOP3,      OPCODE_IMAD,  OPCODE_IMAD_WIDE,
     OPCODE_IMAD_HI, OPCODE_HFMA2,   OPCODE_HFMA2_MMA,  OPCODE_VIADD, OPCODE_VIADDMNMX,
     OPCODE_VIMNMX,  OPCODE_UVIMNMX, OPCODE_UI2F,       OPCODE_UMOV,  OPCODE_USEL,
     OPCODE_UISETP,  OPCODE_UIADD3,  OPCODE_ULEA,       OPCODE_ULOP3, OPCODE_UPRMT,
     OPCODE_USHF,    OPCODE_UIMAD,   OPCODE_UIMAD_WIDE, OPCODE_ULDC,  OPCODE_ULDC_INDEXED,
     OPCODE_S2R,     OPCODE_LDC,     OPCODE_LDL,        OPCODE_STL,   OPCODE_LDCU,
     OPCODE_S2UR,    MULTIPLIES};

/* As many as `global` has: floats, divisions, branches, stores, barriers. */
static const operations fixed = {OPCODE_FMUL, OPCODE_FADD,     OPCODE_FFMA, OPCODE_F2I,
                                 OPCODE_I2F,  OPCODE_MUFU,     OPCODE_BAR,  OPCODE_BSYNC,
                                 OPCODE_BSSY, OPCODE_BRA,      OPCODE_BRX,  OPCODE_EXIT,
                                 OPCODE_BMOV, OPCODE_BMOV_156, OPCODE_BRXU, OPCODE_STG,
                                 OPCODE_STS};

/* Compilers move, add and shift by one of these or another, as the units are busy: their sum
 * counts. */
static const operations exchanged = {OPCODE_MOV,  OPCODE_CS2R,      OPCODE_IADD3, OPCODE_SHF,
                                     OPCODE_IMAD, OPCODE_HFMA2_MMA, OPCODE_VIADD, OPCODE_ULDC};

/* A unit names these besides its loads: to copy the table into shared memory, to wait for textures.
 * Also those that compilers add to loops of strong loads before sm_90. */
static const operations named[UNIT_SELECT + 1] =
    {[UNIT_SHARED] = {OPCODE_UFLO, OPCODE_UBREV, OPCODE_FLO, OPCODE_BREV, OPCODE_F2I, OPCODE_I2F,
                      OPCODE_MUFU, OPCODE_BAR, OPCODE_BSYNC, OPCODE_BSSY, OPCODE_BRA,
                      OPCODE_WARPSYNC, OPCODE_BMOV, OPCODE_STS},
     [UNIT_TEXTURE] = {OPCODE_R2UR_EARLY, OPCODE_DEPBAR},
     [UNIT_L2] = {OPCODE_VOTE, OPCODE_VOTEU, OPCODE_YIELD, OPCODE_BRA},
     [UNIT_UNIFORM] = {OPCODE_BSYNC, OPCODE_BSSY, OPCODE_WARPSYNC}};

static const char *name_of(unsigned opcode, uint32_t architecture)
{
    const char *name = opcode_name(opcode, architecture);

    return opcode == MULTIPLIES ? "IMAD by a number" : name ? name : "opcodes of no name";
}

static bool has(const operations list, unsigned operation)
{
    size_t i = 0;

    while (list[i] && list[i] != operation)
        i++;
    return list[i] != 0;
}

/* How many more arithmetic instructions a unit's kernels may have than those of `global`: the most
 * that compilers were seen to make. For straight code, for grids that stride, and for 8 payload
 * loads. */
static const struct more {
    int straight, strides, by_loads;
} more[] = {
    [UNIT_IDC] = {2, 5, 1},       [UNIT_UNIFORM] = {2, 0, 16},   [UNIT_IMC] = {0, 0, 0},
    [UNIT_L1] = {0, 4, 8},        [UNIT_L2] = {0, 4, 8},         [UNIT_TEXTURE] = {1, 4, 24},
    [UNIT_SHARED] = {100, 64, 0}, [UNIT_REGISTERS] = {0, 16, 0}, [UNIT_SELECT] = {0, 0, 160},
};

/* S2R, S2UR and CS2R read the thread, the block, the block in its cluster, zero. A clock is none of
 * these. */
static bool special_register_known(unsigned number)
{
    enum { TID_X = 33, CTAID_X = 37, CGA_CTA_ID = 136, ZERO = 255 };

    return number == TID_X || number == CTAID_X || number == CGA_CTA_ID || number == ZERO;
}

/* The opcodes of one load of 8 bytes by toolkit, architecture and path. */
#define OPCODES "tests/golden/opcodes.txt"

enum { ROW_BYTES = 400 };

static char *golden; /* what it holds */

struct summary {
    uint32_t operations[OPCODE_COUNT], arithmetic, special;
    uint32_t predicated[2]; /* loads: other than LDG, LDG */
};

/* Counts all but the loads of a path, without the padding behind the last EXIT. */
static struct summary summarize(const struct kernel_sass *kernel)
{
    const unsigned char *code = kernel->code;
    const uint32_t architecture = kernel->counts.architecture;
    struct summary out = {0};
    uint32_t empty = 0, number;

    for (size_t offset = 0; offset + INSTRUCTION_BYTES <= kernel->bytes;
         offset += INSTRUCTION_BYTES) {
        struct instruction instruction;

        instruction_decode(code, offset, architecture, &instruction);
        const enum sass_class class = instruction_class(&instruction, architecture);
        const unsigned operation = instruction.opcode;

        empty += operation == OPCODE_NOP;
        if (operation == OPCODE_EXIT)
            out.operations[OPCODE_NOP] = architecture < NOPS_END ? 0 : empty;
        if (class < SASS_SHFL && class != SASS_OPERAND && !instruction_always(&instruction) &&
            !instruction_never(&instruction))
            out.predicated[class == SASS_LDG || class == SASS_LDG_CONSTANT]++;
        if (instruction_never(&instruction) ||
            (class != SASS_CLASS_COUNT && class != SASS_OPERAND && class != SASS_PRMT) ||
            operation == OPCODE_NOP ||
            (operation == OPCODE_BRA &&
             branch_target(code, offset, architecture) == (int64_t)offset))
            continue;
        number = instruction_field(&instruction, FIELD_IMMEDIATE);
        out.operations[operation == OPCODE_IMAD && instruction.form == FORM_IMMEDIATE_B &&
                               __builtin_popcount(number) != 1
                           ? MULTIPLIES
                           : operation]++;
        out.arithmetic += has(arithmetic, operation);
        out.special += instruction.transfer == TRANSFER_SPECIAL &&
                       !special_register_known(instruction_field(&instruction, FIELD_SPECIAL));
    }
    return out;
}

/* The row of a kernel: opcodes that it has besides its loads and those of `global`. Paths that load
 * nothing have no index: all of theirs. Paths that differ in the expression alone share a row. */
static void write_row(const struct cell *cell, uint32_t architecture, const struct summary *own,
                      const struct summary *reference, char row[ROW_BYTES])
{
    const struct path *path = paths;
    int sum = 0;

    while (path->home != cell->path->home || path->unit != cell->path->unit ||
           path->bytes != cell->path->bytes || path->copies != cell->path->copies ||
           path->loads != cell->path->loads || strcmp(path->sass, cell->path->sass) != 0)
        path++;
    snprintf(row, ROW_BYTES, "%.4s sm_%" PRIu32 " %s %s:", tool.cuda_toolkit, architecture,
             path->name, cell->workload->name);
    for (unsigned operation = 0; operation < OPCODE_COUNT; operation++) {
        const int more = (int)own->operations[operation] -
                         (path->loads ? (int)reference->operations[operation] : 0);

        if (has(exchanged, operation))
            sum += more;
        else if (more)
            text_join(row, ROW_BYTES, " ", "%03x%+d", operation, more);
    }
    text_join(row, ROW_BYTES, " ", "sum%+d", sum);
}

/* Whether the golden file has the row, or none of the toolkit, architecture, path and workload. */
static bool row_known(const char *row)
{
    const size_t bytes = strlen(row), key_bytes = strcspn(row, ":") + 1;
    bool others = false;

    for (const char *line = golden; *line; line += strcspn(line, "\n"), line += *line != '\0') {
        if (strncmp(line, row, bytes) == 0 && line[bytes] == '\n')
            return true;
        others |= strncmp(line, row, key_bytes) == 0;
    }
    if (!others)
        print_message(OPCODES " has no row of %s\n", row);
    return !others;
}

/* Whether the path's kernel is the reference's but for the loads and what the path names; says what
 * is not. */
static bool same_otherwise(const struct cell *cell, const struct kernel_sass *kernel,
                           const struct kernel_sass *reference, char text[CELL_REASON_BYTES])
{
    const struct summary own = summarize(kernel), theirs = summarize(reference);
    const struct path *path = cell->path;
    const bool strides = cell->workload->index == INDEX_LOADED;
    const bool switched = !strides && cell->workload->index != INDEX_COMPILED;
    const int payload = (int)(workload_steps(cell->workload, cell->parameters) /
                              workload_groups(cell->workload, cell->parameters));
    const struct more *extra = &more[path->unit];
    const int by_loads = (extra->by_loads * payload + (strides || !extra->by_loads ? 0 : 7)) / 8;
    const int most = (strides ? extra->strides : extra->straight) + by_loads;
    const int excess = (int)own.arithmetic - (int)theirs.arithmetic;

    text[0] = '\0';
    for (unsigned operation = 0; operation < OPCODE_COUNT; operation++) {
        const uint32_t count = own.operations[operation],
                       due = has(fixed, operation) ? theirs.operations[operation] : 0;

        /* How a compiler makes a switch is its choice. */
        if (has(arithmetic, operation) || count == due || (switched && has(fixed, operation)) ||
            ((count > due || operation == OPCODE_BSSY || operation == OPCODE_BSYNC) &&
             has(named[path->unit], operation)) ||
            (!path->loads &&
             (operation == OPCODE_BRX || (operation >= OPCODE_FMUL && operation <= OPCODE_FFMA) ||
              (operation >= OPCODE_F2I && operation <= OPCODE_MUFU))))
            continue;
        text_join(text, CELL_REASON_BYTES, ", ", "%" PRIu32 " %s and not %" PRIu32, count,
                  name_of(operation, kernel->counts.architecture), due);
    }
    if (payload == 1 && table_width(cell->parameters) == 8 && !switched &&
        !cell->parameters[PARAMETER_polluter_bytes]) {
        char row[ROW_BYTES];

        write_row(cell, kernel->counts.architecture, &own, &theirs, row);
        if (!row_known(row)) {
            print_error(OPCODES " has other rows than %s\n", row);
            text_join(text, CELL_REASON_BYTES, ", ", "opcodes of no row");
        }
    }
    if (excess > most && !switched)
        text_join(text, CELL_REASON_BYTES, ", ",
                  "%d more arithmetic instructions than global, %d at most", excess, most);
    for (size_t i = SASS_SHFL; i < SASS_PRMT; i++)
        if (payload_class(path) < SASS_SHFL &&
            sass_class_loads(kernel, i) != sass_class_loads(reference, i))
            text_join(text, CELL_REASON_BYTES, ", ", "%s that no path names",
                      sass_names[i][SASS_WORD]);
    /* Where a table is copied, a compiler may put a condition before a load in place of a
     * branch. */
    if (own.predicated[0] != theirs.predicated[0] ||
        own.predicated[1] - theirs.predicated[1] > (path->unit == UNIT_SHARED))
        text_join(text, CELL_REASON_BYTES, ", ", "loads under a predicate");
    if (path->unit == UNIT_SHARED && own.operations[OPCODE_BAR] == theirs.operations[OPCODE_BAR])
        text_join(text, CELL_REASON_BYTES, ", ", "no barrier behind the copy");
    if (own.special)
        text_join(text, CELL_REASON_BYTES, ", ", "%" PRIu32 " of other special registers",
                  own.special);
    return !text[0];
}

/* -- lookups that wait for each other ---------------------------------------------------------- */

/* Whether an instruction reads one of some registers; `index`: as its address or lane alone. */
static bool reads(const unsigned char *bytes, const struct instruction *instruction,
                  const bool *registers, bool index)
{
    const bool memory =
                   instruction->opcode >= OPCODE_MEMORY_FIRST && instruction->opcode != OPCODE_S2UR,
               shuffle = instruction->family == SASS_SHFL;

    if (index)
        return registers[shuffle ? bytes[4] : bytes[3]];
    return registers[bytes[3]] ||
           (!memory && instruction->form == FORM_REGISTER && registers[bytes[4]]) ||
           (shuffle && registers[bytes[4]]) ||
           (!memory && instruction->family != SASS_TLD && registers[bytes[8]]);
}

/* Marks the registers that it writes, or clears them. */
static void write_registers(const unsigned char *bytes, const struct instruction *instruction,
                            enum sass_class class, bool *registers, bool value)
{
    const unsigned operation = instruction->opcode;
    const bool load = instruction->family < SASS_SHFL && instruction->family != SASS_ULDC;
    const unsigned width = load                            ? instruction_width(instruction, class)
                           : operation == OPCODE_IMAD_WIDE ? 3
                                                           : SASS_WORD;
    const unsigned count = width > SASS_WORD ? 1u << (width - SASS_WORD) : 1;

    if (operation == OPCODE_ISETP || operation == OPCODE_PLOP3 ||
        (operation >= OPCODE_UNIFORM_FIRST && operation <= OPCODE_UNIFORM_LAST) ||
        (operation >= OPCODE_CONTROL_FIRST && operation <= OPCODE_CONTROL_LAST) ||
        operation == OPCODE_STG || operation == OPCODE_STS || operation == OPCODE_LDCU ||
        operation == OPCODE_S2UR)
        return;
    for (unsigned i = 0; i < count; i++)
        if (instruction->family == SASS_TLD && i >= 2)
            registers[bytes[8] + i - 2] = value && bytes[8] != INDEX_NONE;
        else if (bytes[2] != INDEX_NONE)
            registers[bytes[2] + i] = value;
}

/* The payload loads of a loop whose address waits for themselves, one round before. Each of them
 * must make as many loads wait as one lookup has: else it is in flight with fewer. -1: no loop has
 * payload loads. */
static int waiting_lookups(const struct cell *cell, const struct kernel_sass *kernel)
{
    const unsigned char *code = kernel->code;
    const uint32_t architecture = kernel->counts.architecture;
    const enum sass_class own = payload_class(cell->path);
    size_t first = 0, last = 0;
    int waiting = 0;

    for (size_t offset = 0; offset + INSTRUCTION_BYTES <= kernel->bytes;
         offset += INSTRUCTION_BYTES) {
        const int64_t target = code_field(code, offset, FIELD_OPCODE) == OPCODE_BRA
                                   ? branch_target(code, offset, architecture)
                                   : (int64_t)offset;
        bool holds = false;

        for (size_t in = (size_t)target; target < (int64_t)offset && in < offset;
             in += INSTRUCTION_BYTES) {
            struct instruction inner;

            instruction_decode(code, in, architecture, &inner);
            holds |= instruction_class(&inner, architecture) == own;
        }
        if (holds && (last == 0 || offset - (size_t)target < last - first)) {
            first = (size_t)target;
            last = offset;
        }
    }
    if (last == 0)
        return -1;
    for (size_t load = first; load < last; load += INSTRUCTION_BYTES) {
        struct instruction payload;
        bool registers[256 + 8] = {false}, itself = false;
        uint32_t reached = 0;

        instruction_decode(code, load, architecture, &payload);
        if (instruction_class(&payload, architecture) != own)
            continue;
        write_registers(code + load, &payload, own, registers, true);
        /* Up to the same load, and once around from there: all loads of the next lookup are on the
         * way. */
        for (size_t place = load, rounds = 0; rounds < 2; rounds += place == load) {
            place = place == last ? first : place + INSTRUCTION_BYTES;

            struct instruction next;

            instruction_decode(code, place, architecture, &next);
            const enum sass_class class = instruction_class(&next, architecture);
            const bool waits = class == own && reads(code + place, &next, registers, true);

            itself |= waits && place == load;
            reached += waits && rounds + (place == load) == 1;
            write_registers(code + place, &next, class, registers,
                            reads(code + place, &next, registers, false));
        }
        if (itself && reached != payload_pieces(cell))
            return 0;
        waiting += itself;
    }
    return waiting;
}

/* Whether the lookups of a round wait for those of the round before; says which do not. */
static bool waits(const struct cell *cell, const struct kernel_sass *kernel,
                  char text[CELL_REASON_BYTES])
{
    const bool looks_up = cell->workload->index == INDEX_LOADED && cell->path->loads &&
                          cell->path->unit != UNIT_SELECT;
    const int due = looks_up ? (int)(cell->parameters[PARAMETER_in_flight] * payload_pieces(cell))
                             : 0,
              waiting = looks_up ? waiting_lookups(cell, kernel) : 0;

    snprintf(text, CELL_REASON_BYTES,
             "%d loads of a round wait for those of the round before, and not %d", waiting, due);
    return waiting == due;
}

static void check_kernel(const struct image *image, uint32_t architecture, const struct cell *cell,
                         struct tally *tally)
{
    char reason[CELL_REASON_BYTES], identity[CELL_IDENTITY_BYTES];
    const bool can = !cell_obstacle(cell, architecture, reason);
    struct kernel_sass kernel;

    cell_identity(cell, identity);
    if (image_kernel(image->data, image->bytes, cell, &kernel) != can)
        fail_msg("%.*s has %s kernel for %s", (int)image->name_bytes, image->name, can ? "no" : "a",
                 identity);
    if (!can)
        return;

    const bool differs = sass_differs(cell, &kernel, reason);
    bool wrong = differs && !cell->path->chosen;
    struct cell global = *cell;
    struct kernel_sass reference;

    assert_int_equal(strlen(kernel.sha256), SHA256_HEX_BYTES - 1);
    assert_int_equal(kernel.counts.architecture, architecture);
    global.path = path_named("global");
    if (kernel.known && !differs && image_kernel(image->data, image->bytes, &global, &reference))
        wrong = !waits(cell, &kernel, reason) || !same_otherwise(cell, &kernel, &reference, reason);
    if (wrong)
        print_error("%.*s %s: %s\n", (int)image->name_bytes, image->name, identity, reason);
    tally->wrong += wrong;
    tally->kernels++;
    tally->known += kernel.known;
    tally->counted += kernel.counted;
}

/* The kernels of a workload and a path: of every radius, and for tables of every width. Those of
 * lookups are the same for all sources: of so many in flight, and with other data. Width 0 is the
 * path's whole table. */
static void check_path(const struct image *image, uint32_t architecture, size_t w, size_t a,
                       struct tally *tally)
{
    const struct workload *workload = &workloads[w];
    const bool loaded = workload->index == INDEX_LOADED,
               filters = workload->parameter_mask & PARAMETER_BIT(radius);
    const uint32_t widest = !(workload->parameter_mask & PARAMETER_BIT(width_bytes)) ? 0
                            : loaded                                                 ? 32
                                                                                     : 16;

    for (size_t p = 0; p < (loaded ? 1 : pattern_count); p++)
        for (uint32_t variant = workload->variants > 0; variant <= workload->variants + filters;
             variant++)
            for (uint32_t width = loaded; width <= widest; width++) {
                struct cell cell = smallest_cell(workload, &paths[a], &patterns[p]);

                if (width && !parameter_allows(&parameters[PARAMETER_width_bytes], width))
                    continue;
                if (filters)
                    cell.parameters[PARAMETER_radius] = variant;
                if (loaded) {
                    const bool polluted = variant > CBANK_IN_FLIGHT_MAX;
                    const uint32_t in_flight = polluted ? variant - CBANK_IN_FLIGHT_MAX : variant;

                    if (!parameter_allows(&parameters[PARAMETER_in_flight], in_flight))
                        continue;
                    cell.pattern = &sources[0];
                    cell.parameters[PARAMETER_in_flight] = in_flight;
                    cell.parameters[PARAMETER_loads] = 2 * in_flight;
                    cell.parameters[PARAMETER_polluter_bytes] =
                        polluted ? parameters[PARAMETER_polluter_bytes].min : 0;
                } else if (width) {
                    cell.parameters[PARAMETER_table_bytes] = parameters[PARAMETER_table_bytes].min;
                    if (cell.parameters[PARAMETER_stride_bytes])
                        cell.parameters[PARAMETER_stride_bytes] = widest;
                }
                cell.parameters[PARAMETER_width_bytes] =
                    width ? parameter_kept(&parameters[PARAMETER_width_bytes], width) : 0;
                check_kernel(image, architecture, &cell, tally);
            }
}

TEST(every_kernel_loads_what_its_path_names)
{
    struct image image;
    size_t wrong = 0;
    bool any = false;

    golden = file_text(OPCODES);
    if (!golden)
        fail_msg("cannot read " OPCODES ": run the test from the root of the repository");
    for (size_t i = 0; image_at(i, &image); i++) {
        char name[64], workload[32];
        uint32_t architecture;
        struct tally tally = {0};

        /* "NAME.sm_NN.cubin" of a workload: probes, sharing and tools are none. Kernels of launch
         * paths have a test of their own. */
        snprintf(name, sizeof(name), "%.*s", (int)image.name_bytes, image.name);
        if (sscanf(name, "%31[a-z0-9_].sm_%" SCNu32 ".cubin", workload, &architecture) != 2)
            continue;
        if (strcmp(workload, "probes") == 0 || strcmp(workload, "sharing") == 0 ||
            strcmp(workload, "tools") == 0 || strcmp(workload, "launch_overhead") == 0)
            continue;
        for (size_t w = 0; w < workload_count; w++)
            for (size_t a = 0; a < path_count && strcmp(workloads[w].name, workload) == 0; a++)
                check_path(&image, architecture, w, a, &tally);
        print_message("%s: %zu kernels, %zu read, %zu counted\n", name, tally.kernels, tally.known,
                      tally.counted);
        assert_true(tally.kernels > 0);
        assert_true(tally.known == (architecture >= 70 ? tally.kernels : 0));
        wrong += tally.wrong;
        any = true;
    }
    free(golden);
    if (!any)
        skip(); /* a build without CUDA */
    assert_int_equal(wrong, 0);
}

/* -- launch paths ------------------------------------------------------------------------------ */

/* A kernel for each number of bytes: it reads them by a register and as operands, and nothing else.
 * That of checks reads the constant bank. Older architectures have 4 KB of parameters. */
TEST(kernels_of_launch_paths_read_their_parameters_alone)
{
    static const uint32_t sizes[] = {4, 64, 256, 1024, 4096, 8192, 16384, 32764};
    static const char name[] = "launch_overhead.sm_";
    struct image image;
    size_t read = 0;

    for (size_t i = 0; image_at(i, &image); i++) {
        const struct workload *workload = workload_named("launch_overhead");
        struct cell cell = {.workload = workload,
                            .path = &no_load_path,
                            .pattern = &launch_paths[0].pattern,
                            .elements = 32,
                            .block_size = 32,
                            .cache_state = &cache_states[0]};
        struct kernel_sass kernel;
        char reason[CELL_REASON_BYTES];
        uint32_t architecture;

        if (strncmp(image.name, name, strlen(name)) != 0 ||
            sscanf(image.name + strlen(name), "%" SCNu32, &architecture) != 1)
            continue;
        for (size_t k = 0; k < COUNT(sizes); k++) {
            cell.parameters[PARAMETER_parameter_bytes] = sizes[k];
            if (cell_obstacle(&cell, architecture, reason)) {
                assert_true(sizes[k] > 4096 && architecture < 70);
                continue;
            }
            if (!image_kernel(image.data, image.bytes, &cell, &kernel)) {
                assert_true(sizes[k] > 4096); /* before CUDA 12.1 */
                continue;
            }
            read++;
            if (kernel.known) {
                assert_int_equal(sass_class_loads(&kernel, SASS_LDC), 0);
                assert_int_equal(sass_class_loads(&kernel, SASS_LDG), 0);
                assert_true(sizes[k] == 4 || sass_class_loads(&kernel, SASS_LDC_PARAMETER) == 1);
            }
        }
        cell.parameters[PARAMETER_parameter_bytes] = 0;
        cell.pattern = &launch_paths[2].pattern;
        assert_true(image_kernel(image.data, image.bytes, &cell, &kernel));
        assert_true(!kernel.known || sass_class_loads(&kernel, SASS_LDC) == 1);
    }
    if (read == 0)
        skip(); /* a build without CUDA */
}

/* -- loads that are not as they should be ------------------------------------------------------ */

static struct cell cell_named(const char *workload, const char *path, const char *pattern)
{
    return smallest_cell(workload_named(workload), path_named(path), pattern_named(pattern));
}

/* A kernel of the loads "2 LDG, 1 LDC.64". */
static struct kernel_sass kernel_of(const char *loads)
{
    struct kernel_sass sass = {.known = true};
    unsigned count;
    char name[32];

    for (int used = 0; sscanf(loads, "%u %31[^,]%n", &count, name, &used) == 2;
         loads += used + (loads[used] == ',')) {
        bool found = false;

        for (size_t i = 0; i < SASS_CLASS_COUNT * SASS_WIDTH_COUNT; i++)
            if (strcmp(sass_names[i / SASS_WIDTH_COUNT][i % SASS_WIDTH_COUNT], name) == 0) {
                sass.classes[i / SASS_WIDTH_COUNT][i % SASS_WIDTH_COUNT] = count;
                found = true;
            }
        assert_true(found);
    }
    return sass;
}

static const struct {
    const char *workload, *path, *pattern;
    uint32_t width;
    const char *loads, *wanted; /* "1 LDC, 1 LDG"; NULL: these are as they should be */
} kernel_cases[] = {
    {"add", "constant", "per_warp", 0, "1 LDC, 1 LDG", NULL},
    {"add", "constant", "per_warp", 0, "2 LDG", "1 LDC, 1 LDG"},
    {"add", "constant", "per_warp", 0, "1 ULDC, 1 LDG", "1 LDC, 1 LDG"},
    {"add", "constant", "per_warp", 0, "1 LDC, 1 LDG, 1 LDS", "1 LDC, 1 LDG"},
    {"add", "readonly", "per_warp", 0, "2 LDG", "1 LDG, 1 LDG.CONSTANT"},
    /* A shuffle of the compiler is no load; where the table is in registers it is. */
    {"add", "constant", "per_warp", 0, "1 LDC, 1 LDG, 1 SHFL", NULL},
    {"add", "shuffle", "per_warp", 0, "2 LDG, 2 SHFL", "2 LDG, 1 SHFL"},
    /* Likewise what compilers select; of four words two selections make one, the second under a
     * predicate. */
    {"add", "constant", "per_warp", 0, "1 LDC, 1 LDG, 3 SEL", NULL},
    {"add", "select_4", "per_warp", 0, "5 LDG, 2 SEL", NULL},
    {"add", "select_4", "per_warp", 0, "5 LDG, 3 SEL", "5 LDG, 2 SEL"},
    {"add", "select_4", "per_warp", 0, "6 LDG", "5 LDG, 2 SEL"},
    {"add", "constant", "per_warp", 0, "1 LDC, 1 LDG, 3 PRMT", NULL},
    {"add", "prmt", "per_warp", 1, "5 LDG, 1 SEL, 2 PRMT", NULL},
    {"add", "prmt", "per_warp", 1, "5 LDG, 1 PRMT", "5 LDG, 2 PRMT"},
    {"add", "prmt", "per_warp", 1, "5 LDG, 3 PRMT", "5 LDG, 2 PRMT"},
    {"conv_2d", "constant_operand", "lockstep", 0, "9 OPERAND, 9 LDG", NULL},
    {"conv_2d", "constant_operand", "lockstep", 0, "8 OPERAND, 9 LDG", "9 OPERAND, 9 LDG"},
    {"stencil_1d", "constant", "lockstep", 0, "4 LDC, 3 LDG, 8 LDS", NULL},
    {"stencil_1d", "constant", "lockstep", 0, "2 LDC, 3 LDG, 8 LDS", "4 LDC, 3 LDG, 8 LDS"},
    {"stencil_1d", "shared", "lockstep", 0, "4 LDG, 12 LDS", NULL},
    {"stencil_1d", "shared", "lockstep", 0, "3 LDG, 12 LDS", "3 LDG, 12 LDS and copies"},
    {"add", "shared_fill_only", "per_warp", 0, "6 LDG, 1 LDS", NULL},
    {"add", "shared_fill_only", "per_warp", 0, "6 LDG, 2 LDS", "1 LDG, 1 LDS and copies"},
    /* An element is loaded by the instruction of its width, or by several where there is none so
     * wide. */
    {"add", "constant", "per_warp", 16, "2 LDC.64, 1 LDG", NULL},
    {"add", "constant", "per_warp", 16, "4 LDC, 1 LDG", "2 LDC.64, 1 LDG"},
    {"add", "global", "per_warp", 16, "1 LDG, 1 LDG.128", NULL},
    {"add", "global", "per_warp", 16, "1 LDG, 2 LDG.64", "1 LDG, 1 LDG.128"},
    {"add", "texture", "per_warp", 16, "1 LDG, 1 TLD.128", NULL},
    {"add", "constant", "per_warp", 24, "2 LDC.64, 1 LDG", "3 LDC.64, 1 LDG"},
    {"add", "constant", "per_warp", 1, "1 LDC.U8, 1 LDG", NULL},
    {"add", "constant", "per_warp", 1, "1 LDC.U16, 1 LDG", "1 LDC.U8, 1 LDG"},
    {"add", "texture", "per_warp", 1, "1 LDG, 1 TLD", NULL},
};

TEST(loads_that_are_not_as_they_should_be_are_found)
{
    for (size_t i = 0; i < sizeof(kernel_cases) / sizeof(kernel_cases[0]); i++) {
        struct cell cell =
            cell_named(kernel_cases[i].workload, kernel_cases[i].path, kernel_cases[i].pattern);
        const struct kernel_sass sass = kernel_of(kernel_cases[i].loads);
        char text[CELL_REASON_BYTES] = "", expected[CELL_REASON_BYTES] = "";

        cell.parameters[PARAMETER_width_bytes] = kernel_cases[i].width;
        if (kernel_cases[i].wanted)
            snprintf(expected, sizeof(expected), "%s wants %s; the kernel has %s",
                     kernel_cases[i].path, kernel_cases[i].wanted, kernel_cases[i].loads);
        assert_int_equal(sass_differs(&cell, &sass, text), kernel_cases[i].wanted != NULL);
        assert_string_equal(text, expected);
    }
    /* A selection of the compiler is not named, either. */
    const struct cell constant = cell_named("add", "constant", "per_warp");
    const struct kernel_sass sass = kernel_of("2 LDG, 3 SEL");
    char text[CELL_REASON_BYTES];

    assert_true(sass_differs(&constant, &sass, text));
    assert_string_equal(text, "constant wants 1 LDC, 1 LDG; the kernel has 2 LDG");
}

/* Code for Volta has shuffles under a predicate that is never true; sm_70 of CUDA 11.8, as nvdisasm
 * -hex shows it. */
TEST(what_is_never_executed_is_no_load)
{
    static const uint64_t code[] = {
        0x000000fffffff389, 0x000fe200000e00ff, /* @!PT SHFL.IDX PT, RZ, RZ, RZ, RZ */
        0x00001f0700047389, 0x000fe200000e00ff, /* SHFL.IDX PT, R4, R0, R7, 0x1f */
        0x0000000806067207, 0x000fe20004000000, /* SEL R6, R6, R8, !P0 */
        0x000000000000794d, 0x000fea0003800000, /* EXIT */
    };
    struct kernel_sass sass;

    sass_read(code, sizeof(code), 70, &sass);
    assert_true(sass.known);
    assert_int_equal(sass_class_loads(&sass, SASS_SHFL), 1);
    assert_int_equal(sass_class_loads(&sass, SASS_SEL), 1);
    assert_int_equal(sass.counts.prologue.instructions, 4);
}

TEST(every_path_names_a_class)
{
    for (size_t a = 0; a < path_count; a++) {
        size_t i = 0;

        while (i < SASS_CLASS_COUNT && strcmp(sass_names[i][SASS_WORD], paths[a].sass) != 0)
            i++;
        assert_true(i < SASS_CLASS_COUNT);
    }
}
