/* SPDX-License-Identifier: MIT
 * Reads the sections of a cubin that belong to a kernel: attributes, relocations, lines of DWARF.
 */
#include "facts.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"

enum { PARAMETERS_MAX = 0x3ff0 };

static uint32_t word_at(const unsigned char *data, size_t bytes)
{
    uint32_t word = 0;

    memcpy(&word, data, bytes);
    return word;
}

void facts_set_block(struct facts *facts, const uint32_t block[3])
{
    uint64_t threads = 1;

    for (unsigned i = 0; i < 3; i++)
        threads *= block[i] <= BLOCK_THREADS_MAX ? block[i] : 0;
    if (threads > 0 && threads <= BLOCK_THREADS_MAX && facts->code.block[0] == 0)
        memcpy(facts->code.block, block, sizeof(facts->code.block));
}

/* -- .nv.info.KERNEL: attributes --------------------------------------------------------------- */

/* Jumps by a register, and where each may lead. */
static enum status read_jumps(const unsigned char *entry, uint32_t bytes,
                              const struct callee *callee, struct facts *out)
{
    enum { HEAD = 12, TARGET = 4 };

    for (uint32_t i = 0; i + HEAD <= bytes;) {
        const struct flow_jump jump = {.offset = callee->begin + word_at(entry + i, 4),
                                       .count = word_at(entry + i + 8, 4),
                                       .base = callee->begin,
                                       .targets = entry + i + HEAD};

        if (jump.count > (bytes - i - HEAD) / TARGET)
            break;
        if (!memory_grow(&out->jumps, out->jump_count, sizeof(*out->jumps)))
            return log_memory("jumps");
        out->jumps[out->jump_count++] = jump;
        i += HEAD + TARGET * jump.count;
    }
    return STATUS_OK;
}

/* Reads the attributes of a kernel. Of a function that it calls, only the jumps are read. */
static enum status read_attributes(const struct cubin_section *section, const struct callee *callee,
                                   struct facts *out)
{
    enum {
        SIZED = 4,
        PARAMETERS = 0x0a,
        SHAPE = 0x10,
        PARAMETER = 0x17,
        JUMPS = 0x34,
        HEAD = 4,
        POINTER_BYTES = 8
    };
    struct code_fact_list *parameters = &out->code.parameters;
    enum status status = STATUS_OK;
    uint32_t base = 0;

    for (size_t offset = 0;
         status == STATUS_OK && section->data && offset + HEAD <= section->bytes;) {
        const unsigned char *head = section->data + offset, *entry = head + HEAD;
        const uint32_t bytes = head[0] == SIZED ? word_at(head + 2, 2) : 0;

        offset += HEAD + bytes;
        if (offset > section->bytes)
            break;
        if (head[1] != JUMPS && callee->begin > 0)
            continue;
        switch (head[1]) {
        case PARAMETERS:
            base = bytes >= 8 ? word_at(entry + 4, 2) : base;
            break;
        case SHAPE:
            if (bytes >= 12)
                facts_set_block(out, (const uint32_t[3]){word_at(entry, 4), word_at(entry + 4, 4),
                                                         word_at(entry + 8, 4)});
            break;
        case PARAMETER:
            if (bytes < 12 || out->arguments.count >= PARAMETERS_MAX)
                break;
            status = code_fact_add(&out->arguments, word_at(entry + 6, 2),
                                   word_at(entry + 4, 2) % PARAMETERS_MAX);
            if (status == STATUS_OK && word_at(entry + 8, 4) >> 18 == POINTER_BYTES)
                status = code_fact_add(parameters, word_at(entry + 6, 2),
                                       word_at(entry + 4, 2) % PARAMETERS_MAX);
            break;
        case JUMPS:
            status = read_jumps(entry, bytes, callee, out);
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; callee->begin == 0 && i < parameters->count; i++)
        parameters->facts[i].place += base;
    for (size_t i = 0; callee->begin == 0 && i < out->arguments.count; i++)
        out->arguments.facts[i].place += base;
    return status;
}

/* -- .debug_line: a program of DWARF 2 --------------------------------------------------------- */

/* Opcodes of the program, and places in the head of its unit. */
enum {
    LINE_EXTENDED,
    LINE_COPY,
    LINE_ADVANCE_ADDRESS,
    LINE_ADVANCE,
    LINE_SET_FILE,
    LINE_CONST_ADDRESS = 8,
    LINE_FIXED_ADDRESS,
    EXTENDED_END = 1,
    EXTENDED_SET_ADDRESS,
    HEAD_VERSION = 4,
    HEAD_LEAST = 10, /* bytes of the smallest instruction */
    HEAD_BASE = 12, /* of the lines that a special opcode adds, signed; then their range */
    HEAD_RANGE,
    HEAD_SPECIAL, /* the first special opcode; then the number of operands of each other one */
    HEAD_BYTES,
    LENGTH_BYTES = 4,
    ADDRESS_BYTES = 8,
    VERSION_LAST = 3
};

static uint64_t read_leb(const unsigned char *data, size_t bytes, size_t *offset, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0x80;

    while (byte & 0x80 && *offset < bytes) {
        byte = data[(*offset)++];
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    }
    return is_signed && shift < 64 && byte & 0x40 ? value | ~0ull << shift : value;
}

/* Lists the places of the names of files, by their number, from the head of the unit at byte
 * `unit`. Names of folders come first. Each file has a name, a folder, a time and a size. */
static enum status read_files(const struct cubin_section *section, size_t unit,
                              struct code_fact_list *out)
{
    const char *const text = (const char *)section->data;
    size_t offset = unit + HEAD_SPECIAL + section->data[unit + HEAD_SPECIAL];
    enum status status = code_fact_add(out, 0, 0); /* numbers begin at 1 */

    while (offset < section->bytes && text[offset])
        offset += strnlen(text + offset, section->bytes - offset) + 1;
    for (offset++; status == STATUS_OK && offset < section->bytes && text[offset];) {
        const size_t name = offset;

        offset += strnlen(text + offset, section->bytes - offset) + 1;
        for (unsigned i = 0; i < 3; i++)
            read_leb(section->data, section->bytes, &offset, false);
        status = offset <= section->bytes ? code_fact_add(out, (uint32_t)out->count, (uint32_t)name)
                                          : STATUS_OK;
    }
    return status;
}

/* The program of a unit, and the row of its table that it makes. */
struct line_program {
    const struct cubin_section *section;
    size_t unit, next; /* bytes in the section */
    int32_t base, range, special, least;
    uint32_t address, line;
    uint64_t file;
};

static uint64_t line_operand(struct line_program *program, bool is_signed)
{
    return read_leb(program->section->data, program->section->bytes, &program->next, is_signed);
}

/* False: the sequence ends. */
static bool extended_opcode(struct line_program *program)
{
    const uint64_t bytes = line_operand(program, false);
    const struct cubin_section *section = program->section;

    if (program->next >= section->bytes || bytes > section->bytes - program->next || bytes == 0 ||
        section->data[program->next] == EXTENDED_END ||
        section->data[program->next] == EXTENDED_SET_ADDRESS)
        return false;
    program->next += bytes;
    return true;
}

/* An opcode that has a meaning of its own. False: the sequence ends. */
static bool standard_opcode(struct line_program *program, unsigned code)
{
    const struct cubin_section *section = program->section;
    const size_t operands = program->unit + HEAD_SPECIAL + code;

    switch (code) {
    case LINE_EXTENDED:
        return extended_opcode(program);
    case LINE_COPY:
        return true;
    case LINE_SET_FILE:
        program->file = line_operand(program, false);
        return true;
    case LINE_ADVANCE_ADDRESS:
        program->address += (uint32_t)line_operand(program, false) * (uint32_t)program->least;
        return true;
    case LINE_ADVANCE:
        program->line += (uint32_t)line_operand(program, true);
        return true;
    case LINE_CONST_ADDRESS:
        program->address +=
            (uint32_t)(program->least * ((UINT8_MAX - program->special) / program->range));
        return true;
    case LINE_FIXED_ADDRESS:
        if (program->next + sizeof(uint16_t) <= section->bytes)
            program->address += word_at(section->data + program->next, sizeof(uint16_t));
        program->next += sizeof(uint16_t);
        return true;
    default:
        for (unsigned i = operands < section->bytes ? section->data[operands] : 0; i > 0; i--)
            line_operand(program, false);
        return true;
    }
}

/* Steps to the next row of the table. False: the sequence ends. */
static bool next_row(struct line_program *program)
{
    while (program->next < program->section->bytes) {
        const int32_t code = program->section->data[program->next++];

        if (code >= program->special) {
            const int32_t step = code - program->special;

            program->address += (uint32_t)(program->least * (step / program->range));
            program->line += (uint32_t)(program->base + step % program->range);
            return true;
        }
        if (!standard_opcode(program, (unsigned)code))
            return false;
        if (code == LINE_COPY)
            return true;
    }
    return false;
}

/* The program of the unit that has byte `from` of the section, which goes on behind an address
 * there. False: it cannot be read. */
static bool open_program(const struct cubin_section *section, size_t from, struct line_program *out)
{
    const unsigned char *data = section->data;
    size_t unit = 0;

    while (unit + HEAD_BYTES <= section->bytes &&
           unit + LENGTH_BYTES + word_at(data + unit, LENGTH_BYTES) <= from)
        unit += LENGTH_BYTES + (size_t)word_at(data + unit, LENGTH_BYTES);
    if (unit + HEAD_BYTES > section->bytes ||
        word_at(data + unit + HEAD_VERSION, sizeof(uint16_t)) > VERSION_LAST ||
        data[unit + HEAD_RANGE] == 0)
        return false;
    *out = (struct line_program){.section = section,
                                 .unit = unit,
                                 .next = from + ADDRESS_BYTES,
                                 .base = (int8_t)data[unit + HEAD_BASE],
                                 .range = data[unit + HEAD_RANGE],
                                 .special = data[unit + HEAD_SPECIAL],
                                 .least = data[unit + HEAD_LEAST],
                                 .line = 1,
                                 .file = 1};
    return true;
}

/* The lines of the sequence whose address is at byte `from` of the section, for code at `begin`.
 * files: NULL: not asked for. */
static enum status read_lines(const struct cubin_section *section, size_t from, uint32_t begin,
                              struct code_fact_list *lines, struct code_fact_list *files)
{
    struct code_fact_list names = {0};
    struct line_program program;
    enum status status;

    if (!open_program(section, from, &program))
        return STATUS_OK;
    status = read_files(section, program.unit, &names);
    while (status == STATUS_OK && next_row(&program)) {
        status = code_fact_add(lines, begin + program.address, program.line);
        if (status == STATUS_OK && files)
            status =
                code_fact_add(files, begin + program.address,
                              program.file < names.count ? names.facts[program.file].value : 0);
    }
    free(names.facts);
    return status;
}

/* -- the sections of a function ---------------------------------------------------------------- */

/* Reads the relocations of a section of code, by their type. */
static enum status read_relocations(const struct callee *callee, bool with_addend,
                                    struct facts *out)
{
    const size_t bytes = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    enum status status = STATUS_OK;
    struct cubin_section section;

    if (!cubin_section_named(out->cubin, with_addend ? ".rela.text." : ".rel.text.", callee->symbol,
                             &section) ||
        !section.data || section.type != (with_addend ? SHT_RELA : SHT_REL))
        return STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i + bytes <= section.bytes; i += bytes) {
        Elf64_Rel entry;
        const char *name;
        size_t size;

        memcpy(&entry, section.data + i, sizeof(entry));
        const uint32_t symbol = (uint32_t)(entry.r_info >> 32);

        if (symbol <= SYMBOLS_MAX && entry.r_offset <= UINT32_MAX &&
            cubin_symbol_at(out->cubin, symbol, &name, &size))
            status = code_fact_add(&out->code.relocated, callee->begin + (uint32_t)entry.r_offset,
                                   symbol);
    }
    return status;
}

/* Reads the lines of a function, of the source and of the PTX. */
static enum status read_lines_of(const struct cubin_facts *file, const struct callee *callee,
                                 struct facts *out)
{
    enum status status = STATUS_OK;
    size_t count;
    const struct line_sequence *found = cubin_facts_sequences(file, callee->symbol, &count);

    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        status = found[i].of_ptx ? read_lines(&file->ptx_lines, found[i].offset, callee->begin,
                                              &out->ptx_lines, NULL)
                                 : read_lines(&file->source_lines, found[i].offset, callee->begin,
                                              &out->lines, &out->files);
    return status;
}

/* Whether the literals of a function have relocations. */
static bool are_relocated(const struct cubin *cubin, const char *symbol)
{
    static const char *const names[] = {".rel.nv.constant2.", ".rela.nv.constant2."};
    struct cubin_section section;
    bool relocated = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        relocated |= cubin_section_named(cubin, names[i], symbol, &section) && section.bytes > 0;
    return relocated;
}

/* Reads what belongs to a section of the code. */
static enum status read_callee(const struct cubin_facts *file, const struct callee *callee,
                               struct facts *out)
{
    enum status status = STATUS_OK;
    struct cubin_section section;

    /* The lines of one section do not go on in the next. */
    if (callee->begin > 0)
        status = code_fact_add(&out->lines, callee->begin, 0);
    if (callee->begin > 0 && status == STATUS_OK)
        status = code_fact_add(&out->files, callee->begin, 0);
    if (callee->begin > 0 && status == STATUS_OK)
        status = code_fact_add(&out->ptx_lines, callee->begin, 0);
    if (status == STATUS_OK &&
        cubin_section_named(file->cubin, ".nv.info.", callee->symbol, &section))
        status = read_attributes(&section, callee, out);
    if (cubin_section_named(file->cubin, ".nv.constant2.", callee->symbol, &section)) {
        out->code.literals = section.data;
        out->code.literal_bytes = section.bytes;
    }
    if (are_relocated(file->cubin, callee->symbol))
        out->code.literals = NULL;
    for (unsigned with_addend = 0; status == STATUS_OK && with_addend < 2; with_addend++)
        status = read_relocations(callee, with_addend, out);
    return status == STATUS_OK ? read_lines_of(file, callee, out) : status;
}

/* CUDA 11.8 has no targets of a jump for sm_90: it may lead wherever one of the kernel's literals
 * does. */
static void jump_to_literals(struct facts *facts, size_t first)
{
    for (size_t i = first; facts->code.literals && i < facts->jump_count; i++) {
        struct flow_jump *jump = &facts->jumps[i];
        uint32_t given = 0;

        for (uint32_t k = 0; k < jump->count; k++)
            given |= word_at(jump->targets + 4 * (size_t)k, 4);
        if (!given) {
            jump->targets = facts->code.literals;
            jump->count = (uint32_t)(facts->code.literal_bytes / 4);
        }
    }
}

static enum status add_calls(struct facts *facts)
{
    for (size_t i = 0; i < facts->callees.call_count; i++) {
        if (!memory_grow(&facts->jumps, facts->jump_count, sizeof(*facts->jumps)))
            return log_memory("calls");
        facts->jumps[facts->jump_count++] = facts->callees.calls[i];
    }
    return STATUS_OK;
}

enum status facts_read(const struct cubin_facts *file, const struct cubin_function *kernel,
                       struct facts *out)
{
    enum status status;

    *out = (struct facts){.cubin = file->cubin,
                          .line_table = (const char *)file->source_lines.data,
                          .ptx = &file->ptx,
                          .code = {.addresses = file->addresses}};
    status = callees_find(file->cubin, kernel, &out->callees);
    for (size_t i = 0; status == STATUS_OK && i < out->callees.count; i++) {
        const size_t first = out->jump_count;

        status = read_callee(file, &out->callees.all[i], out);
        jump_to_literals(out, first);
        if (out->callees.count > 1) /* each section has its own */
            out->code.literals = NULL;
    }
    if (status == STATUS_OK)
        status = add_calls(out);
    code_facts_sort(&out->code.parameters);
    code_facts_sort(&out->code.relocated);
    code_facts_sort(&out->arguments);
    if (status != STATUS_OK)
        facts_close(out);
    return status;
}

uint32_t facts_line(const struct facts *facts, uint32_t place, const char **file)
{
    const struct code_fact *fact = code_fact_before(&facts->lines, place);
    const uint32_t name = fact ? facts->files.facts[fact - facts->lines.facts].value : 0;
    const char *folder = name ? strrchr(facts->line_table + name, '/') : NULL;

    *file = folder ? folder + 1 : name ? facts->line_table + name : "";
    return fact ? fact->value : 0;
}

void facts_close(struct facts *facts)
{
    callees_close(&facts->callees);
    code_facts_close(&facts->code.parameters);
    code_facts_close(&facts->code.relocated);
    code_facts_close(&facts->arguments);
    code_facts_close(&facts->lines);
    code_facts_close(&facts->files);
    code_facts_close(&facts->ptx_lines);
    free(facts->jumps);
    *facts = (struct facts){0};
}
