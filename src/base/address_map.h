/* SPDX-License-Identifier: MIT
 * A map from the addresses of objects to 32-bit numbers, for millions of them: fast where they lie
 * close together, as an allocator places them. Zero-initialised is empty. */
#ifndef DW_BASE_ADDRESS_MAP_H
#define DW_BASE_ADDRESS_MAP_H

#include <stdint.h>

struct dw_address_block {
    uintptr_t key; /* of the stretch of addresses, plus 1; 0: none */
    uint32_t *numbers;
};

struct dw_address_map {
    struct dw_address_block *blocks;
    uint32_t capacity, count; /* of blocks; a power of two, or 0 */
    struct dw_address_block last;
};

void dw_address_map_release(struct dw_address_map *map);
/* Where the number of an address is kept, 0 at first; NULL when out of memory. Addresses are
 * multiples of 8. */
uint32_t *dw_address_map_at(struct dw_address_map *map, uintptr_t address);
/* The number of an address, or 0. */
uint32_t dw_address_map_find(const struct dw_address_map *map, uintptr_t address);

#endif
