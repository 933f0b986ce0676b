/* SPDX-License-Identifier: MIT
 * The names of all frames as JSON strings, quoted and escaped once up front:
 * a timeline repeats them a million times. */
#ifndef DW_LENS_EXPORT_NAME_CACHE_H
#define DW_LENS_EXPORT_NAME_CACHE_H

#include "base/out.h"
#include "model/profile.h"

struct dw_name_cache {
    const struct dw_profile *profile;
    struct dw_out text;
    size_t *starts; /* of each frame, and the end of the last */
};

int dw_name_cache_init(struct dw_name_cache *cache, const struct dw_profile *profile);
void dw_name_cache_release(struct dw_name_cache *cache);

/* The name of the path's last frame. */
static inline void dw_name_cache_put(const struct dw_name_cache *cache, struct dw_out *out,
                                     dw_path_id path)
{
    const size_t *start = &cache->starts[cache->profile->functions.paths[path].step];
    dw_out_write(out, cache->text.buffer.data + start[0], start[1] - start[0]);
}

#endif
