/* SPDX-License-Identifier: MIT
 * The messages of a pprof profile, written as they come; strings are numbered at their first use.
 */
#include "lens/export/pprof_writer.h"

#include "base/error.h"
#include "lens/view/notes.h"
#include "lens/view/roster.h"

static void put_field(struct dw_pprof *pprof, uint32_t field, const void *bytes, size_t size)
{
    uint8_t head[DW_PROTOBUF_HEAD_MAX];
    dw_gzip_write(&pprof->gzip, head, dw_protobuf_head(head, field, size));
    dw_gzip_write(&pprof->gzip, bytes, size);
}

void dw_pprof_put_message(struct dw_pprof *pprof, uint32_t field)
{
    put_field(pprof, field, pprof->message.data, pprof->message.size);
    dw_buffer_clear(&pprof->message);
}

uint64_t dw_pprof_text(struct dw_pprof *pprof)
{
    dw_string_id id = 0;
    int error =
        dw_string_intern(&pprof->strings, pprof->text.buffer.data, pprof->text.buffer.size, &id);
    dw_buffer_clear(&pprof->text.buffer);
    if (error)
        pprof->error = error;
    return id;
}

uint64_t dw_pprof_string(struct dw_pprof *pprof, struct dw_string string)
{
    dw_out_printable(&pprof->text, string.bytes, string.size);
    return dw_pprof_text(pprof);
}

uint64_t dw_pprof_literal(struct dw_pprof *pprof, const char *text)
{
    return dw_pprof_string(pprof, (struct dw_string){text, strlen(text)});
}

void dw_pprof_put_type(struct dw_pprof *pprof, uint32_t field, const char *name, const char *unit)
{
    dw_protobuf_put_number(&pprof->message, DW_PPROF_TYPE_NAME, dw_pprof_literal(pprof, name));
    dw_protobuf_put_number(&pprof->message, DW_PPROF_TYPE_UNIT, dw_pprof_literal(pprof, unit));
    dw_pprof_put_message(pprof, field);
}

static void put_label(struct dw_pprof *pprof, uint64_t key, uint32_t field, uint64_t value)
{
    dw_buffer_clear(&pprof->part);
    dw_protobuf_put_number(&pprof->part, DW_PPROF_LABEL_KEY, key);
    dw_protobuf_put_number(&pprof->part, field, value);
    dw_protobuf_put_bytes(&pprof->labels, DW_PPROF_SAMPLE_LABEL, pprof->part.data,
                          pprof->part.size);
}

static void add_label(struct dw_pprof *pprof, const char *key, uint32_t field, uint64_t value)
{
    put_label(pprof, dw_pprof_literal(pprof, key), field, value);
}

static void label_thread(struct dw_pprof *pprof, uint32_t index)
{
    const struct dw_profile *profile = pprof->profile;
    const struct dw_thread *thread = &profile->threads[index];
    struct dw_string host = dw_profile_property(profile, thread->process, "host");
    struct dw_string name = dw_profile_string(profile, thread->name);
    dw_buffer_clear(&pprof->labels);
    if (name.size)
        add_label(pprof, "thread", DW_PPROF_LABEL_TEXT, dw_pprof_string(pprof, name));
    if (thread->tid)
        add_label(pprof, "thread id", DW_PPROF_LABEL_NUMBER, dw_pprof_number(thread->tid));
    if (profile->process_count < 2)
        return;
    add_label(pprof, "process id", DW_PPROF_LABEL_NUMBER,
              dw_pprof_number(profile->processes[thread->process].pid));
    if (host.size)
        add_label(pprof, "host", DW_PPROF_LABEL_TEXT, dw_pprof_string(pprof, host));
}

void dw_pprof_label_thread(struct dw_pprof *pprof, uint32_t index)
{
    label_thread(pprof, index);
    pprof->thread_labels = pprof->labels.size;
}

static void label_state(struct dw_pprof *pprof, uint32_t state)
{
    const char *name = dw_sample_state_name(state);
    if (name)
        add_label(pprof, "state", DW_PPROF_LABEL_TEXT, dw_pprof_literal(pprof, name));
    if (state & DW_SAMPLE_HOLDS_GIL)
        add_label(pprof, "gil", DW_PPROF_LABEL_TEXT, dw_pprof_literal(pprof, "held"));
}

void dw_pprof_label_row(struct dw_pprof *pprof, dw_labels_id labels)
{
    const struct dw_profile *profile = pprof->profile;
    const struct dw_label_set *set = &profile->labels.sets[labels];
    pprof->labels.size = pprof->thread_labels;
    if (pprof->are_samples)
        label_state(pprof, dw_labels_state(&profile->labels, labels));
    for (uint32_t i = 0; i < set->count; i++) {
        const struct dw_label *label = &profile->labels.pairs[set->first + i];
        uint64_t key = dw_pprof_string(pprof, dw_profile_string(profile, label->key));
        put_label(pprof, key, DW_PPROF_LABEL_TEXT,
                  dw_pprof_string(pprof, dw_profile_string(profile, label->value)));
    }
}

void dw_pprof_put_sample(struct dw_pprof *pprof, const uint64_t *values, size_t count)
{
    dw_buffer_clear(&pprof->part);
    for (size_t i = 0; i < count; i++)
        dw_buffer_put(&pprof->part, dw_pprof_number(values[i]));
    dw_protobuf_put_bytes(&pprof->message, DW_PPROF_SAMPLE_VALUES, pprof->part.data,
                          pprof->part.size);
    dw_buffer_append(&pprof->message, pprof->labels.data, pprof->labels.size);
    dw_pprof_put_message(pprof, DW_PPROF_SAMPLE);
}

/* The name that it was given alone: pprof takes a system's name for one of C++, and would
 * strip "<module>" of its brackets and all between. */
void dw_pprof_put_function(struct dw_pprof *pprof, uint64_t id, uint64_t name, uint64_t file,
                           uint32_t line)
{
    dw_protobuf_put_number(&pprof->message, DW_PPROF_FUNCTION_ID, id);
    dw_protobuf_put_number(&pprof->message, DW_PPROF_FUNCTION_NAME, name);
    dw_protobuf_put_number(&pprof->message, DW_PPROF_FUNCTION_FILE, file);
    dw_protobuf_put_number(&pprof->message, DW_PPROF_FUNCTION_LINE, line);
    dw_pprof_put_message(pprof, DW_PPROF_FUNCTION);
}

void dw_pprof_add_line(struct dw_pprof *pprof, uint64_t function, uint32_t line, uint32_t column)
{
    dw_buffer_clear(&pprof->part);
    dw_protobuf_put_number(&pprof->part, DW_PPROF_LINE_FUNCTION, function);
    dw_protobuf_put_number(&pprof->part, DW_PPROF_LINE_NUMBER, line);
    dw_protobuf_put_number(&pprof->part, DW_PPROF_LINE_COLUMN, column);
    dw_protobuf_put_bytes(&pprof->message, DW_PPROF_LOCATION_LINE, pprof->part.data,
                          pprof->part.size);
}

/* Adds the text's lines to the ids of comments in `message`. */
static void add_comments(struct dw_pprof *pprof, const struct dw_out *lines)
{
    const char *at = (const char *)lines->buffer.data, *end = at + lines->buffer.size, *newline;
    for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
        struct dw_string line = {at, (size_t)(newline - at)};
        dw_protobuf_put_number(&pprof->message, DW_PPROF_COMMENT, dw_pprof_string(pprof, line));
    }
}

static void put_properties(struct dw_out *lines, const struct dw_profile *profile, uint32_t process)
{
    static const char *const keys[] = {"argv", "host", "python"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct dw_string value = dw_profile_property(profile, process, keys[i]);
        if (!value.size)
            continue;
        dw_out_printf(lines, "%s: ", keys[i]);
        dw_out_printable(lines, value.bytes, value.size);
        dw_out_char(lines, '\n');
    }
}

static void put_comments(struct dw_pprof *pprof)
{
    const struct dw_profile *profile = pprof->profile;
    struct dw_out lines;
    dw_out_init_memory(&lines);
    dw_out_text(&lines, "dwell " DW_VERSION "\n");
    for (uint32_t i = 0; i < profile->process_count; i++)
        put_properties(&lines, profile, i);
    if (pprof->are_samples)
        dw_notes_put_sampling(&lines, profile, "");
    dw_notes_put_losses(&lines, profile, "");
    add_comments(pprof, &lines);
    int error = dw_out_close(&lines);
    if (error)
        pprof->error = error;
}

static uint64_t duration_ns(const struct dw_profile *profile)
{
    uint64_t start = dw_roster_epoch_ns(profile), end = start;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct dw_process *process = &profile->processes[i];
        uint64_t last = process->first_clock.wall_ns + dw_process_duration_ns(process);
        end = last > end ? last : end;
    }
    return end - start;
}

void dw_pprof_put_facts(struct dw_pprof *pprof, const char *default_type, uint64_t period)
{
    struct dw_buffer *message = &pprof->message;
    uint64_t start = dw_roster_epoch_ns(pprof->profile);
    dw_protobuf_put_number(message, DW_PPROF_TIME_NS, dw_pprof_number(start));
    dw_protobuf_put_number(message, DW_PPROF_DURATION_NS,
                           dw_pprof_number(duration_ns(pprof->profile)));
    dw_protobuf_put_number(message, DW_PPROF_PERIOD, dw_pprof_number(period));
    dw_protobuf_put_number(message, DW_PPROF_DEFAULT_TYPE, dw_pprof_literal(pprof, default_type));
    put_comments(pprof);
    dw_gzip_write(&pprof->gzip, message->data, message->size);
    dw_buffer_clear(message);
}

int dw_pprof_init(struct dw_pprof *pprof, const struct dw_profile *profile, bool are_samples,
                  struct dw_out *out)
{
    *pprof = (struct dw_pprof){.profile = profile, .are_samples = are_samples};
    int error = dw_string_table_init(&pprof->strings);
    if (!error)
        error = dw_gzip_init(&pprof->gzip, out);
    if (error)
        dw_string_table_release(&pprof->strings);
    else
        dw_out_init_memory(&pprof->text);
    return error;
}

int dw_pprof_close(struct dw_pprof *pprof)
{
    for (uint32_t i = 0; i < pprof->strings.count; i++)
        put_field(pprof, DW_PPROF_STRING, pprof->strings.strings[i].bytes,
                  pprof->strings.strings[i].size);
    dw_gzip_close(&pprof->gzip);
    bool failed = pprof->message.failed || pprof->part.failed || pprof->labels.failed;
    int error = dw_out_close(&pprof->text);
    dw_string_table_release(&pprof->strings);
    dw_buffer_release(&pprof->message);
    dw_buffer_release(&pprof->part);
    dw_buffer_release(&pprof->labels);
    if (pprof->error)
        return pprof->error;
    return failed ? DW_ERR_MEMORY : error;
}
