/* SPDX-License-Identifier: MIT */
#include "lens/export/name_cache.h"

#include "base/error.h"

#include <stdlib.h>

int dw_name_cache_init(struct dw_name_cache *cache, const struct dw_profile *profile)
{
    uint32_t count = profile->frames.count;
    *cache = (struct dw_name_cache){.profile = profile};
    dw_out_init_memory(&cache->text);
    cache->starts = malloc((count + 1u) * sizeof *cache->starts);
    if (!cache->starts)
        return DW_ERR_MEMORY;
    for (dw_frame_id i = 0; i < count; i++) {
        struct dw_string name = dw_profile_string(profile, profile->frames.frames[i].name);
        cache->starts[i] = cache->text.buffer.size;
        dw_out_json_string(&cache->text, name.bytes, name.size);
    }
    cache->starts[count] = cache->text.buffer.size;
    return cache->text.error;
}

void dw_name_cache_release(struct dw_name_cache *cache)
{
    dw_out_close(&cache->text);
    free(cache->starts);
    cache->starts = NULL;
}
