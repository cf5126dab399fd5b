/* SPDX-License-Identifier: MIT
 * Small arrays that became compares. The assembler keeps an array of a few words in registers where
 * each of its entries is known, and reads t[i] by one compare and one move for each entry. An index
 * is the place of an entry in bytes:
 *
 *        ISETP.EQ P0, R4, 0         i == 0
 *        ISETP.EQ P1, R4, 4         i == 1
 *        ISETP.EQ P2, R4, 8         i == 2
 *    @P0 MOV R0, 11                 t[0]
 *    @P1 MOV R0, 22                 t[1]
 *    @P2 MOV R0, 33                 t[2]
 *
 * All of this is asked of the code: one value of the index, places in ascending order and evenly
 * apart, and numbers of the code, or words of the parameters as far apart as the places. Where
 * anything else writes the register between, nothing is said. Branches and selections of the source
 * have other forms. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "instruction.h"
#include "log.h"
#include "memory.h"
#include "user_access.h"

enum { WORD_BYTES = 4, ENTRIES_LEAST = 3, STRIDE_MOST = 64, EQUAL = 2 /* FIELD_COMPARE_TEST */ };

/* What a move brings. */
enum content { CONTENT_ANY, CONTENT_NUMBER, CONTENT_PARAMETER };

/* A predicate that says whether a register has a number. */
struct answer {
    bool known;
    uint16_t index;
    uint32_t version; /* of the register: a write makes another one */
    uint32_t number;
};

/* Moves to a register, each under an answer. */
struct chain {
    enum content content;
    struct answer answer; /* the last one */
    uint32_t first, stride, entries; /* numbers of the answers */
    uint32_t place, begin; /* the first move; its word in the bank of parameters */
    uint16_t words;
    bool open, read; /* read: an instruction behind takes the register */
    bool spoiled; /* something else was written there */
};

/* The state of the search at one instruction of a block. */
struct search {
    struct accesses *all;
    uint32_t versions[REGISTER_COUNT];
    struct answer answers[REGISTER_COUNT];
    struct chain chains[REGISTER_COUNT];
    struct chain *found; /* owned: arrays of the block */
    size_t found_count;
};

/* -- what an instruction is -------------------------------------------------------------------- */

static bool is_zero(const struct operand *operand)
{
    return (operand->kind == OPERAND_REGISTER && operand->number == REGISTER_ZERO) ||
           (operand->kind == OPERAND_UNIFORM && operand->number == UNIFORM_ZERO);
}

/* Whether an instruction asks if a register has a number, and takes no other predicate. */
static bool asks_number(const struct search *search, const struct instruction *in,
                        struct answer *out)
{
    const struct operand *index = &in->source[SOURCE_A], *number = &in->source[SOURCE_B];

    if ((in->opcode != OPCODE_ISETP && in->opcode != OPCODE_UISETP) || in->results != 1 ||
        !instruction_always(in) || instruction_field(in, FIELD_COMPARE_TEST) != EQUAL ||
        instruction_field(in, FIELD_COMPARE_COMBINED) ||
        instruction_field(in, FIELD_COMPARE_EXTENDED) || index->words != 1 || is_zero(index))
        return false;
    for (unsigned i = 0; i < INPUTS_MAX; i++)
        if ((in->input[i].number != PREDICATE_TRUE &&
             in->input[i].number != UNIFORM_PREDICATE_TRUE) ||
            in->input[i].negated)
            return false;
    if (number->kind != OPERAND_IMMEDIATE && !is_zero(number))
        return false;
    *out = (struct answer){true, (uint16_t)index->number, search->versions[index->number],
                           number->kind == OPERAND_IMMEDIATE ? number->number : 0};
    return true;
}

/* What an instruction moves: a number, whatever it computes of numbers, or a word of the
 * parameters, at offset *word of their bank. */
static enum content content_of(const struct instruction *in, uint32_t *word)
{
    const bool computes = in->transfer >= TRANSFER_FUNCTION && in->transfer <= TRANSFER_HALVES;
    const unsigned moved = in->transfer == TRANSFER_MULTIPLY ? SOURCE_C : SOURCE_B;
    bool numbers = computes, others = false;

    for (unsigned i = 0; i < INPUTS_MAX; i++)
        if (in->input[i].number != PREDICATE_TRUE && in->input[i].number != UNIFORM_PREDICATE_TRUE)
            return CONTENT_ANY;
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        const struct operand *from = &in->source[i];

        if (from->kind == OPERAND_NONE || is_zero(from))
            continue;
        numbers &= from->kind == OPERAND_IMMEDIATE;
        others |= i != moved;
    }
    if (numbers)
        return CONTENT_NUMBER;
    *word = in->source[moved].number;
    return (in->transfer == TRANSFER_MOVE || in->transfer == TRANSFER_MULTIPLY ||
            in->transfer == TRANSFER_LOAD) &&
                   !others && in->source[moved].kind == OPERAND_CONSTANT &&
                   in->source[moved].bank == PARAMETER_BANK && !in->source[moved].negated
               ? CONTENT_PARAMETER
               : CONTENT_ANY;
}

/* -- chains ------------------------------------------------------------------------------------ */

/* Whether two chains read one entry: the words of a pair are moved apart. */
static bool share_entry(const struct chain *a, const struct chain *b)
{
    const bool beside = b->begin == a->begin + a->words * WORD_BYTES ||
                        a->begin == b->begin + b->words * WORD_BYTES;

    return a->answer.index == b->answer.index && a->answer.version == b->answer.version &&
           a->first == b->first && a->stride == b->stride && a->entries == b->entries &&
           a->content == b->content && (beside || a->content == CONTENT_NUMBER) &&
           (a->words + b->words) * WORD_BYTES <= a->stride;
}

/* Keeps a chain that is an array, and forgets it. */
static enum status close_chain(struct search *search, struct chain *chain)
{
    const struct chain closed = *chain;

    *chain = (struct chain){.open = false};
    if (!closed.open || closed.spoiled || closed.entries < ENTRIES_LEAST)
        return STATUS_OK;
    for (size_t i = 0; i < search->found_count; i++) {
        struct chain *found = &search->found[i];

        if (!share_entry(found, &closed))
            continue;
        found->words = (uint16_t)(found->words + closed.words);
        found->begin = closed.begin < found->begin ? closed.begin : found->begin;
        found->place = closed.place < found->place ? closed.place : found->place;
        return STATUS_OK;
    }
    if (!memory_grow(&search->found, search->found_count, sizeof(*search->found)))
        return log_memory("the arrays of %s", search->all->kernel->name);
    search->found[search->found_count++] = closed;
    return STATUS_OK;
}

/* Whether a move brings the next entry of a chain. */
static bool goes_on(const struct chain *chain, const struct chain *move)
{
    const uint32_t stride = move->first - (chain->first + (chain->entries - 1) * chain->stride);

    if (!chain->open || chain->content != move->content || chain->words != move->words ||
        chain->answer.index != move->answer.index ||
        chain->answer.version != move->answer.version ||
        stride < (uint32_t)move->words * WORD_BYTES || stride > STRIDE_MOST ||
        stride % WORD_BYTES || (chain->entries > 1 && stride != chain->stride))
        return false;
    return chain->content == CONTENT_NUMBER ||
           move->begin - chain->begin == move->first - chain->first;
}

/* A register is written under a guard. */
static enum status write_guarded(struct search *search, const struct instruction *in,
                                 uint32_t index)
{
    const struct answer *answer = &search->answers[in->guard];
    struct chain *chain = &search->chains[in->result[0].first];
    struct chain move = {.answer = *answer,
                         .first = answer->number,
                         .entries = 1,
                         .place = index,
                         .words = in->result[0].count,
                         .open = true};
    const bool before = chain->open;

    move.content = content_of(in, &move.begin);
    move.spoiled =
        in->results != 1 || in->guard_negated || !answer->known || move.content == CONTENT_ANY;
    if (!move.spoiled && goes_on(chain, &move) && !chain->read) {
        chain->stride = move.first - (chain->first + (chain->entries - 1) * chain->stride);
        chain->entries++;
        return STATUS_OK;
    }
    /* What comes between belongs to no array, and may be a part of one. */
    chain->spoiled |= before && (!chain->read || goes_on(chain, &move));
    move.spoiled |= before && chain->spoiled;
    const enum status status = close_chain(search, chain);

    *chain = move;
    return status;
}

static void read_register(struct search *search, const struct operand *operand)
{
    const bool registers = operand->kind == OPERAND_REGISTER || operand->kind == OPERAND_UNIFORM;

    for (uint32_t n = operand->number; registers && n < operand->number + operand->words; n++)
        for (uint32_t first = n < RESULT_WORDS_MAX ? 0 : n - RESULT_WORDS_MAX + 1;
             first <= n && n < REGISTER_COUNT; first++)
            search->chains[first].read |= n < first + search->chains[first].words;
}

static enum status step(struct search *search, uint32_t index)
{
    const struct flow *flow = search->all->flow;
    const uint32_t always = PREDICATE_TRUE;
    struct answer answer = {.known = false};
    struct instruction in;
    bool asks, guarded;
    enum status status = STATUS_OK;

    instruction_decode(flow->code, (size_t)index * INSTRUCTION_BYTES, flow->architecture, &in);
    guarded = in.guard != always && in.guard != UNIFORM_PREDICATE_TRUE;
    asks = asks_number(search, &in, &answer);
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        read_register(search, &in.source[i]);
    read_register(search, &in.handle);
    if (guarded && in.results > 0 && in.result[0].first < PREDICATE_FIRST)
        status = write_guarded(search, &in, index);
    for (unsigned i = 0; i < in.results; i++)
        for (uint32_t n = in.result[i].first;
             n < (uint32_t)in.result[i].first + in.result[i].count && n < REGISTER_COUNT; n++) {
            search->versions[n]++;
            search->answers[n].known = false;
            if (!guarded && status == STATUS_OK)
                status = close_chain(search, &search->chains[n]);
        }
    if (asks)
        search->answers[in.result[0].first] = answer;
    return status;
}

/* -- the arrays of a kernel -------------------------------------------------------------------- */

static enum status keep_array(struct search *search, const struct chain *chain, uint32_t block)
{
    struct accesses *all = search->all;
    struct cubin_kernel *kernel = all->kernel;
    const uint32_t address = chain->place * INSTRUCTION_BYTES;
    const bool parameter = chain->content == CONTENT_PARAMETER;
    const struct code_fact *argument =
        parameter ? code_fact_before(&all->facts->arguments, chain->begin) : NULL;
    char name[32] = "";
    const char *file;
    const uint32_t line = facts_line(all->facts, address, &file);

    if (argument)
        snprintf(name, sizeof(name), "parameter %" PRIu32, argument->value);
    if (!memory_grow(&kernel->compared, kernel->compared_count, sizeof(*kernel->compared)))
        return log_memory("the arrays of %s", kernel->name);
    kernel->compared[kernel->compared_count++] =
        (struct compared_array){.memory = parameter ? "param" : "code",
                                .table = accesses_keep(all, name),
                                .file = accesses_keep(all, file),
                                .line = optional_unless_zero(line),
                                .address = accesses_place(all, address),
                                .entries = chain->entries,
                                .width_bytes = (uint32_t)chain->words * WORD_BYTES,
                                .stride_bytes = chain->stride,
                                .depth = flow_depth(all->flow, block)};
    return all->full ? log_memory("the arrays of %s", kernel->name) : STATUS_OK;
}

/* Whether a block compares often enough to read an array. */
static bool may_read_array(const struct flow *flow, const struct flow_block *block)
{
    uint32_t compares = 0;

    for (size_t i = block->first; block->order != FLOW_NONE && i <= block->last; i++) {
        const uint32_t opcode = code_field(flow->code, i * INSTRUCTION_BYTES, FIELD_OPCODE);

        compares += opcode == OPCODE_ISETP || opcode == OPCODE_UISETP;
    }
    return compares >= ENTRIES_LEAST;
}

static int compare_places(const void *left, const void *right)
{
    const struct chain *a = left, *b = right;

    return (a->place > b->place) - (a->place < b->place);
}

/* Finds the arrays that a block reads. */
static enum status search_block(struct search *search, uint32_t block)
{
    const struct flow_block *row = &search->all->flow->blocks[block];
    enum status status = STATUS_OK;

    memset(search->versions, 0, sizeof(search->versions));
    memset(search->answers, 0, sizeof(search->answers));
    memset(search->chains, 0, sizeof(search->chains));
    search->found_count = 0;
    for (uint32_t i = row->first; status == STATUS_OK && i <= row->last; i++)
        status = step(search, i);
    for (size_t n = 0; status == STATUS_OK && n < REGISTER_COUNT; n++)
        status = close_chain(search, &search->chains[n]);
    if (search->found_count > 1)
        qsort(search->found, search->found_count, sizeof(*search->found), compare_places);
    for (size_t i = 0; status == STATUS_OK && i < search->found_count; i++)
        status = keep_array(search, &search->found[i], block);
    return status;
}

enum status accesses_find_compared(struct accesses *all)
{
    struct search *search = calloc(1, sizeof(*search));
    enum status status = search ? STATUS_OK : log_memory("the arrays of %s", all->kernel->name);

    if (search)
        search->all = all;
    for (uint32_t b = 0; status == STATUS_OK && b < all->flow->block_count; b++)
        if (may_read_array(all->flow, &all->flow->blocks[b]))
            status = search_block(search, b);
    if (search)
        free(search->found);
    free(search);
    return status;
}
