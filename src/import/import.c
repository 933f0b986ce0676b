/* SPDX-License-Identifier: MIT
 * Finds the format by the content and reads it into the profile. A file that was added before is
 * known by its identity and refused. */
#include "import/import.h"

#include "base/error.h"
#include "base/gzip.h"
#include "import/foreign.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN_MAX ((size_t)1 << 30) /* unpacked bytes of a compressed file */

static bool is_known(const struct dw_profile *profile, uint64_t identity)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (!memcmp(profile->processes[i].uuid, &identity, sizeof identity))
            return true;
    return false;
}

typedef bool is_format(struct dw_string bytes);
typedef void read_format(struct dw_foreign *foreign, struct dw_string bytes);

/* A file of one format can look like another, so the stricter formats come first. */
static const struct format {
    is_format *is;
    read_format *read;
    bool is_text;
} formats[] = {
    {dw_gperftools_is, dw_gperftools_read, false},
    {dw_perf_script_is, dw_perf_script_read, true},
    {dw_mprof_is, dw_mprof_read, true},
    {dw_collapsed_is, dw_collapsed_read, true},
    {dw_pprof_is, dw_pprof_read, false},
};

static const struct format *find_format(struct dw_string bytes)
{
    bool is_text = bytes.size && !memchr(bytes.bytes, '\0', bytes.size);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if ((is_text || !formats[i].is_text) && formats[i].is(bytes))
            return &formats[i];
    return NULL;
}

static int import(struct dw_string bytes, const char *name, uint64_t written_ns,
                  struct dw_profile *profile)
{
    struct dw_foreign foreign = {
        .profile = profile,
        .name = name,
        .written_ns = written_ns,
        .identity = dw_hash_name(bytes.bytes, bytes.size),
        .first_process = profile->process_count,
        .first_thread = profile->thread_count,
    };
    const struct format *format = find_format(bytes);
    if (!format)
        return DW_ERR_NOT_DWELL;
    if (is_known(profile, foreign.identity))
        return DW_ERR_DUPLICATE;
    format->read(&foreign, bytes);
    dw_map_release(&foreign.process_index);
    dw_map_release(&foreign.thread_index);
    free(foreign.processes);
    free(foreign.threads);
    return foreign.error;
}

int dw_import(const void *bytes, size_t size, const char *name, uint64_t written_ns,
              struct dw_profile *profile)
{
    struct dw_buffer plain = {0};
    if (!dw_gzip_is(bytes, size))
        return import((struct dw_string){bytes, size}, name, written_ns, profile);
    int error = dw_gunzip(bytes, size, PLAIN_MAX, &plain);
    if (!error)
        error = import((struct dw_string){(const char *)plain.data, plain.size}, name, written_ns,
                       profile);
    dw_buffer_release(&plain);
    return error;
}
