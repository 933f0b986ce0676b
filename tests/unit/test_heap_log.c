/* SPDX-License-Identifier: MIT
 * Pictures of heaps come back from a log as they were, through a merge too; of damaged ones nothing
 * is left but the loss. */
#include "check.h"
#include "fixture.h"
#include "fixture_heap.h"

#include "base/error.h"
#include "log/chunk.h"
#include "log/reader.h"
#include "log/save.h"
#include "log/writer.h"
#include "model/heap/heap_picture.h"
#include "model/heap/heap_ways.h"
#include "model/prepare/heap_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define TYPES 5

static uint32_t chance(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

#define CHECK_SAME(a, b, count)                                                                    \
    do {                                                                                           \
        if (count)                                                                                 \
            assert_int_equal(!(a), !(b));                                                          \
        if ((count) && (a))                                                                        \
            assert_memory_equal(a, b, (count) * sizeof *(a));                                      \
    } while (0)

static void check_names(const struct dw_heap *a, const struct dw_heap *b)
{
    assert_int_equal(a->names.count, b->names.count);
    for (uint32_t i = 0; i < a->names.count; i++)
        assert_string_equal(a->names.strings[i].bytes, b->names.strings[i].bytes);
}

static void check_same(const struct dw_heap *a, const struct dw_heap *b)
{
    uint32_t count = a->graph.count;
    assert_int_equal(b->graph.count, count);
    assert_int_equal(a->graph.edge_count, b->graph.edge_count);
    assert_int_equal(a->graph.root_count, b->graph.root_count);
    CHECK_SAME(a->graph.first, b->graph.first, count + 1);
    CHECK_SAME(a->graph.targets, b->graph.targets, a->graph.edge_count);
    CHECK_SAME(a->graph.roots, b->graph.roots, a->graph.root_count);
    CHECK_SAME(a->graph.types, b->graph.types, count);
    CHECK_SAME(a->graph.sizes, b->graph.sizes, count);
    CHECK_SAME(a->outside, b->outside, count);
    CHECK_SAME(a->types, b->types, TYPES);
    CHECK_SAME(a->variables, b->variables, a->variable_count);
    CHECK_SAME(a->modules, b->modules, a->module_count);
    CHECK_SAME(a->step_kinds, b->step_kinds, count);
    CHECK_SAME(a->step_values, b->step_values, count);
    CHECK_SAME(a->notes, b->notes, a->note_count);
    CHECK_SAME(a->sites, b->sites, a->site_count);
    CHECK_SAME(a->node_sites, b->node_sites, count);
    assert_int_equal(b->frames[1].line, 8);
    assert_true(b->frames[1].is_own && !b->frames[0].is_own);
    check_names(a, b);
}

static void test_pictures_come_back_as_they_were(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        struct dw_heap heap;
        struct dw_log_writer writer;
        fixture_heap(&heap, round % 10 ? 5 + chance(200) : 150000, TYPES, round % 2);
        fixture_heap_log(&writer, &heap, 2);
        struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
        assert_int_equal(profile->heap_count, 2);
        assert_int_equal(profile->losses.damaged_chunks, 0);
        assert_int_equal(profile->heaps[1].time_ns, 1051);
        assert_string_equal(dw_profile_string(profile, profile->heaps[1].reason).bytes, "exit");
        check_same(&heap, &profile->heaps[0].heap);
        check_same(&heap, &profile->heaps[1].heap);
        dw_profile_free(profile);
        dw_log_writer_release(&writer);
        dw_heap_release(&heap);
    }
}

static void test_a_merge_keeps_them(void **state)
{
    (void)state;
    struct dw_heap heap;
    struct dw_log_writer writer, saved;
    fixture_heap(&heap, 100, TYPES, true);
    fixture_heap_log(&writer, &heap, 1);
    struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
    fixture_save(profile, &saved);
    struct dw_profile *again = fixture_load(saved.memory.data, saved.memory.size);
    assert_int_equal(again->heap_count, 1);
    assert_int_equal(again->heaps[0].time_ns, profile->heaps[0].time_ns);
    check_same(&heap, &again->heaps[0].heap);
    dw_profile_free(profile);
    dw_profile_free(again);
    dw_log_writer_release(&writer);
    dw_log_writer_release(&saved);
    dw_heap_release(&heap);
}

/* What every user of a picture that was read does with it. */
static void use(struct dw_heap *heap)
{
    dw_heap_node *parents = malloc(heap->graph.count * sizeof *parents);
    struct dw_heap_type_sums *sums = malloc(heap->graph.type_count * sizeof *sums);
    assert_int_equal(dw_heap_graph_dominate(&heap->graph), 0);
    assert_int_equal(dw_heap_graph_sum_types(&heap->graph, sums), 0);
    assert_int_equal(dw_heap_find_ways(heap, parents), 0);
    for (dw_heap_node i = 1; i < heap->graph.count; i++) {
        uint32_t length = 0;
        for (dw_heap_node at = i; at && parents[i] != DW_HEAP_NONE; at = parents[at])
            assert_true(length++ < heap->graph.count);
    }
    free(parents);
    free(sums);
}

/* Appends a chunk of which one byte was changed before it was packed. */
static void append_changed(struct dw_buffer *log, struct dw_chunk chunk)
{
    uint8_t *raw = malloc(chunk.raw_size + 1u), header[DW_CHUNK_HEADER_SIZE];
    size_t bound = ZSTD_compressBound(chunk.raw_size);
    uint8_t *packed = malloc(bound);
    size_t size = ZSTD_decompress(raw, chunk.raw_size, chunk.stored, chunk.stored_size);
    assert_int_equal(size, chunk.raw_size);
    raw[chance((uint32_t)size)] = (uint8_t)(chance(2) ? chance(256) : chance(4));
    chunk.stored_size = (uint32_t)ZSTD_compress(packed, bound, raw, size, 1);
    chunk.stored = packed;
    dw_chunk_put(header, &chunk);
    dw_buffer_append(log, header, sizeof header);
    dw_buffer_append(log, packed, chunk.stored_size);
    free(raw);
    free(packed);
}

/* A copy of a log with a byte changed in one of its chunks, or without that one. */
static void spoil(const struct dw_log_writer *from, struct dw_buffer *log)
{
    struct dw_chunk_walk walk = {
        .bytes = from->memory.data, .size = from->memory.size, .at = DW_LOG_HEADER_SIZE};
    struct dw_chunk chunk;
    uint32_t spoilt = 1 + chance(from->sequence - 2);
    bool is_dropped = !chance(8);
    dw_buffer_append(log, from->memory.data, DW_LOG_HEADER_SIZE);
    for (size_t at = walk.at; dw_chunk_next(&walk, &chunk); at = walk.at) {
        if (chunk.sequence != spoilt)
            dw_buffer_append(log, from->memory.data + at, walk.at - at);
        else if (!is_dropped)
            append_changed(log, chunk);
    }
}

static void test_spoilt_pictures_harm_nobody(void **state)
{
    (void)state;
    struct dw_heap heap;
    struct dw_log_writer writer;
    uint32_t kept = 0, lost = 0;
    fixture_heap(&heap, 40, TYPES, true);
    fixture_heap_log(&writer, &heap, 1);
    for (uint32_t round = 0; round < 1500; round++) {
        struct dw_buffer log = {0};
        spoil(&writer, &log);
        struct dw_profile *profile = fixture_load(log.data, log.size);
        for (uint32_t i = 0; i < profile->heap_count; i++)
            use(&profile->heaps[i].heap);
        assert_int_equal(dw_profile_show_heaps(profile, DW_HEAP_LAST), 0);
        kept += profile->heap_count;
        lost += profile->losses.damaged_chunks != 0;
        assert_true(profile->heap_count || profile->losses.damaged_chunks);
        dw_profile_free(profile);
        dw_buffer_release(&log);
    }
    assert_true(kept && lost);
    dw_log_writer_release(&writer);
    dw_heap_release(&heap);
}

/* Whether the type, or one above it on the path, has that name. */
static bool is_under(const struct dw_profile *profile, dw_path_id path, const char *name)
{
    for (; path; path = profile->paths.paths[path].parent) {
        const struct dw_frame *frame = dw_profile_path_frame(profile, path);
        if (frame->kind == DW_FRAME_TYPE &&
            !strcmp(dw_profile_string(profile, frame->name).bytes, name))
            return true;
    }
    return false;
}

static void test_bytes_under_a_type_on_paths_are_what_it_retains(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        struct dw_heap heap;
        struct dw_log_writer writer;
        struct dw_heap_type_sums sums[TYPES];
        fixture_heap(&heap, 5 + chance(300), TYPES, round % 2);
        fixture_heap_log(&writer, &heap, 1);
        struct dw_profile *profile = fixture_load(writer.memory.data, writer.memory.size);
        assert_int_equal(dw_profile_show_heaps(profile, DW_HEAP_LAST), 0);
        assert_int_equal(dw_heap_graph_sum_types(&profile->heaps[0].heap.graph, sums), 0);
        const struct dw_value_table *values = &profile->threads[0].values;
        for (uint32_t type = 1; type < TYPES; type++) {
            char name[32];
            uint64_t under = 0;
            snprintf(name, sizeof name, "module%u.Type%u", type % 2, type);
            for (uint32_t i = 0; i < values->count; i++)
                if (is_under(profile, values->rows[i].path, name))
                    under += dw_value_get(values, &values->rows[i], DW_OBJECT_BYTES);
            assert_int_equal(under, sums[type].retained);
        }
        dw_profile_free(profile);
        dw_log_writer_release(&writer);
        dw_heap_release(&heap);
    }
}

static void test_a_log_that_was_cut_has_whole_pictures_or_none(void **state)
{
    (void)state;
    struct dw_heap heap;
    struct dw_log_writer writer;
    fixture_heap(&heap, 60, TYPES, true);
    fixture_heap_log(&writer, &heap, 2);
    for (size_t size = writer.memory.size; size > 600; size -= 1 + chance(60)) {
        struct dw_profile *profile;
        assert_int_equal(dw_profile_new(&profile), 0);
        if (!dw_log_read(writer.memory.data, size, 0, profile))
            for (uint32_t i = 0; i < profile->heap_count; i++)
                check_same(&heap, &profile->heaps[i].heap);
        dw_profile_free(profile);
    }
    dw_log_writer_release(&writer);
    dw_heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_come_back_as_they_were),
        cmocka_unit_test(test_a_merge_keeps_them),
        cmocka_unit_test(test_spoilt_pictures_harm_nobody),
        cmocka_unit_test(test_bytes_under_a_type_on_paths_are_what_it_retains),
        cmocka_unit_test(test_a_log_that_was_cut_has_whole_pictures_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
