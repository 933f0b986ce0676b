/* SPDX-License-Identifier: MIT
 * Recursion: which of the paths with one key are not inside another of the same. Only
 * their totals add up; those inside are counted there already. */
#ifndef DW_MODEL_OUTERMOST_H
#define DW_MODEL_OUTERMOST_H

#include "model/path_tree.h"

/* Of each path whether none above it has the same key; keys are below `key_count`. Paths are
 * `stride` bytes apart and begin with their parent, which comes before them; the first is the root.
 */
int dw_outermost_find(const void *paths, size_t stride, uint32_t count, const uint32_t *keys,
                      uint32_t key_count, bool *outermost);

#endif
