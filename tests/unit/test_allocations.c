/* SPDX-License-Identifier: MIT
 * Memory that runs out at every single allocation: while a recording is read, saved and shown, and
 * while one is made. What says that it went well has the same result as with memory enough; nothing
 * is lost without a word, and nothing leaks. */
#include "check.h"

#include "failing.h"
#include "views.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "log/reader.h"
#include "log/save.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

/* Something that allocates. Returns 0 and appends what came of it, or returns an error. */
struct deed {
    int (*run)(const struct deed *deed, struct dw_buffer *result);
    const char *name, *file;
    const struct dw_profile *profile;
    uint32_t view, salt;
};

/* Not a part of what is probed: memory is enough meanwhile. */
static void append_saved(const struct dw_profile *profile, struct dw_buffer *result)
{
    struct dw_log_writer writer;
    failing_stop();
    assert_int_equal(dw_log_writer_init(&writer, -1), 0);
    assert_int_equal(dw_log_save(profile, &writer), 0);
    dw_buffer_append(result, writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
}

static int read_file(const struct deed *deed, struct dw_buffer *result)
{
    struct dw_profile *profile;
    int error = dw_profile_new(&profile);
    if (error)
        return error;
    error = dw_log_read_file(deed->file, DW_READ_EVENTS, profile);
    if (!error)
        error = view_prepare(profile);
    append_saved(profile, result);
    dw_profile_free(profile);
    return error;
}

static int save(const struct deed *deed, struct dw_buffer *result)
{
    struct dw_log_writer writer;
    int error = dw_log_writer_init(&writer, -1);
    if (!error)
        error = dw_log_save(deed->profile, &writer);
    failing_stop();
    dw_buffer_append(result, writer.memory.data, writer.memory.size);
    dw_log_writer_release(&writer);
    return error;
}

static int show(const struct deed *deed, struct dw_buffer *result)
{
    struct dw_out out;
    dw_out_init_memory(&out);
    int error = view_write(deed->profile, deed->view, deed->salt, &out);
    failing_stop();
    if (!out.error)
        dw_buffer_append(result, out.buffer.data, out.buffer.size);
    int closed = dw_out_close(&out);
    return error ? error : closed;
}

static uint32_t digest(struct dw_buffer *result)
{
    uint32_t found = dw_crc32c(0, result->data, result->size);
    dw_buffer_release(result);
    return found;
}

static bool is_right(const struct deed *deed, uint64_t nth, int expected_error, uint32_t expected)
{
    struct dw_buffer result = {0};
    int64_t live = failing_live();
    failing_start(nth, false);
    int error = deed->run(deed, &result);
    failing_stop();
    bool is_complete = digest(&result) == expected;
    if (failing_live() == live &&
        (error == DW_ERR_MEMORY || (error == expected_error && is_complete)))
        return true;
    print_error("%s %u of %s, allocation %u: %s, %s, %d not freed\n", deed->name, deed->view,
                deed->file, (unsigned)nth, error ? dw_error_text(error) : "no error",
                is_complete ? "complete" : "incomplete", (int)(failing_live() - live));
    return false;
}

/* Returns how many of the probes went wrong. */
static int probe(const struct deed *deed)
{
    struct dw_buffer result = {0};
    failing_start(0, false);
    int error = deed->run(deed, &result), wrong = 0;
    uint64_t count = failing_stop();
    uint32_t expected = digest(&result);
    for (uint64_t nth = 1; nth <= count; nth++)
        wrong += !is_right(deed, nth, error, expected);
    return wrong;
}

static int probe_views(const char *file, const struct dw_profile *profile)
{
    int wrong = 0;
    for (uint32_t i = 0; i < view_count(); i++)
        wrong += probe(&(struct deed){
            .run = show, .name = "view", .file = file, .profile = profile, .view = i, .salt = i});
    return wrong;
}

static struct dw_profile *load(const char *file)
{
    struct dw_profile *profile;
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_log_read_file(file, DW_READ_EVENTS, profile), 0);
    assert_int_equal(view_prepare(profile), 0);
    return profile;
}

static void recordings(void **state)
{
    glob_t files;
    (void)state;
    int wrong = 0;
    assert_int_equal(glob(KEPT "*.dwell", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *file = files.gl_pathv[i];
        struct dw_profile *profile = load(file);
        wrong += probe(&(struct deed){.run = read_file, .name = "reading", .file = file});
        wrong +=
            probe(&(struct deed){.run = save, .name = "saving", .file = file, .profile = profile});
        wrong += probe_views(file, profile);
        dw_profile_free(profile);
    }
    globfree(&files);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recordings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
