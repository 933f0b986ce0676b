/* SPDX-License-Identifier: MIT
 * What `pprof` and the servers for profiles read. A sample is a path of a thread with what was
 * spent on it itself, so that sums over samples come out right. A location is a place with what was
 * inlined there, a mapping is a module with its build id. All names are ours, so mappings say that
 * they have them: pprof then looks nothing up in files that may no longer be those that ran. */
#include "base/room.h"
#include "lens/export/pprof_writer.h"
#include "lens/lens.h"
#include "lens/view/own_times.h"
#include "lens/view/roster.h"
#include "lens/view/stack_tree.h"

#define INLINED_MAX 64
#define PROGRAM_MAPPING 1 /* when there are no modules */

struct writing {
    struct dw_pprof *pprof;
    const struct dw_profile *profile;
    struct dw_speller speller;
    struct dw_own_times own;
    bool *used;       /* places, that of the root first; one more stands for frames cut out */
    bool *functions;  /* frames that were written */
    uint32_t *number; /* of each module: which mapping it is, from 1 on */
    bool are_counts;
    bool are_bytes; /* allocations, in the four types that pprof knows */
    struct dw_room room;
};

static bool is_lower(const struct dw_module *a, const struct dw_module *b)
{
    return a->process != b->process ? a->process < b->process : a->start < b->start;
}

/* pprof takes the first mapping for that of the program, which lies below its libraries. */
static uint32_t find_program(const struct dw_profile *profile)
{
    uint32_t program = 0;
    for (uint32_t i = 1; i < profile->module_count; i++)
        if (is_lower(&profile->modules[i], &profile->modules[program]))
            program = i;
    return program;
}

struct holdings {
    bool lines, inlines;
};

static void find_holdings(const struct dw_profile *profile, struct holdings *holdings)
{
    for (dw_place_id i = 1; i < profile->places.count; i++) {
        const struct dw_place *place = &profile->places.places[i];
        if (!place->module)
            continue;
        holdings[place->module - 1].lines |= place->line != 0;
        holdings[place->module - 1].inlines |= place->outer != 0;
    }
}

static uint64_t build_id(struct dw_pprof *pprof, const struct dw_module *module)
{
    for (uint32_t i = 0; i < module->build_id_size && i < DW_BUILD_ID_MAX; i++)
        dw_out_printf(&pprof->text, "%02x", module->build_id[i]);
    return dw_pprof_text(pprof);
}

static void put_mapping(struct writing *writing, uint32_t index, const struct holdings *holdings)
{
    struct dw_pprof *pprof = writing->pprof;
    const struct dw_module *module = &writing->profile->modules[index];
    struct dw_buffer *message = &pprof->message;
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_ID, writing->number[index]);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_START, module->start);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_LIMIT, module->end);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_OFFSET, module->file_offset);
    dw_protobuf_put_number(
        message, DW_PPROF_MAPPING_FILE,
        dw_pprof_string(pprof, dw_profile_string(writing->profile, module->path)));
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_BUILD_ID, build_id(pprof, module));
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_FUNCTIONS, true);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_FILES, holdings->lines);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_LINES, holdings->lines);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_INLINES, holdings->inlines);
    dw_pprof_put_message(pprof, DW_PPROF_MAPPING);
}

/* Says that there is nothing to be looked up in the program's file. */
static void put_program(struct writing *writing)
{
    struct dw_buffer *message = &writing->pprof->message;
    if (writing->profile->process_count)
        dw_roster_put_process(&writing->pprof->text, writing->profile, 0);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_ID, PROGRAM_MAPPING);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_FILE, dw_pprof_text(writing->pprof));
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_FUNCTIONS, true);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_FILES, true);
    dw_protobuf_put_number(message, DW_PPROF_MAPPING_HAS_LINES, true);
    dw_pprof_put_message(writing->pprof, DW_PPROF_MAPPING);
}

static int put_mappings(struct writing *writing)
{
    const struct dw_profile *profile = writing->profile;
    uint32_t count = profile->module_count, program = find_program(profile), next = 1;
    struct holdings *holdings = dw_room_get(&writing->room, count, sizeof *holdings);
    DW_ROOM_GET(&writing->room, writing->number, count);
    if (writing->room.failed)
        return DW_ERR_MEMORY;
    if (!count)
        put_program(writing);
    find_holdings(profile, holdings);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t module = i == 0 ? program : i <= program ? i - 1 : i;
        writing->number[module] = next++;
        put_mapping(writing, module, &holdings[module]);
    }
    return 0;
}

static void put_location_id(struct writing *writing, dw_place_id place)
{
    writing->used[place] = true;
    dw_buffer_put(&writing->pprof->part, place + UINT64_C(1));
}

/* A path has a step for what something was inlined into, which the location of that tells too.
 * Calls and regions are under a root, which has time of its own. */
static void put_stack(struct writing *writing, dw_path_id path)
{
    const struct dw_profile *profile = writing->profile;
    struct dw_buffer *part = &writing->pprof->part;
    struct dw_spelling spelling;
    dw_place_id told = 0;
    dw_speller_spell(&writing->speller, path, DW_SPELL_MAX, &spelling);
    dw_buffer_clear(part);
    for (uint32_t i = spelling.count; i-- > 0;) {
        dw_place_id place = profile->paths.paths[spelling.paths[i]].step;
        if (place != told)
            put_location_id(writing, place);
        told = profile->places.places[place].outer;
        if (spelling.cut && i == spelling.cut_at)
            put_location_id(writing, profile->places.count);
    }
    if (!writing->pprof->are_samples)
        put_location_id(writing, 0);
    dw_protobuf_put_bytes(&writing->pprof->message, DW_PPROF_SAMPLE_LOCATIONS, part->data,
                          part->size);
}

static void put_memory(struct writing *writing)
{
    struct dw_pprof *pprof = writing->pprof;
    const struct dw_value_table *table = &writing->profile->threads[writing->own.thread].values;
    for (uint32_t i = 0; i < table->count && !pprof->gzip.out->error; i++) {
        const struct dw_value_row *row = &table->rows[i];
        uint64_t values[] = {
            dw_value_get(table, row, DW_ALLOCATIONS), dw_value_get(table, row, DW_ALLOC_BYTES),
            dw_value_get(table, row, DW_LIVE), dw_value_get(table, row, DW_LIVE_BYTES)};
        if (!values[0])
            continue;
        put_stack(writing, row->path);
        dw_pprof_label_row(pprof, row->labels);
        dw_pprof_put_sample(pprof, values, 4);
    }
}

static void put_thread(struct writing *writing)
{
    struct dw_pprof *pprof = writing->pprof;
    const struct dw_own_times *own = &writing->own;
    dw_pprof_label_thread(pprof, own->thread);
    if (writing->are_bytes) {
        put_memory(writing);
        return;
    }
    for (uint32_t i = 0; i < own->count && !pprof->gzip.out->error; i++) {
        uint64_t values[] = {own->items[i].count, own->items[i].self};
        if (!values[0] && !values[1])
            continue;
        put_stack(writing, own->items[i].path);
        dw_pprof_label_row(pprof, own->items[i].labels);
        dw_pprof_put_sample(pprof, values, writing->are_counts ? 1 : 2);
    }
}

static void put_function(struct writing *writing, const struct dw_place *place)
{
    const struct dw_profile *profile = writing->profile;
    struct dw_pprof *pprof = writing->pprof;
    const struct dw_frame *frame = dw_place_frame(profile, place);
    if (writing->functions[place->frame])
        return;
    writing->functions[place->frame] = true;
    uint64_t name = dw_pprof_string(pprof, dw_profile_string(profile, frame->name));
    uint64_t file = dw_pprof_string(pprof, dw_place_source(profile, place));
    dw_pprof_put_function(pprof, place->frame + UINT64_C(1), name, file, frame->line);
}

static void put_mapping_of(struct writing *writing, const struct dw_place *place)
{
    const struct dw_profile *profile = writing->profile;
    struct dw_buffer *message = &writing->pprof->message;
    if (!profile->module_count)
        dw_protobuf_put_number(message, DW_PPROF_LOCATION_MAPPING, PROGRAM_MAPPING);
    if (!place->module)
        return;
    dw_protobuf_put_number(message, DW_PPROF_LOCATION_MAPPING, writing->number[place->module - 1]);
    dw_protobuf_put_number(message, DW_PPROF_LOCATION_ADDRESS,
                           place->address + profile->modules[place->module - 1].bias);
}

/* The innermost of the inlined functions has a place that leads to those around it. */
static void put_location(struct writing *writing, dw_place_id id)
{
    const struct dw_profile *profile = writing->profile;
    const struct dw_place *places = profile->places.places, *place = &places[id];
    for (uint32_t i = 0; i < INLINED_MAX; i++, place = &places[place->outer]) {
        put_function(writing, place);
        if (!place->outer)
            break;
    }
    dw_protobuf_put_number(&writing->pprof->message, DW_PPROF_LOCATION_ID, id + UINT64_C(1));
    put_mapping_of(writing, &places[id]);
    place = &places[id];
    for (uint32_t i = 0; i < INLINED_MAX; i++, place = &places[place->outer]) {
        dw_pprof_add_line(writing->pprof, place->frame + UINT64_C(1), dw_place_line(profile, place),
                          place->column);
        if (!place->outer)
            break;
    }
    dw_pprof_put_message(writing->pprof, DW_PPROF_LOCATION);
}

static void put_cut(struct writing *writing)
{
    uint64_t function = writing->profile->frames.count + UINT64_C(1);
    dw_pprof_put_function(writing->pprof, function, dw_pprof_literal(writing->pprof, "[…]"), 0, 0);
    dw_protobuf_put_number(&writing->pprof->message, DW_PPROF_LOCATION_ID,
                           writing->profile->places.count + UINT64_C(1));
    put_mapping_of(writing, &writing->profile->places.places[0]);
    dw_pprof_add_line(writing->pprof, function, 0, 0);
    dw_pprof_put_message(writing->pprof, DW_PPROF_LOCATION);
}

static void put_places(struct writing *writing)
{
    uint32_t count = writing->profile->places.count;
    for (dw_place_id i = 0; i < count; i++)
        if (writing->used[i])
            put_location(writing, i);
    if (writing->used[count])
        put_cut(writing);
}

static const char *type_of(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (profile->processes[i].is_sampled)
            return profile->processes[i].sampling.mode == DW_SAMPLE_WALL ? "wall" : "cpu";
    return "cpu";
}

static uint64_t period_of(const struct dw_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++)
        if (profile->processes[i].is_sampled && profile->processes[i].sampling.period_ns)
            return profile->processes[i].sampling.period_ns;
    return 1;
}

/* The default is what is in use at the end. */
static void put_memory_types(struct dw_pprof *pprof)
{
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "alloc_objects", "count");
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "alloc_space", "bytes");
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "inuse_objects", "count");
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "inuse_space", "bytes");
    dw_pprof_put_type(pprof, DW_PPROF_PERIOD_TYPE, "space", "bytes");
    dw_pprof_put_facts(pprof, "inuse_space", 1);
}

static void put_types(struct writing *writing)
{
    struct dw_pprof *pprof = writing->pprof;
    const char *type = pprof->are_samples ? type_of(writing->profile) : "time";
    uint64_t period = pprof->are_samples ? period_of(writing->profile) : 1;
    if (writing->are_bytes) {
        put_memory_types(pprof);
        return;
    }
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, pprof->are_samples ? "samples" : "calls",
                      "count");
    if (writing->are_counts) {
        dw_pprof_put_type(pprof, DW_PPROF_PERIOD_TYPE, "samples", "count");
        dw_pprof_put_facts(pprof, "samples", 1);
        return;
    }
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, type, "nanoseconds");
    dw_pprof_put_type(pprof, DW_PPROF_PERIOD_TYPE, type, "nanoseconds");
    dw_pprof_put_facts(pprof, type, period);
}

static int writing_init(struct writing *writing, enum dw_family family)
{
    const struct dw_profile *profile = writing->profile;
    DW_ROOM_GET(&writing->room, writing->used, profile->places.count + 1u);
    DW_ROOM_GET(&writing->room, writing->functions, profile->frames.count);
    if (writing->room.failed)
        return DW_ERR_MEMORY;
    int error = dw_own_times_init(&writing->own, profile, family);
    if (!error)
        error = dw_speller_init(&writing->speller, profile->paths.paths, profile->paths.count);
    return error;
}

static int put_all(struct dw_pprof *pprof, enum dw_family family)
{
    const struct dw_profile *profile = pprof->profile;
    struct writing writing = {.pprof = pprof,
                              .profile = profile,
                              .are_counts = dw_family_is_counted(profile, family),
                              .are_bytes = dw_profile_shown_unit(profile) == DW_UNIT_BYTES};
    int error = writing_init(&writing, family);
    if (!error) {
        put_types(&writing);
        error = put_mappings(&writing);
    }
    while (!error && dw_own_times_next(&writing.own))
        put_thread(&writing);
    error = error ? error : writing.own.error;
    if (!error)
        put_places(&writing);
    dw_room_release(&writing.room);
    dw_own_times_release(&writing.own);
    dw_speller_release(&writing.speller);
    return error;
}

static int write_pprof(const struct dw_profile *profile, const struct dw_lens_options *options,
                       struct dw_out *out)
{
    struct dw_pprof pprof;
    enum dw_family family = dw_family_choose(profile, options->family);
    int error = dw_pprof_init(&pprof, profile, family == DW_FAMILY_SAMPLES, out);
    if (error)
        return error;
    error = put_all(&pprof, family);
    int late = dw_pprof_close(&pprof);
    return error ? error : late;
}

const struct dw_lens dw_lens_pprof = {
    .name = "pprof",
    .summary = "samples with lines, or self times of paths, for pprof, Pyroscope, Parca",
    .extension = ".pb.gz",
    .binary = true,
    .shows_places = true,
    .write = write_pprof,
};
