/* SPDX-License-Identifier: MIT
 * A frame is a line of a function: speedscope takes frames of different numbers for different
 * ones, so addresses and columns of a line must not be told apart. */
#include "lens/export/speedscope_stacks.h"

#include "base/error.h"
#include "lens/view/place_spots.h"
#include "lens/view/roster.h"
#include "lens/view/stack_tree.h"

#include <stdlib.h>

struct scope {
    const struct dw_profile *profile;
    struct dw_out *out;
    struct dw_stack_tree tree;
    struct dw_speller speller;
    struct dw_place_spots spots; /* frames have their numbers; 0 stands for what is cut out */
    bool first_profile;
};

static void put_frame(struct scope *scope, const struct dw_place *place)
{
    const struct dw_frame *frame = dw_place_frame(scope->profile, place);
    struct dw_string name = dw_profile_string(scope->profile, frame->name);
    struct dw_string source = dw_place_source(scope->profile, place);
    struct dw_string file = source.size ? source : dw_place_module(scope->profile, place);
    dw_out_text(scope->out, ",\n{\"name\":");
    dw_out_json_string(scope->out, name.bytes, name.size);
    if (file.size) {
        dw_out_text(scope->out, ",\"file\":");
        dw_out_json_string(scope->out, file.bytes, file.size);
    }
    if (source.size && place->line) {
        dw_out_text(scope->out, ",\"line\":");
        dw_out_u64(scope->out, place->line);
    }
    dw_out_char(scope->out, '}');
}

static void put_stack(struct scope *scope, dw_path_id path, bool first)
{
    struct dw_spelling spelling;
    dw_speller_spell(&scope->speller, path, DW_SPELL_MAX, &spelling);
    dw_out_text(scope->out, first ? "\n[" : ",\n[");
    for (uint32_t i = 0; i < spelling.count; i++) {
        dw_out_text(scope->out, i ? "," : "");
        dw_out_text(scope->out, spelling.cut && i == spelling.cut_at ? "0," : "");
        dw_out_u64(scope->out, scope->spots.of[scope->tree.paths[spelling.paths[i]].step]);
    }
    dw_out_char(scope->out, ']');
}

static void put_weight(struct scope *scope, uint64_t weight, bool first, uint64_t *sum)
{
    dw_out_text(scope->out, first ? "" : ",");
    dw_out_u64(scope->out, weight);
    *sum += weight;
}

static void put_timed(struct scope *scope, const struct dw_thread *thread, uint64_t *sum)
{
    for (uint32_t i = 0; i < thread->timed_count && !scope->out->error; i++)
        put_stack(scope, thread->timed[i].path, !i);
    dw_out_text(scope->out, "],\n\"weights\":[");
    for (uint32_t i = 0; i < thread->timed_count; i++)
        put_weight(scope, thread->timed[i].weight_ns, !i, sum);
}

static void put_sums(struct scope *scope, uint32_t thread, uint64_t *sum)
{
    struct dw_sample sample;
    bool is_first = true;
    for (uint32_t at = 0;
         dw_profile_sample(scope->profile, thread, &at, &sample) && !scope->out->error;
         is_first = false)
        put_stack(scope, sample.path, is_first);
    dw_out_text(scope->out, "],\n\"weights\":[");
    is_first = true;
    for (uint32_t at = 0; dw_profile_sample(scope->profile, thread, &at, &sample); is_first = false)
        put_weight(scope, sample.weight, is_first, sum);
}

static void put_thread(struct scope *scope, uint32_t index)
{
    const struct dw_profile *profile = scope->profile;
    const struct dw_thread *thread = &profile->threads[index];
    uint64_t sum = 0;
    struct dw_out name;
    dw_out_init_memory(&name);
    dw_roster_put_thread(&name, profile, index);
    if (profile->process_count > 1) {
        dw_out_text(&name, " of ");
        dw_roster_put_process(&name, profile, thread->process);
    }
    dw_out_text(scope->out, scope->first_profile ? "\n" : ",\n");
    scope->first_profile = false;
    dw_out_printf(scope->out, "{\"type\":\"sampled\",\"unit\":\"%s\",\"name\":",
                  dw_samples_are_counts(profile) ? "none" : "nanoseconds");
    dw_out_json_string(scope->out, name.buffer.data, name.buffer.size);
    dw_out_close_into(&name, scope->out);
    dw_out_text(scope->out, ",\"samples\":[");
    if (thread->timed_count)
        put_timed(scope, thread, &sum);
    else
        put_sums(scope, index, &sum);
    dw_out_text(scope->out, "],\"startValue\":0,\"endValue\":");
    dw_out_u64(scope->out, sum);
    dw_out_char(scope->out, '}');
}

static int put_threads(struct scope *scope)
{
    uint32_t *order;
    int error = dw_roster_threads(scope->profile, &order);
    if (error)
        return error;
    scope->first_profile = true;
    for (uint32_t i = 0; i < scope->profile->thread_count && !scope->out->error; i++)
        if (dw_thread_is_sampled(&scope->profile->threads[order[i]]))
            put_thread(scope, order[i]);
    free(order);
    return 0;
}

int dw_speedscope_put_stacks(struct dw_out *out, const struct dw_profile *profile)
{
    struct scope scope = {.profile = profile, .out = out};
    int error = dw_stack_tree_make(profile, &scope.tree);
    if (!error)
        error = dw_speller_init(&scope.speller, scope.tree.paths, scope.tree.count);
    if (!error)
        error = dw_place_spots_make(&scope.tree, DW_SPOT_LINE, &scope.spots);
    if (!error) {
        dw_out_text(out, "{\"name\":\"[…]\"}");
        for (uint32_t i = 1; i < scope.spots.count; i++)
            put_frame(&scope, scope.spots.first[i]);
        dw_out_text(out, "]},\"profiles\":[");
        error = put_threads(&scope);
    }
    dw_stack_tree_release(&scope.tree);
    dw_speller_release(&scope.speller);
    dw_place_spots_release(&scope.spots);
    return error;
}
