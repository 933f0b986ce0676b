/* SPDX-License-Identifier: MIT
 * What the files that write chunks have in common. */
#ifndef DW_LOG_WRITING_H
#define DW_LOG_WRITING_H

#include "log/writer.h"

#define DW_CHUNK_TARGET (1u << 20) /* definitions are cut into chunks of about this size */
#define DW_STRING_MAX (2 * DW_CHUNK_TARGET)

/* Writes the payload as a chunk. The prefix is stored as it is, before the compressed payload. */
void dw_log_chunk_write(struct dw_log_writer *writer, enum dw_chunk_type type);
void dw_log_chunk_write_prefixed(struct dw_log_writer *writer, enum dw_chunk_type type,
                                 const uint8_t *prefix, size_t prefix_size);

static inline struct dw_buffer *dw_log_chunk_begin(struct dw_log_writer *writer)
{
    dw_buffer_clear(&writer->payload);
    return &writer->payload;
}

static inline void dw_put_string(struct dw_buffer *payload, struct dw_string string)
{
    dw_buffer_put_blob(payload, string.bytes, string.size);
}

/* A string that no chunk could hold is cut; 2 MiB of name are enough. */
static inline struct dw_string dw_string_bounded(struct dw_string string)
{
    if (string.size > DW_STRING_MAX)
        string.size = DW_STRING_MAX;
    return string;
}

static inline void dw_put_path(struct dw_buffer *payload, const struct dw_path *path)
{
    dw_buffer_put(payload, path->parent);
    dw_buffer_put(payload, path->step);
}

void dw_put_properties(struct dw_buffer *payload, const struct dw_property *properties,
                       uint32_t count, const struct dw_string_table *strings);

/* Cuts a table into chunks: id of the first entry, then entries up to the end. */
#define DW_WRITE_TABLE(type, first, count, put_entry)                                              \
    for (uint32_t at = (first); at < (count);) {                                                   \
        struct dw_buffer *payload = dw_log_chunk_begin(writer);                                    \
        dw_buffer_put(payload, at);                                                                \
        for (; at < (count) && payload->size < DW_CHUNK_TARGET && !payload->failed; at++) {        \
            put_entry;                                                                             \
        }                                                                                          \
        dw_log_chunk_write(writer, type);                                                          \
        if (writer->error)                                                                         \
            return;                                                                                \
    }

/* Those of the processes and threads from these on, which are defined in the log. What they have in
 * the end is not among it. 0 or DW_ERR_MEMORY. */
int dw_log_save_moments(struct dw_log_writer *writer, const struct dw_profile *profile,
                        uint32_t first_process, uint32_t first_thread);

#endif
