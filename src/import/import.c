/* SPDX-License-Identifier: MIT */
#include "import/import.h"

#include "base/error.h"
#include "import/foreign.h"

#include <string.h>

static bool is_known(const struct dw_profile *profile, uint64_t identity)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (!memcmp(profile->processes[i].uuid, &identity, sizeof identity))
            return true;
    return false;
}

/* One part of a format can be taken for another, so the order matters: the stricter first. */
int dw_import(const void *bytes, size_t size, const char *name, uint64_t written_ns,
              struct dw_profile *profile)
{
    struct dw_string text = {bytes, size};
    struct dw_foreign foreign = {
        .profile = profile,
        .name = name,
        .written_ns = written_ns,
        .identity = dw_hash_bytes(bytes, size),
        .first_process = profile->process_count,
        .first_thread = profile->thread_count,
    };
    bool is_gperftools = dw_gperftools_is(bytes, size);
    bool is_text = !is_gperftools && size && !memchr(bytes, '\0', size);
    bool is_perf = is_text && dw_perf_script_is(text);
    if (!is_gperftools && !is_perf && !(is_text && dw_collapsed_is(text)))
        return DW_ERR_NOT_DWELL;
    if (is_known(profile, foreign.identity))
        return DW_ERR_DUPLICATE;
    if (is_gperftools)
        dw_gperftools_read(&foreign, bytes, size);
    else if (is_perf)
        dw_perf_script_read(&foreign, text);
    else
        dw_collapsed_read(&foreign, text);
    return foreign.error;
}
