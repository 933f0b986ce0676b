/* SPDX-License-Identifier: MIT
 * Profiles in pprof's format, read again: the same tables, and no harm from any bytes. */
#include "check.h"
#include "fixture_import.h"

#include "base/error.h"
#include "base/gzip.h"
#include "base/pprof_fields.h"
#include "base/protobuf.h"
#include "lens/table/view_report.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 3000

static char *report(struct dw_profile *profile, size_t by)
{
    struct dw_view_options view =
        dw_view_of_samples(dw_key_at(by)->name, (struct dw_restrictions){NULL, 0});
    view.full_paths = true;
    struct dw_out out;
    dw_out_init_memory(&out);
    fixture_prepare(profile);
    assert_int_equal(dw_view_table.write(profile, &(struct dw_lens_options){.view = &view}, &out),
                     0);
    dw_out_char(&out, '\0');
    return (char *)out.buffer.data;
}

/* The fixture as pprof's, without gzip. */
static struct dw_buffer plain_file(void)
{
    struct dw_buffer plain = {0};
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    size_t size;
    char *file = fixture_show(profile, "pprof", NULL, &size);
    assert_int_equal(dw_gunzip(file, size, SIZE_MAX / 2, &plain), 0);
    free(file);
    dw_profile_free(profile);
    return plain;
}

static void test_tables_come_back_the_same(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    size_t size;
    char *file = fixture_show(profile, "pprof", NULL, &size);
    struct dw_profile *again = fixture_import(file, size);
    for (size_t by = DW_KEY_FUNCTION; by <= DW_KEY_MODULE; by++) {
        char *before = report(profile, by), *after = report(again, by);
        assert_string_equal(after, before);
        free(before);
        free(after);
    }
    free(file);
    dw_profile_free(profile);
    dw_profile_free(again);
}

static void test_threads_and_modules_come_back(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU);
    struct dw_buffer plain = plain_file();
    struct dw_profile *again = fixture_import(plain.data, plain.size);
    assert_int_equal(again->thread_count, profile->thread_count);
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        assert_int_equal(again->threads[i].tid, profile->threads[i].tid);
        assert_string_equal(dw_profile_string(again, again->threads[i].name).bytes,
                            dw_profile_string(profile, profile->threads[i].name).bytes);
    }
    assert_int_equal(again->module_count, profile->module_count);
    for (uint32_t i = 0; i < profile->module_count; i++) {
        const struct dw_module *module = &again->modules[i];
        bool is_found = false;
        for (uint32_t j = 0; j < profile->module_count; j++)
            is_found |=
                module->start == profile->modules[j].start &&
                module->build_id_size == profile->modules[j].build_id_size &&
                !memcmp(module->build_id, profile->modules[j].build_id, module->build_id_size);
        assert_true(is_found);
    }
    dw_buffer_release(&plain);
    dw_profile_free(profile);
    dw_profile_free(again);
}

static void put_type(struct dw_buffer *file, uint64_t name, uint64_t unit)
{
    struct dw_buffer type = {0};
    dw_protobuf_put_number(&type, DW_PPROF_TYPE_NAME, name);
    dw_protobuf_put_number(&type, DW_PPROF_TYPE_UNIT, unit);
    dw_protobuf_put_bytes(file, DW_PPROF_SAMPLE_TYPE, type.data, type.size);
    dw_buffer_release(&type);
}

static void put_strings(struct dw_buffer *file, const char *const *strings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dw_protobuf_put_bytes(file, DW_PPROF_STRING, strings[i], strlen(strings[i]));
}

static void test_a_heap_is_no_profile_of_ours(void **state)
{
    (void)state;
    static const char *const strings[] = {"", "objects", "count", "space", "bytes"};
    struct dw_buffer file = {0};
    struct dw_profile *profile;
    put_type(&file, 1, 2);
    put_type(&file, 3, 4);
    put_strings(&file, strings, COUNT_OF(strings));
    assert_int_equal(dw_profile_new(&profile), 0);
    assert_int_equal(dw_import(file.data, file.size, "x", NOW_NS, profile), DW_ERR_NO_SAMPLES);
    assert_int_equal(profile->process_count, 0);
    dw_profile_free(profile);
    dw_buffer_release(&file);
}

/* Numbers may stand alone or packed; a time in another unit becomes nanoseconds. */
static void test_what_others_write(void **state)
{
    (void)state;
    static const char *const strings[] = {"", "delay", "microseconds", "f", "x.go", "g"};
    static const uint8_t f[] = {0x08, 0x01, 0x10, 0x03, 0x20, 0x04};
    static const uint8_t g[] = {0x08, 0x02, 0x10, 0x05};
    static const uint8_t at_f[] = {0x08, 0x05, 0x22, 0x04, 0x08, 0x01, 0x10, 0x07};
    static const uint8_t at_g[] = {0x08, 0x06, 0x22, 0x02, 0x08, 0x02};
    static const uint8_t alone[] = {0x08, 0x05, 0x08, 0x06, 0x10, 0x05};
    static const uint8_t packed[] = {0x0a, 0x01, 0x06, 0x12, 0x01, 0x0f};
    static const uint8_t lost[] = {0x0a, 0x01, 0x63, 0x12, 0x01, 0x0f};
    struct dw_buffer file = {0};
    put_type(&file, 1, 2);
    dw_protobuf_put_bytes(&file, DW_PPROF_SAMPLE, alone, sizeof alone);
    dw_protobuf_put_bytes(&file, DW_PPROF_SAMPLE, packed, sizeof packed);
    dw_protobuf_put_bytes(&file, DW_PPROF_SAMPLE, lost, sizeof lost);
    dw_protobuf_put_bytes(&file, DW_PPROF_FUNCTION, f, sizeof f);
    dw_protobuf_put_bytes(&file, DW_PPROF_FUNCTION, g, sizeof g);
    dw_protobuf_put_bytes(&file, DW_PPROF_LOCATION, at_g, sizeof at_g);
    dw_protobuf_put_bytes(&file, DW_PPROF_LOCATION, at_f, sizeof at_f);
    put_strings(&file, strings, COUNT_OF(strings));
    struct dw_profile *profile = fixture_import(file.data, file.size);
    char *table = report(profile, DW_KEY_LINE);
    assert_string_equal(table, "wall time: 2 samples, as fast as it goes, 100000 Hz obtained\n"
                               "percentages are of 20.00 us, the wall time of the thread\n"
                               "total %  self %   total s    self s   samples  line\n"
                               " 100.00   75.00     0.000     0.000         2  g\n"
                               "  25.00   25.00     0.000     0.000         1  x.go:7 (f)\n"
                               "1 damaged part (6 bytes) was skipped\n");
    free(table);
    dw_profile_free(profile);
    dw_buffer_release(&file);
}

/* Copies have no spare byte behind them, so that reading too far is seen. */
static void import_and_show(const uint8_t *bytes, size_t size)
{
    struct dw_profile *profile;
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    assert_int_equal(dw_profile_new(&profile), 0);
    int error = dw_import(copy, size, "x", NOW_NS, profile);
    assert_true(!error || error == DW_ERR_NOT_DWELL || error == DW_ERR_DAMAGED ||
                error == DW_ERR_NO_SAMPLES);
    if (error)
        assert_int_equal(profile->process_count, 0);
    else
        free(report(profile, DW_KEY_LINE));
    dw_profile_free(profile);
    free(copy);
}

static void test_a_cut_file_is_damaged(void **state)
{
    (void)state;
    struct dw_profile *profile = fixture_sampled(DW_SAMPLE_CPU), *none;
    size_t size;
    char *file = fixture_show(profile, "pprof", NULL, &size);
    assert_int_equal(dw_profile_new(&none), 0);
    for (size_t kept = 3; kept < size; kept++)
        assert_int_equal(dw_import(file, kept, "x", NOW_NS, none), DW_ERR_DAMAGED);
    file[size / 2] ^= 0x10;
    assert_int_equal(dw_import(file, size, "x", NOW_NS, none), DW_ERR_DAMAGED);
    assert_int_equal(none->process_count, 0);
    free(file);
    dw_profile_free(none);
    dw_profile_free(profile);
}

static void test_bytes_of_any_kind_do_no_harm(void **state)
{
    (void)state;
    struct dw_buffer plain = plain_file();
    for (size_t kept = 0; kept < plain.size; kept++)
        import_and_show(plain.data, kept);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint8_t *changed = malloc(plain.size);
        assert_non_null(changed);
        memcpy(changed, plain.data, plain.size);
        for (uint32_t i = 0, count = 1 + fixture_random_below(4); i < count; i++)
            changed[fixture_random_below((uint32_t)plain.size)] =
                (uint8_t)fixture_random_below(256);
        import_and_show(changed, plain.size);
        free(changed);
    }
    dw_buffer_release(&plain);
}

static void test_a_stream_that_swells_is_refused(void **state)
{
    (void)state;
    static const char zeros[1 << 16];
    struct dw_out out;
    struct dw_gzip gzip;
    struct dw_buffer plain = {0};
    dw_out_init_memory(&out);
    assert_int_equal(dw_gzip_init(&gzip, &out), 0);
    for (int i = 0; i < 64; i++)
        dw_gzip_write(&gzip, zeros, sizeof zeros);
    dw_gzip_close(&gzip);
    assert_int_equal(dw_gunzip(out.buffer.data, out.buffer.size, 1 << 20, &plain),
                     DW_ERR_TOO_LARGE);
    dw_buffer_clear(&plain);
    assert_int_equal(dw_gunzip(out.buffer.data, out.buffer.size, 1 << 22, &plain), 0);
    assert_int_equal(plain.size, 1 << 22);
    dw_buffer_release(&plain);
    dw_out_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_come_back_the_same),
        cmocka_unit_test(test_threads_and_modules_come_back),
        cmocka_unit_test(test_a_heap_is_no_profile_of_ours),
        cmocka_unit_test(test_what_others_write),
        cmocka_unit_test(test_a_cut_file_is_damaged),
        cmocka_unit_test(test_bytes_of_any_kind_do_no_harm),
        cmocka_unit_test(test_a_stream_that_swells_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
