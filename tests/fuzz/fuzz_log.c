/* SPDX-License-Identifier: MIT */
#include "fuzz_log.h"

#include "views.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "log/reader.h"
#include "log/save.h"
#include "model/moments.h"

#include <stdlib.h>

/* What was read can be saved, and what was saved can be read. */
static void save(const struct dw_profile *profile)
{
    struct dw_log_writer writer;
    struct dw_profile *again;
    if (!dw_log_writer_init(&writer, -1) && !dw_log_save(profile, &writer) &&
        !dw_profile_new(&again)) {
        int error = dw_log_read(writer.memory.data, writer.memory.size, DW_READ_EVENTS, again);
        if (error && error != DW_ERR_TOO_LARGE && error != DW_ERR_MEMORY && profile->process_count)
            abort();
        dw_profile_free(again);
    }
    dw_log_writer_release(&writer);
}

/* The parts of a log that was cut anywhere, merged. */
static void merge(const uint8_t *bytes, size_t size, size_t cut)
{
    struct dw_profile *profile;
    if (dw_profile_new(&profile))
        return;
    unsigned flags = DW_READ_EVENTS | DW_READ_MOMENTS | DW_READ_TO_SAVE;
    dw_log_read(bytes, cut, flags, profile);
    dw_log_read(bytes + cut, size - cut, flags, profile);
    save(profile);
    dw_profile_free(profile);
}

/* What was alive then. */
static void go_back(const uint8_t *bytes, size_t size, uint32_t salt)
{
    struct dw_profile *profile;
    if (dw_profile_new(&profile))
        return;
    dw_log_read(bytes, size, DW_READ_MOMENTS, profile);
    if (!dw_profile_go_to(profile, (uint64_t)salt << salt % 8) && !view_prepare(profile))
        view_profile(profile, salt % view_count(), salt);
    dw_profile_free(profile);
}

static void view(const uint8_t *bytes, size_t size, uint32_t first, uint32_t count, uint32_t salt)
{
    struct dw_profile *profile;
    if (dw_profile_new(&profile))
        return;
    dw_log_read(bytes, size, DW_READ_EVENTS | DW_READ_MOMENTS, profile);
    if (!count)
        save(profile);
    else if (!view_prepare(profile))
        for (uint32_t i = first; i < first + count; i++)
            view_profile(profile, i, salt);
    dw_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t hash = dw_crc32c(0, bytes, size), views = view_count();
    uint32_t chosen = hash % (views + 3), salt = hash / (views + 3);
    if (chosen == views + 2)
        go_back(bytes, size, salt);
    else if (chosen > views)
        merge(bytes, size, salt % (size + 1));
    else
        view(bytes, size, chosen, chosen < views, salt);
    return 0;
}

void fuzz_log_all(const uint8_t *bytes, size_t size)
{
    uint32_t salt = dw_crc32c(0, bytes, size);
    merge(bytes, size, salt % (size + 1));
    go_back(bytes, size, salt);
    view(bytes, size, 0, 0, salt);
    view(bytes, size, 0, view_count(), salt);
}
