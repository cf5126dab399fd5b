/* SPDX-License-Identifier: MIT
 * How many blocks of a cell an SM runs at a time, and whether a card is of a device. */
#include "model.h"

#include <string.h>

/* 32-bit registers of an SM, and the step in which a warp gets them: since compute capability 3.5, except 3.7. */
enum { SM_REGISTERS = 65536, WARP_REGISTERS_STEP = 256 };

/* What a thread has beside a table that it holds in registers: the kernels of select_16 have 34 to 40 on sm_90. */
enum { REGISTERS_BESIDE = 20 };

/* Blocks for whose registers an SM has room; UINT32_MAX where it is not known how many those are: 0. */
static uint32_t blocks_by_registers(uint32_t registers, uint32_t block_size)
{
    const uint32_t steps = (registers * CBANK_WARP_THREADS + WARP_REGISTERS_STEP - 1) / WARP_REGISTERS_STEP;

    return steps ? SM_REGISTERS / 4 / (steps * WARP_REGISTERS_STEP) * 4 / (block_size / CBANK_WARP_THREADS)
                 : UINT32_MAX;
}

uint32_t model_blocks_room(const struct cell *cell, const struct card *card)
{
    const uint32_t shared = cell_shared_bytes(cell) + workload_tile_bytes(cell->workload, cell->parameters);
    const uint32_t held = cell->path->unit == UNIT_SELECT ? REGISTERS_BESIDE + path_held(cell->path) : 0;
    const uint32_t by_registers = blocks_by_registers(held, cell->block_size);
    uint32_t blocks = card->warps_per_sm * CBANK_WARP_THREADS / cell->block_size;

    if (blocks > by_registers)
        blocks = by_registers;
    if (shared && blocks > card->shared_bytes_per_sm / (shared + card->shared_bytes_reserved))
        blocks = card->shared_bytes_per_sm / (shared + card->shared_bytes_reserved);
    if (blocks < 1)
        return 1;
    return blocks < card->blocks_per_sm ? blocks : card->blocks_per_sm;
}

uint32_t model_blocks_resident(const struct cell *cell, const struct card *card)
{
    const uint32_t room = model_blocks_room(cell, card), crowd = cell_crowd(cell);

    return crowd && crowd < room ? crowd : room;
}

void model_set_grid(struct cell *cell, const struct card *card)
{
    cell_set_grid(cell, (uint64_t)card->sm_count * model_blocks_resident(cell, card));
}

struct card model_card_for(const struct card *card, const struct cell *cell, const struct model_kernel *kernel)
{
    const uint32_t blocks = blocks_by_registers(kernel->registers, cell->block_size);
    struct card room = *card;

    if (blocks > 0 && blocks < room.blocks_per_sm)
        room.blocks_per_sm = blocks;
    return room;
}

bool model_knows(const struct device_info *device, const struct card *card)
{
    return device->cc_major == card->cc_major && device->cc_minor == card->cc_minor &&
           device->sm_count == card->sm_count &&
           (!device->chip[0] || !card->chip[0] || strcmp(device->chip, card->chip) == 0);
}
