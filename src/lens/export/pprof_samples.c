/* SPDX-License-Identifier: MIT
 * Samples for pprof: a location is a place with what was inlined there, a mapping is a module
 * with its build id. All names are ours, so mappings say that they have them: pprof then looks
 * nothing up in files that may no longer be those that ran. */
#include "base/error.h"
#include "lens/export/pprof_writer.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

#define INLINED_MAX 64

struct writing {
    struct dw_pprof *pprof;
    const struct dw_profile *profile;
    struct dw_speller speller;
    bool *used;       /* places; the one that is none stands for frames cut out */
    bool *functions;  /* frames that were written */
    uint32_t *number; /* of each module: which mapping it is, from 1 on */
    bool are_counts;
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

static int put_mappings(struct writing *writing)
{
    const struct dw_profile *profile = writing->profile;
    uint32_t count = profile->module_count, program = find_program(profile), next = 1;
    struct holdings *holdings = calloc(count + 1u, sizeof *holdings);
    writing->number = calloc(count + 1u, sizeof *writing->number);
    if (!holdings || !writing->number) {
        free(holdings);
        return DW_ERR_MEMORY;
    }
    find_holdings(profile, holdings);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t module = i == 0 ? program : i <= program ? i - 1 : i;
        writing->number[module] = next++;
        put_mapping(writing, module, &holdings[module]);
    }
    free(holdings);
    return 0;
}

static void put_stack(struct writing *writing, dw_path_id stack)
{
    const struct dw_path *stacks = writing->profile->paths.paths;
    struct dw_buffer *part = &writing->pprof->part;
    struct dw_spelling spelling;
    dw_speller_spell(&writing->speller, stack, DW_SPELL_MAX, &spelling);
    dw_buffer_clear(part);
    for (uint32_t i = spelling.count; i-- > 0;) {
        dw_place_id place = stacks[spelling.paths[i]].step;
        writing->used[place] = true;
        dw_buffer_put(part, place + UINT64_C(1));
        if (spelling.cut && i == spelling.cut_at) {
            writing->used[0] = true;
            dw_buffer_put(part, 1);
        }
    }
    dw_protobuf_put_bytes(&writing->pprof->message, DW_PPROF_SAMPLE_LOCATIONS, part->data,
                          part->size);
}

static void put_thread(struct writing *writing, uint32_t index)
{
    struct dw_sample sample;
    dw_pprof_label_thread(writing->pprof, index);
    for (uint32_t at = 0; dw_profile_sample(writing->profile, index, &at, &sample) &&
                          !writing->pprof->gzip.out->error;) {
        uint64_t values[] = {sample.count, sample.weight};
        put_stack(writing, sample.path);
        dw_pprof_label_state(writing->pprof, sample.state);
        dw_pprof_put_sample(writing->pprof, values, writing->are_counts ? 1 : 2);
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

/* The innermost of the inlined functions has a place that leads to those around it. */
static void put_location(struct writing *writing, dw_place_id id)
{
    const struct dw_profile *profile = writing->profile;
    const struct dw_place *place = &profile->places.places[id];
    struct dw_buffer *message = &writing->pprof->message;
    dw_place_id at = id;
    for (uint32_t i = 0; at && i < INLINED_MAX; i++, at = profile->places.places[at].outer)
        put_function(writing, &profile->places.places[at]);
    dw_protobuf_put_number(message, DW_PPROF_LOCATION_ID, id + UINT64_C(1));
    if (place->module) {
        dw_protobuf_put_number(message, DW_PPROF_LOCATION_MAPPING,
                               writing->number[place->module - 1]);
        dw_protobuf_put_number(message, DW_PPROF_LOCATION_ADDRESS,
                               place->address + profile->modules[place->module - 1].bias);
    }
    at = id;
    for (uint32_t i = 0; at && i < INLINED_MAX; i++, at = profile->places.places[at].outer)
        dw_pprof_add_line(writing->pprof, profile->places.places[at].frame + UINT64_C(1),
                          profile->places.places[at].line, profile->places.places[at].column);
    dw_pprof_put_message(writing->pprof, DW_PPROF_LOCATION);
}

static void put_cut(struct writing *writing)
{
    uint64_t function = writing->profile->frames.count + UINT64_C(1);
    dw_pprof_put_function(writing->pprof, function, dw_pprof_literal(writing->pprof, "[…]"), 0, 0);
    dw_protobuf_put_number(&writing->pprof->message, DW_PPROF_LOCATION_ID, 1);
    dw_pprof_add_line(writing->pprof, function, 0, 0);
    dw_pprof_put_message(writing->pprof, DW_PPROF_LOCATION);
}

static void put_places(struct writing *writing)
{
    if (writing->used[0])
        put_cut(writing);
    for (dw_place_id i = 1; i < writing->profile->places.count; i++)
        if (writing->used[i])
            put_location(writing, i);
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

static void put_types(struct writing *writing)
{
    struct dw_pprof *pprof = writing->pprof;
    const char *type = type_of(writing->profile);
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, "samples", "count");
    if (writing->are_counts) {
        dw_pprof_put_type(pprof, DW_PPROF_PERIOD_TYPE, "samples", "count");
        dw_pprof_put_facts(pprof, "samples", 1);
        return;
    }
    dw_pprof_put_type(pprof, DW_PPROF_SAMPLE_TYPE, type, "nanoseconds");
    dw_pprof_put_type(pprof, DW_PPROF_PERIOD_TYPE, type, "nanoseconds");
    dw_pprof_put_facts(pprof, type, period_of(writing->profile));
}

static int writing_init(struct writing *writing)
{
    const struct dw_profile *profile = writing->profile;
    writing->used = calloc(profile->places.count + 1u, sizeof *writing->used);
    writing->functions = calloc(profile->frames.count, sizeof *writing->functions);
    if (!writing->used || !writing->functions)
        return DW_ERR_MEMORY;
    return dw_speller_init(&writing->speller, profile->paths.paths, profile->paths.count);
}

int dw_pprof_put_samples(struct dw_pprof *pprof)
{
    const struct dw_profile *profile = pprof->profile;
    pprof->are_samples = true;
    struct writing writing = {
        .pprof = pprof, .profile = profile, .are_counts = dw_samples_are_counts(profile)};
    int error = writing_init(&writing);
    if (!error) {
        put_types(&writing);
        error = put_mappings(&writing);
    }
    for (uint32_t i = 0; !error && i < profile->thread_count; i++)
        put_thread(&writing, i);
    if (!error)
        put_places(&writing);
    free(writing.used);
    free(writing.functions);
    free(writing.number);
    dw_speller_release(&writing.speller);
    return error;
}
