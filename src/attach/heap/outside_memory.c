/* SPDX-License-Identifier: MIT
 * Objects lie close together, so that one system call brings many of them. */
#include "attach/heap/outside_memory.h"

#include "base/error.h"
#include "base/grow.h"

#include <string.h>

#define BLOCK_BITS 16
#define BLOCK_BYTES ((uint64_t)1 << BLOCK_BITS)
#define PAGE_BITS 12
#define PAGES (1u << (BLOCK_BITS - PAGE_BITS))
#define LOWEST 4096u
#define HIGHEST ((uint64_t)1 << 47)

void dw_outside_memory_release(struct dw_outside_memory *memory)
{
    for (uint32_t i = 0; i < memory->count; i++)
        free(memory->blocks[i].bytes);
    free(memory->blocks);
    dw_address_map_release(&memory->numbers);
    *memory = (struct dw_outside_memory){.target = memory->target};
}

static uint32_t read_pages(const struct dw_target *target, uint64_t start, uint8_t *bytes)
{
    uint32_t pages = 0;
    if (!dw_target_read(target, start, bytes, BLOCK_BYTES))
        return (1u << PAGES) - 1;
    for (uint32_t i = 0; i < PAGES; i++) {
        uint64_t at = (uint64_t)i << PAGE_BITS;
        if (!dw_target_read(target, start + at, bytes + at, 1u << PAGE_BITS))
            pages |= 1u << i;
    }
    return pages;
}

static int add_block(struct dw_outside_memory *memory, uint64_t start)
{
    int error = DW_GROW(memory->blocks, memory->count, memory->capacity);
    uint8_t *bytes = error ? NULL : malloc(BLOCK_BYTES);
    if (!bytes)
        return DW_ERR_MEMORY;
    uint32_t pages = read_pages(memory->target, start, bytes);
    memory->blocks[memory->count++] = (struct dw_outside_block){bytes, pages};
    memory->last = 0; /* blocks may have moved */
    return 0;
}

static const struct dw_outside_block *block_of(struct dw_outside_memory *memory, uint64_t address)
{
    uint64_t stretch = address >> BLOCK_BITS;
    if (memory->last == stretch + 1)
        return memory->last_block;
    uint32_t *number = dw_address_map_at(&memory->numbers, (uintptr_t)stretch * 8);
    if (!number || memory->error)
        memory->error = DW_ERR_MEMORY;
    else if (!*number && !(memory->error = add_block(memory, stretch << BLOCK_BITS)))
        *number = memory->count;
    if (memory->error)
        return NULL;
    memory->last = stretch + 1;
    memory->last_block = &memory->blocks[*number - 1];
    return memory->last_block;
}

bool dw_outside_word(struct dw_outside_memory *memory, uint64_t address, uint64_t *word)
{
    if (address < LOWEST || address >= HIGHEST || address & 7)
        return false;
    const struct dw_outside_block *block = block_of(memory, address);
    uint64_t at = address & (BLOCK_BYTES - 1);
    if (!block || !(block->pages >> (at >> PAGE_BITS) & 1))
        return false;
    memcpy(word, block->bytes + at, sizeof *word);
    return true;
}

uint64_t dw_outside_at(struct dw_outside_memory *memory, uint64_t address)
{
    uint64_t word;
    return dw_outside_word(memory, address, &word) ? word : 0;
}

uint8_t dw_outside_byte(struct dw_outside_memory *memory, uint64_t address)
{
    return (uint8_t)(dw_outside_at(memory, address & ~(uint64_t)7) >> (address & 7) * 8);
}
