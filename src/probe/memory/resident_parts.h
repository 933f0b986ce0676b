/* SPDX-License-Identifier: MIT
 * What the resident memory of this process is made of, now. */
#ifndef DW_PROBE_MEMORY_RESIDENT_PARTS_H
#define DW_PROBE_MEMORY_RESIDENT_PARTS_H

#include "model/resident.h"

#include <stdbool.h>
#include <stdint.h>

/* False when the system does not tell. It takes milliseconds, and the lock of dw_allocs for
 * moments. */
bool dw_resident_find(uint64_t parts[DW_RESIDENTS]);

#endif
