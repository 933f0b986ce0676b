/* SPDX-License-Identifier: MIT
 * Growing an array by one. */
#ifndef DW_BASE_GROW_H
#define DW_BASE_GROW_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Makes room for entry `count`; 0 or DW_ERR_MEMORY. */
#define DW_GROW(array, count, capacity)                                                            \
    ((count) < (capacity) ? 0 : dw_grow((void **)&(array), &(capacity), sizeof *(array)))

static inline int dw_grow(void **array, uint32_t *capacity, size_t entry_size)
{
    if (*capacity > UINT32_MAX / 2)
        return DW_ERR_TOO_LARGE;
    uint32_t wanted = *capacity ? *capacity * 2 : 16;
    void *grown = realloc(*array, wanted * entry_size);
    if (!grown)
        return DW_ERR_MEMORY;
    *array = grown;
    *capacity = wanted;
    return 0;
}

#endif
