/* SPDX-License-Identifier: MIT
 * Pictures of heaps as paths and rows, so that whatever shows stacks shows them: a path has the
 * types of the objects that dominate others, and its bytes are those of the objects at its end. So
 * the bytes under a type are what its objects retain. */
#ifndef DW_MODEL_PREPARE_HEAP_PATHS_H
#define DW_MODEL_PREPARE_HEAP_PATHS_H

#include "model/profile.h"

#define DW_HEAP_LAST UINT32_MAX
#define DW_HEAP_EACH (UINT32_MAX - 1)
#define DW_HEAPS_SHOWN 8

/* Before the profile is prepared. Shows the picture of that number, or of each process the last. Or
 * each of one process, as a thread of its own, the last one first; of many the first, the last and
 * some between. DW_ERR_ARGUMENT when there is none of the number. */
int dw_profile_show_heaps(struct dw_profile *profile, uint32_t number);

#endif
