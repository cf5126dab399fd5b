/* SPDX-License-Identifier: MIT
 * The fixed point over the blocks of the code, and what it says of each load. */
#include "vary.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "machine.h"

enum { VISITS_MAX = 48, STACK_POINTER = 1 };

#define PHI 0x80000000u /* in `from`: the block whose ways met */

/* Some of the values. */
typedef bool value_set[VALUES];

/* At which level ways part: LEVEL_CONSTANT and LEVEL_GRID, together; why, if each thread goes its
 * own; FLAG_RELIED and FLAG_DATA of what they go by. */
struct parting {
    uint8_t level, why, flags;
};

struct block_state {
    struct value *out; /* at its end; NULL: not yet visited */
    value_set merged; /* values that ways brought together at its begin, and that stay its own */
    struct parting join; /* ways meet here that part at that level */
    uint32_t label, spread; /* of the spread that is in progress */
    uint16_t visits;
    struct parting parted; /* its branch, as far as it was spread */
    bool dirty, pending;
};

struct loop_state {
    struct parting left; /* how its exits part */
    value_set written;
};

struct vary {
    const struct flow *flow;
    struct machine machine;
    struct block_state *blocks;
    struct loop_state *loops;
    value_set *functions; /* what each writes */
    uint32_t *returns, *calls; /* owned: the blocks that end so */
    size_t return_count, call_count;
    uint32_t spreads;
    bool tangled; /* a loop is entered by several blocks */
    /* values that some instruction writes: all others stay as they are at the begin */
    uint16_t used[VALUES];
    size_t used_count;
    struct value in[VALUES];
};

/* -- where ways meet --------------------------------------------------------------------------- */

static bool add_parting(struct parting *to, struct parting with)
{
    const struct parting before = *to;

    to->level = with.level > to->level ? with.level : to->level;
    to->why = to->why == WHY_DATA || with.why == 0 ? to->why : with.why;
    to->flags |= with.flags;
    return to->level != before.level || to->why != before.why || to->flags != before.flags;
}

/* A value after it left loops that threads leave at different times. */
static struct value left_loops(const struct vary *vary, struct value value, unsigned i,
                               uint32_t from, uint32_t to)
{
    for (uint32_t loop = vary->flow->blocks[from].loop;
         loop != FLOW_NONE && !flow_within(vary->flow, vary->flow->blocks[to].loop, loop);
         loop = vary->flow->loops[loop].outer) {
        const struct loop_state *state = &vary->loops[loop];

        if (!state->written[i] || value_is_known(&value) || state->left.level <= LEVEL_GRID)
            continue;
        value =
            value_meet(value, value, (enum level)state->left.level,
                       state->left.why && state->left.why != WHY_DATA ? WHY_LOOP
                                                                      : (enum why)state->left.why,
                       state->left.flags);
        value.from = PHI | to;
    }
    return value;
}

static struct value meet_at(struct value a, struct value b, uint32_t block, struct parting parting)
{
    struct value out;

    /* Nothing less can be known than of data. */
    if ((a.from == b.from && value_equal(&a, &b)) ||
        (a.lanes == LANES_ANY && a.why == WHY_DATA && a.from == (PHI | block) &&
         (a.origin == b.origin || a.origin == ORIGIN_MIXED) &&
         !((b.flags | parting.flags) & ~a.flags)))
        return a;
    out = value_meet(a, b, (enum level)parting.level, (enum why)parting.why, parting.flags);
    out.from = PHI | block;
    return out;
}

/* The value of register or slot `i` behind a call. False: the call does not come back, as far as is
 * known. */
static bool behind_call(struct vary *vary, uint32_t caller, unsigned i, struct value *out)
{
    const struct flow *flow = vary->flow;
    const uint32_t function = flow->blocks[flow->blocks[caller].called].function;
    bool found = false;

    *out = vary->blocks[caller].out[i];
    for (size_t k = 0; k < vary->return_count; k++) {
        const uint32_t block = vary->returns[k];

        if (flow->blocks[block].function != function || !vary->blocks[block].out)
            continue;
        if (vary->functions[function][i])
            *out = found ? meet_at(*out, vary->blocks[block].out[i], caller,
                                   (struct parting){LEVEL_WARP, WHY_BRANCH, FLAG_DATA})
                         : vary->blocks[block].out[i];
        found = true;
    }
    if (found && flow->blocks[caller].conditional && vary->functions[function][i]) {
        const struct value *const before = vary->blocks[caller].out;
        struct instruction in;

        instruction_decode(flow->code, (size_t)flow->blocks[caller].last * INSTRUCTION_BYTES,
                           flow->architecture, &in);
        *out = value_select(&vary->machine.lanes, machine_condition(&vary->machine, before, &in),
                            *out, before[i]);
        out->from = PHI | caller;
    }
    return found;
}

/* The state at the begin of a block, in vary->in. False: nothing that leads here has been
 * visited. */
static bool enter_block(struct vary *vary, uint32_t block)
{
    const struct flow *flow = vary->flow;
    const struct flow_block *of = &flow->blocks[block];
    struct block_state *state = &vary->blocks[block];
    bool found = false;

    if (block == flow->functions[0]) {
        for (unsigned k = 0; k < vary->used_count; k++)
            vary->in[vary->used[k]] = value_any(WHY_UNSET);
        vary->in[STACK_POINTER] =
            machine_constant(&vary->machine, 0, flow->architecture >= 100 ? 0x37c : 0x28);
        found = true;
    }
    for (size_t k = 0; k < vary->call_count && of->is_called; k++) {
        const bool several = block == 0 || of->entries > 0;
        const struct parting parting = {LEVEL_WARP, several ? WHY_BRANCH : WHY_NONE,
                                        several ? FLAG_DATA : 0};
        const uint32_t caller = vary->calls[k];

        if (flow->blocks[caller].called != block || !vary->blocks[caller].out)
            continue;
        for (unsigned u = 0; u < vary->used_count; u++) {
            const unsigned i = vary->used[u];
            const struct value value = vary->blocks[caller].out[i];

            if (!found)
                vary->in[i] = value;
            else if (memcmp(&vary->in[i], &value, sizeof(value)) != 0)
                vary->in[i] = meet_at(vary->in[i], value, block, parting);
        }
        found = true;
    }
    /* First the ways that lead here, then those that lead back: what a loop does not write comes
     * back as it was. */
    for (uint32_t e = 0; e < 2 * of->entries; e++) {
        const uint32_t from = flow->edges[flow->entering[of->entry + e % of->entries]].from;
        const bool back = flow->blocks[from].order >= of->order;
        const bool kept = back && found && of->loop != FLOW_NONE &&
                          flow->loops[of->loop].header == block &&
                          !flow->loops[of->loop].entered_twice &&
                          flow_within(flow, flow->blocks[from].loop, of->loop);
        const bool leaves = flow->blocks[from].loop != FLOW_NONE &&
                            !flow_within(flow, of->loop, flow->blocks[from].loop);
        struct value value, left;
        bool own;

        if (back != (e >= of->entries) || flow->blocks[from].order == FLOW_NONE ||
            !vary->blocks[from].out)
            continue;
        for (unsigned u = 0; u < vary->used_count; u++) {
            const unsigned i = vary->used[u];

            if (kept && !vary->loops[of->loop].written[i])
                continue;
            value = vary->blocks[from].out[i];
            if (flow->blocks[from].end == FLOW_CALL && !behind_call(vary, from, i, &value))
                break;
            left = leaves ? left_loops(vary, value, i, from, block) : value;
            own = back && value.from == (PHI | block) && value_equal(&left, &value);
            value = left;
            if (!found)
                vary->in[i] = value;
            else if (!own && memcmp(&vary->in[i], &value, sizeof(value)) !=
                                 0) /* own: it comes back as it left */
                vary->in[i] = meet_at(vary->in[i], value, block, state->join);
            if (u + 1 == vary->used_count)
                found = true;
        }
    }
    /* A value once of this block stays so: loops within loops would hand it to and fro without
     * end. */
    for (unsigned u = 0; u < vary->used_count && (of->entries > 1 || of->is_called); u++) {
        const unsigned i = vary->used[u];

        if (vary->in[i].from == (PHI | block))
            state->merged[i] = true;
        else if (state->merged[i])
            vary->in[i].from = PHI | block;
    }
    return found;
}

/* -- where ways part --------------------------------------------------------------------------- */

/* Follows the ways of a branch until they meet: blocks that two of them reach are joins. */
static void spread(struct vary *vary, uint32_t branch, struct parting parting)
{
    const struct flow *flow = vary->flow;
    const struct flow_block *of = &flow->blocks[branch];
    const uint32_t number = ++vary->spreads;
    size_t pending = 0, cursor = flow->reached;

    for (uint32_t from = branch;;) {
        const struct flow_block *at = &flow->blocks[from];

        for (uint32_t e = at->edge; e < at->edge + at->edges; e++) {
            const uint32_t to = flow->edges[e].to,
                           label = from == branch ? to : vary->blocks[from].label;
            struct block_state *state = &vary->blocks[to];

            for (uint32_t loop = at->loop;
                 loop != FLOW_NONE && !flow_within(flow, flow->blocks[to].loop, loop);
                 loop = flow->loops[loop].outer)
                /* The branch is in the loop: threads leave it at different times. */
                if (flow_within(flow, of->loop, loop) &&
                    add_parting(&vary->loops[loop].left, parting))
                    for (size_t k = 0; k < flow->reached; k++)
                        vary->blocks[flow->sequence[k]].dirty = true;
            if (to == branch && state->spread == number && state->label == label)
                continue;
            if (state->spread != number) {
                state->spread = number;
                state->label = label;
            } else if (state->label == label || state->label == (PHI | to)) {
                continue;
            } else {
                state->label = PHI | to;
                state->dirty |= add_parting(&state->join, parting);
            }
            if (to == branch)
                continue;
            if (!state->pending) {
                state->pending = true;
                pending++;
            }
            cursor = flow->blocks[to].order < cursor ? flow->blocks[to].order : cursor;
        }
        /* One way that is left meets no other, unless it leads back into a loop beside its
         * header. */
        if (pending == 0 || (pending == 1 && !vary->tangled))
            break;
        while (!vary->blocks[flow->sequence[cursor]].pending)
            cursor++;
        from = flow->sequence[cursor];
        vary->blocks[from].pending = false;
        pending--;
    }
    for (; pending > 0; cursor++)
        if (vary->blocks[flow->sequence[cursor]].pending) {
            vary->blocks[flow->sequence[cursor]].pending = false;
            pending--;
        }
    /* In a loop that is entered beside its header, threads of one round catch up with those of
     * another. */
    for (uint32_t loop = vary->tangled ? of->loop : FLOW_NONE; loop != FLOW_NONE;
         loop = flow->loops[loop].outer)
        for (size_t k = 0; flow->loops[loop].entered_twice && k < flow->reached; k++) {
            const struct flow_block *inside = &flow->blocks[flow->sequence[k]];
            struct block_state *state = &vary->blocks[flow->sequence[k]];

            if (inside->entries > 1 && flow_within(flow, inside->loop, loop))
                state->dirty |= add_parting(&state->join, parting);
        }
}

/* -- all blocks -------------------------------------------------------------------------------- */

/* Adds what a block writes to its function and to the loops around it. Whether the function has
 * more then. */
static bool add_written(struct vary *vary, const struct flow_block *block, const value_set written)
{
    bool *const all = vary->functions[block->function];
    bool more = false;

    for (unsigned i = 0; i < VALUES; i++) {
        more |= written[i] && !all[i];
        all[i] |= written[i];
        for (uint32_t loop = written[i] ? block->loop : FLOW_NONE; loop != FLOW_NONE;
             loop = vary->flow->loops[loop].outer)
            vary->loops[loop].written[i] = true;
    }
    return more;
}

static void find_written(struct vary *vary)
{
    const struct flow *flow = vary->flow;
    bool more = true;

    for (size_t k = 0; k < flow->reached; k++) {
        const struct flow_block *block = &flow->blocks[flow->sequence[k]];

        value_set written = {false};

        for (uint32_t at = block->first; at <= block->last; at++) {
            struct instruction in;

            instruction_decode(flow->code, (size_t)at * INSTRUCTION_BYTES, flow->architecture, &in);
            vary->machine.flat &= !(in.transfer == TRANSFER_SPECIAL &&
                                    (instruction_field(&in, FIELD_SPECIAL) == SPECIAL_TID_Y ||
                                     instruction_field(&in, FIELD_SPECIAL) == SPECIAL_TID_Z));
            for (unsigned i = 0; i < in.results; i++)
                for (unsigned n = in.result[i].first;
                     n < in.result[i].first + in.result[i].count && n < REGISTER_COUNT; n++)
                    written[n] = true;
            if (in.transfer == TRANSFER_STORE)
                memset(written + REGISTER_COUNT, true, SLOTS);
            if (in.transfer == TRANSFER_UNKNOWN || block->end == FLOW_CALL_OUT)
                memset(written, true, sizeof(written));
        }
        add_written(vary, block, written);
    }
    while (more) {
        more = false;
        for (size_t k = 0; k < flow->reached; k++) {
            const struct flow_block *block = &flow->blocks[flow->sequence[k]];

            if (block->called != FLOW_NONE)
                more |=
                    add_written(vary, block, vary->functions[flow->blocks[block->called].function]);
        }
    }
    for (unsigned i = 0; i < VALUES; i++) {
        bool written = i == STACK_POINTER;

        for (size_t f = 0; f < flow->function_count; f++)
            written |= vary->functions[f][i];
        if (written)
            vary->used[vary->used_count++] = (uint16_t)i;
        vary->in[i] = value_any(WHY_UNSET);
    }
}

/* Visits a block. Whether its end has changed. */
static enum status visit_block(struct vary *vary, uint32_t block, bool *changed)
{
    const struct flow_block *of = &vary->flow->blocks[block];
    struct block_state *state = &vary->blocks[block];

    *changed = false;
    state->dirty = false;
    if (state->visits > VISITS_MAX || !enter_block(vary, block))
        return STATUS_OK;
    vary->machine.visit++;
    for (uint32_t at = of->first; at <= of->last; at++)
        machine_execute(&vary->machine, vary->in, at);
    for (unsigned k = 0;
         k < vary->used_count && (of->end == FLOW_CALL_OUT || state->visits == VISITS_MAX); k++)
        vary->in[vary->used[k]] = value_any(state->visits == VISITS_MAX ? WHY_ROUNDS : WHY_CALL);
    state->visits++;
    if (!state->out) {
        state->out = malloc(VALUES * sizeof(*state->out));
        if (!state->out)
            return log_memory("the registers of %zu blocks", vary->flow->reached);
        memcpy(state->out, vary->in, VALUES * sizeof(*state->out));
        *changed = true;
    }
    for (unsigned k = 0; k < vary->used_count; k++) {
        const unsigned i = vary->used[k];

        /* Behind a call, the other values are those of the caller. */
        if (of->end != FLOW_RETURN || of->edges > 0 || vary->functions[of->function][i])
            *changed |= memcmp(&state->out[i], &vary->in[i], sizeof(vary->in[i])) != 0;
        state->out[i] = vary->in[i];
    }
    if (of->edges > 1 && *changed) {
        const struct value *out = state->out;
        struct instruction in;
        struct value values[6], all;
        struct parting parting;
        size_t count = 0;

        /* The predicates, or the address, that its last instruction goes by. */
        instruction_decode(vary->flow->code, (size_t)of->last * INSTRUCTION_BYTES,
                           vary->flow->architecture, &in);
        values[count++] = machine_predicate(&vary->machine, out, in.guard, false);
        values[count++] = machine_inputs(&vary->machine, out, &in);
        /* Where threads of a warp are apart, BRA.DIV leads all of them to a copy of what
         * follows. */
        if (in.opcode == OPCODE_BRA && instruction_field(&in, FIELD_DIVERGED))
            values[count++] =
                in.form == FORM_IMMEDIATE_C
                    ? machine_register(out, UNIFORM_PREDICATE_FIRST +
                                                (instruction_field(&in, FIELD_BRANCH_INPUT) &
                                                 PREDICATE_ALWAYS))
                    : value_shared(LEVEL_WARP);
        for (unsigned word = 0; word < 2 && in.source[0].kind != OPERAND_NONE; word++)
            values[count++] = machine_source(&vary->machine, out, &in, of->last, 0, word);
        all = value_function(values, count);
        parting.level = all.lanes == LANES_SAME ? all.level : LEVEL_WARP;
        parting.why = all.lanes == LANES_SAME ? WHY_NONE
                      : all.why == WHY_DATA   ? WHY_DATA
                                              : WHY_BRANCH;
        parting.flags = all.flags & (FLAG_RELIED | FLAG_DATA);
        if (add_parting(&state->parted, parting) && parting.level > LEVEL_GRID)
            spread(vary, block, state->parted);
    }
    return STATUS_OK;
}

/* -- loads ------------------------------------------------------------------------------------- */

static const char *const reasons[WHY_COUNT] = {
    [WHY_DATA] = "the index comes from memory",
    [WHY_BRANCH] = "threads that branched differently bring different values",
    [WHY_LOOP] = "threads leave a loop at different times",
    [WHY_ARITHMETIC] = "arithmetic on the thread's number that is not followed",
    [WHY_HIGH] = "the high word of an address is used as a number",
    [WHY_STRIDES] = "the threads of a warp are apart in different ways where branches meet",
    [WHY_LANES] = "it depends on what threads pass on",
    [WHY_SHAPE] = "the warps of a block of this shape differ",
    [WHY_CALL] = "a function is called whose code is not here",
    [WHY_UNSET] = "a register that nothing sets",
    [WHY_OPERATION] = "an instruction that is not followed",
    [WHY_ROUNDS] = "the code is too entangled",
    [WHY_IMAGE] = "an image, whose coordinates are not followed",
};

static void classify(const struct vary *vary, struct value low, struct value high,
                     struct varying_load *load)
{
    const enum variation shared[] = {VARIATION_GRID, VARIATION_GRID, VARIATION_BLOCK,
                                     VARIATION_WARP};
    const enum level level = (enum level)(low.level > high.level ? low.level : high.level);

    load->origin = high.origin == ORIGIN_SHARED ? ORIGIN_SHARED : low.origin;
    load->offset = (int32_t)low.displacement;
    if (vary->flow->lost) {
        load->variation = VARIATION_UNKNOWN;
        load->reason = "there is a jump to where nobody knows";
        return;
    }
    /* The high word of an address follows the low one, unless that is the same in all lanes. */
    low = value_plain(low);
    if ((low.flags | high.flags) & FLAG_HALF)
        low = value_of_both(low, high);
    if (low.lanes == LANES_SAME)
        high = value_plain(high);
    if (low.lanes == LANES_ANY || low.lanes == LANES_GIVEN || high.lanes != LANES_SAME) {
        const unsigned why = low.lanes == LANES_ANY    ? low.why
                             : high.lanes == LANES_ANY ? high.why
                             : low.why                 ? low.why
                             : high.why                ? high.why
                                                       : WHY_HIGH;

        load->variation = value_is_given(&low) && value_is_given(&high) ? VARIATION_THREAD
                          : why == WHY_DATA                             ? VARIATION_DATA
                                                                        : VARIATION_UNKNOWN;
        load->reason = reasons[why];
    } else if (low.lanes == LANES_SAME) {
        load->variation =
            value_is_number(&low) && value_is_number(&high) ? VARIATION_CONSTANT : shared[level];
        load->addresses = 1;
    } else {
        const int32_t stride = (int32_t)lane_of(&vary->machine.lanes, &low, 1);

        load->variation = VARIATION_AFFINE;
        for (unsigned i = 0; low.lanes != LANES_STRIDE && i < WARP_LANES; i++) {
            bool first = true;

            load->lanes[i] = lane_of(&vary->machine.lanes, &low, i);
            if (load->lanes[i] != i * (uint32_t)stride)
                load->variation = VARIATION_UNEVEN;
            for (unsigned k = 0; k < i; k++)
                first &= load->lanes[i] != load->lanes[k];
            load->addresses += first;
        }
        load->stride_bytes = load->variation == VARIATION_AFFINE ? stride : 0;
    }
    if ((low.flags | high.flags) & FLAG_RELIED && load->variation < VARIATION_DATA)
        load->condition = "if blockDim.x is a multiple of 32; --block-dim decides it";
}

/* Whether an instruction is a load, and how its address varies before it is executed. */
static bool classify_at(struct vary *vary, uint32_t at, const struct instruction *in,
                        struct varying_load *load)
{
    struct value low = value_number(0), high = value_number(0), guard;
    bool is_load;

    guard = machine_predicate(&vary->machine, vary->in, in->guard, in->guard_negated);
    if (value_is_number(&guard) && !(guard.known & 1))
        return false;
    machine_exchange(&vary->machine, vary->in, in);
    /* The rows of a matrix are no table. */
    is_load = in->opcode != OPCODE_LDSM;
    if (in->transfer == TRANSFER_LOAD && in->opcode >= OPCODE_TEXTURE_FIRST &&
        in->opcode <= OPCODE_TEXTURE_LAST) {
        /* TLD takes whole numbers. The highest three bits are 0 for one dimension. The coordinates
         * of an image lie in as many registers as it has dimensions. */
        load->image = (in->opcode != OPCODE_TLD && in->opcode != OPCODE_TLD_BINDLESS) ||
                      instruction_field(in, FIELD_TEXTURE_DIMENSIONS);
        low = machine_source(&vary->machine, vary->in, in, at, 1, 0);
        low.origin = 0;
        /* An element has as many bytes as the texture says. */
        low =
            load->image
                ? value_any(WHY_IMAGE)
                : value_add(&vary->machine.lanes, low,
                            value_multiply(&vary->machine.lanes, value_shared(LEVEL_GRID),
                                           machine_source(&vary->machine, vary->in, in, at, 0, 0)));
    } else if (in->transfer == TRANSFER_LOAD && in->source[1].kind == OPERAND_CONSTANT) {
        if (in->source[0].kind != OPERAND_NONE)
            low = machine_source(&vary->machine, vary->in, in, at, 0, 0);
        load->bank = in->source[1].bank;
        /* Not single parameters and the compiler's own. */
        is_load = load->bank == USER_BANK || !value_is_number(&low);
        low = value_add(&vary->machine.lanes, low, value_number((uint32_t)in->offset));
    } else if (in->transfer == TRANSFER_LOAD) {
        low = machine_address(&vary->machine, vary->in, in, at, &high);
    } else {
        is_load = false;
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            if (in->source[i].kind == OPERAND_CONSTANT && in->source[i].bank == USER_BANK) {
                is_load = true;
                load->bank = USER_BANK;
                low = value_number(in->source[i].number);
            }
    }
    machine_exchange(&vary->machine, vary->in, in);
    if (!is_load)
        return false;
    load->name = in->name;
    classify(vary, low, high, load);
    return true;
}

/* The instruction that made the operand of another that says least; 0: none, or several where ways
 * met. */
static uint32_t decided_by(struct vary *vary, const struct instruction *in)
{
    unsigned most = 0;
    uint32_t from = 0;

    machine_exchange(&vary->machine, vary->in, in);
    for (unsigned i = 0; i < OPERANDS_MAX && in->transfer != TRANSFER_STORE; i++)
        if (in->source[i].kind == OPERAND_REGISTER || in->source[i].kind == OPERAND_UNIFORM) {
            const struct value value = machine_register(vary->in, in->source[i].number);
            const unsigned says = value.lanes == LANES_ANY     ? LEVEL_WARP + 3
                                  : value.lanes == LANES_GIVEN ? LEVEL_WARP + 2
                                  : value.lanes != LANES_SAME  ? LEVEL_WARP + 1
                                                               : value.level;

            from = says > most ? value.from : from;
            most = says > most ? says : most;
        }
    machine_exchange(&vary->machine, vary->in, in);
    return from & PHI ? 0 : from;
}

enum status vary_loads(const struct flow *flow, const struct code_facts *facts, vary_visit *visit,
                       void *context)
{
    struct vary *vary = calloc(1, sizeof(*vary));
    enum status status =
        vary ? lane_tables_open(&vary->machine.lanes) : log_memory("the values of registers");
    bool more = true, changed;
    uint32_t *deciding;

    if (!vary || status != STATUS_OK) {
        free(vary);
        return status;
    }
    vary->flow = flow;
    vary->machine.code = flow->code;
    vary->machine.architecture = flow->architecture;
    vary->machine.facts = facts;
    vary->machine.flat = true;
    for (size_t i = 0; i < flow->loop_count; i++)
        vary->tangled |= flow->loops[i].entered_twice;
    vary->blocks = calloc(flow->block_count + 1, sizeof(*vary->blocks));
    vary->loops = calloc(flow->loop_count + 1, sizeof(*vary->loops));
    vary->functions = calloc(flow->function_count + 1, sizeof(*vary->functions));
    vary->returns = calloc(flow->block_count + 1, sizeof(*vary->returns));
    vary->calls = calloc(flow->block_count + 1, sizeof(*vary->calls));
    deciding = calloc(flow->instructions + 1, sizeof(*deciding));
    if (!deciding || !vary->blocks || !vary->loops || !vary->functions || !vary->returns ||
        !vary->calls)
        status = log_memory("%zu blocks", flow->block_count);
    else
        find_written(vary);
    for (size_t k = 0; status == STATUS_OK && k < flow->reached; k++) {
        const uint32_t block = flow->sequence[k];

        vary->blocks[block].dirty = true;
        if (flow->blocks[block].end == FLOW_RETURN)
            vary->returns[vary->return_count++] = block;
        if (flow->blocks[block].end == FLOW_CALL)
            vary->calls[vary->call_count++] = block;
    }
    while (status == STATUS_OK && more) {
        more = false;
        for (size_t k = 0; status == STATUS_OK && k < flow->reached; k++) {
            const uint32_t block = flow->sequence[k];
            const struct flow_block *of = &flow->blocks[block];

            if (!vary->blocks[block].dirty)
                continue;
            status = visit_block(vary, block, &changed);
            more = true;
            if (!changed)
                continue;
            for (uint32_t e = of->edge; e < of->edge + of->edges; e++)
                vary->blocks[flow->edges[e].to].dirty = true;
            if (of->end == FLOW_CALL)
                vary->blocks[of->called].dirty = true;
            for (size_t i = 0; of->end == FLOW_RETURN && i < vary->call_count; i++) {
                const struct flow_block *caller = &flow->blocks[vary->calls[i]];

                if (flow->blocks[caller->called].function == of->function)
                    for (uint32_t e = caller->edge; e < caller->edge + caller->edges; e++)
                        vary->blocks[flow->edges[e].to].dirty = true;
            }
        }
    }
    for (uint32_t block = 0; status == STATUS_OK && block < flow->block_count; block++) {
        if (flow->blocks[block].order == FLOW_NONE || !enter_block(vary, block))
            continue;
        for (unsigned k = 0; k < vary->used_count && vary->blocks[block].visits > VISITS_MAX; k++)
            vary->in[vary->used[k]] = value_any(WHY_ROUNDS);
        vary->machine.visit++;
        for (uint32_t at = flow->blocks[block].first; at <= flow->blocks[block].last; at++) {
            struct varying_load load = {.instruction = at, .block = block};
            struct instruction in;
            uint32_t from = at;

            instruction_decode(flow->code, (size_t)at * INSTRUCTION_BYTES, flow->architecture, &in);
            deciding[at] = decided_by(vary, &in);
            if (classify_at(vary, at, &in, &load)) {
                do {
                    load.evidence[load.evidence_count++] = from;
                    from = deciding[from];
                } while (from != 0 && load.evidence_count < EVIDENCE_MAX);
                visit(&load, context);
            }
            machine_execute(&vary->machine, vary->in, at);
        }
    }
    for (size_t i = 0; vary->blocks && i < flow->block_count; i++)
        free(vary->blocks[i].out);
    free(vary->blocks);
    free(vary->loops);
    free(vary->functions);
    free(vary->returns);
    free(vary->calls);
    free(deciding);
    lane_tables_close(&vary->machine.lanes);
    free(vary);
    return status;
}
