/* SPDX-License-Identifier: MIT
 * Folded stacks, "<main>;a;b 123", as flamegraph.pl and its kin take them: one
 * line for each path with its self time in microseconds, or its number of samples where
 * nothing says how long these were. */
#include "base/intern.h"
#include "base/order.h"
#include "lens/lens.h"
#include "lens/view/functions.h"
#include "lens/view/own_times.h"
#include "lens/view/place_spots.h"
#include "lens/view/roster.h"
#include "lens/view/stack_tree.h"

#include <inttypes.h>

struct stack {
    dw_string_id front; /* what its line begins with */
    dw_path_id path;    /* of spots */
    uint64_t self;
};

struct folding {
    const struct dw_profile *profile;
    const struct dw_lens_options *options;
    enum dw_family family;
    bool with_lines, has_hosts;
    struct dw_place_spots spots; /* functions, or lines of them */
    struct dw_path_tree paths;   /* of spots */
    dw_path_id *path_of;         /* of each path of places */
    struct dw_string_table fronts;
    struct stack *stacks;
    uint32_t count, capacity;
    struct dw_map index;       /* until they are in order */
    struct dw_out name, front; /* being built */
};

/* `;` separates frames, so a name must not hold one. */
static void put_name(struct dw_out *out, struct dw_string name)
{
    const char *at = name.bytes, *end = at + name.size, *mark;
    while (at < end && (mark = memchr(at, ';', (size_t)(end - at)))) {
        dw_out_printable(out, at, (size_t)(mark - at));
        dw_out_char(out, ':');
        at = mark + 1;
    }
    dw_out_printable(out, at, (size_t)(end - at));
}

static int map_paths(struct folding *folding, const struct dw_stack_tree *tree)
{
    enum dw_key_part by = folding->with_lines ? DW_KEY_LINE : DW_KEY_FUNCTION;
    int error = dw_place_spots_make(tree, by, &folding->spots);
    if (!error)
        error = dw_path_tree_init(&folding->paths);
    folding->path_of = calloc(tree->count, sizeof *folding->path_of);
    if (!error && !folding->path_of)
        error = DW_ERR_MEMORY;
    for (dw_path_id path = 1; !error && path < tree->count; path++)
        if (tree->total[path].count || tree->total[path].weight)
            error =
                dw_path_intern(&folding->paths, folding->path_of[tree->paths[path].parent],
                               folding->spots.of[tree->paths[path].step], &folding->path_of[path]);
    return error;
}

/* Its own, else that of the process. */
static struct dw_string label_value(const struct dw_profile *profile, uint32_t thread,
                                    dw_labels_id labels, const char *key)
{
    const struct dw_label_set *set = &profile->labels.sets[labels];
    for (uint32_t i = 0; i < set->count; i++) {
        const struct dw_label *label = &profile->labels.pairs[set->first + i];
        if (!strcmp(dw_profile_string(profile, label->key).bytes, key))
            return dw_profile_string(profile, label->value);
    }
    return dw_profile_property(profile, profile->threads[thread].process, key);
}

static void put_label(struct folding *folding, uint32_t thread, dw_labels_id labels,
                      const char *key)
{
    struct dw_string value = label_value(folding->profile, thread, labels, key);
    if (!value.size)
        return;
    put_name(&folding->front, (struct dw_string){key, strlen(key)});
    dw_out_char(&folding->front, '=');
    put_name(&folding->front, value);
    dw_out_char(&folding->front, ';');
}

static void put_root(struct folding *folding, uint32_t thread)
{
    const struct dw_profile *profile = folding->profile;
    struct dw_out *name = &folding->name;
    struct dw_string root = dw_profile_path_name(profile, DW_PATH_ROOT);
    uint32_t process = profile->threads[thread].process;
    dw_buffer_clear(&name->buffer);
    switch (folding->options->by) {
    case DW_BY_THREAD: dw_roster_put_thread_of(name, profile, thread, folding->has_hosts); break;
    case DW_BY_PROCESS: dw_roster_put_program(name, profile, process, folding->has_hosts); break;
    default: dw_out_write(name, root.bytes, root.size);
    }
    put_name(&folding->front,
             (struct dw_string){(const char *)name->buffer.data, name->buffer.size});
}

/* The labels that were asked for, as far as there are any, then the root. */
static int find_front(struct folding *folding, uint32_t thread, dw_labels_id labels,
                      dw_string_id *front)
{
    struct dw_buffer *text = &folding->front.buffer;
    dw_buffer_clear(text);
    for (size_t i = 0; i < folding->options->label_count; i++)
        put_label(folding, thread, labels, folding->options->labels[i]);
    put_root(folding, thread);
    return text->failed ? DW_ERR_MEMORY
                        : dw_string_intern(&folding->fronts, text->data, text->size, front);
}

/* Threads run side by side, so what a process spent in no call or region at all is what the thread
 * that began the recording did. */
static bool counts_root(const struct folding *folding, const struct dw_own_times *own)
{
    return folding->family == DW_FAMILY_SAMPLES || folding->options->by == DW_BY_THREAD ||
           own->is_first;
}

static int add_thread(struct folding *folding, const struct dw_own_times *own)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < own->count; i++) {
        const struct dw_own_time *item = &own->items[i];
        struct stack stack = {.path = folding->path_of[item->path]};
        uint32_t index;
        if (!item->self || (item->path == DW_PATH_ROOT && !counts_root(folding, own)))
            continue;
        error = find_front(folding, own->thread, item->labels, &stack.front);
        if (!error)
            error = DW_INTERN(folding->stacks, folding->count, folding->capacity, folding->index,
                              offsetof(struct stack, self), &stack, &index);
        if (!error)
            folding->stacks[index].self += item->self;
    }
    return error;
}

static int add_threads(struct folding *folding)
{
    struct dw_own_times own;
    int error = dw_own_times_init(&own, folding->profile, folding->family);
    while (!error && dw_own_times_next(&own))
        error = add_thread(folding, &own);
    error = error ? error : own.error;
    dw_own_times_release(&own);
    return error;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct stack *a = left, *b = right;
    return dw_ascending(a->front, b->front) ?: dw_ascending(a->path, b->path);
}

static void put_spot(const struct folding *folding, uint32_t spot, struct dw_out *out)
{
    const struct dw_profile *profile = folding->profile;
    const struct dw_place *place = folding->spots.first[spot];
    struct dw_string source = dw_place_source(profile, place);
    struct dw_string file =
        dw_file_without_dirs(source.size ? source : dw_place_module(profile, place));
    put_name(out, dw_profile_string(profile, dw_place_frame(profile, place)->name));
    if (!folding->with_lines || !file.size)
        return;
    dw_out_text(out, " (");
    put_name(out, file);
    if (source.size && place->line)
        dw_out_printf(out, ":%" PRIu32, place->line);
    dw_out_char(out, ')');
}

static void put_stack(const struct folding *folding, const struct dw_speller *speller,
                      const struct stack *stack, struct dw_out *out)
{
    const struct dw_string *front = &folding->fronts.strings[stack->front];
    struct dw_spelling spelling;
    dw_speller_spell(speller, stack->path, DW_SPELL_MAX, &spelling);
    dw_out_write(out, front->bytes, front->size);
    for (uint32_t i = 0; i < spelling.count; i++) {
        uint32_t spot = folding->paths.paths[spelling.paths[i]].step;
        dw_out_char(out, ';');
        if (spelling.cut && i == spelling.cut_at) {
            dw_spelling_put_cut(out, &spelling);
            dw_out_char(out, ';');
        }
        if (spot)
            put_spot(folding, spot, out);
    }
}

/* Numbers of samples stay what they are. What a line lacks of a microsecond, or has beyond it, is
 * left to the next one in *rest_ns, so that the lines add up to the whole. */
static uint64_t weight_of(bool is_count, uint64_t ns, int64_t *rest_ns)
{
    if (is_count)
        return ns;
    int64_t due_ns = (int64_t)(ns % 1000) + *rest_ns;
    bool is_more = due_ns >= 500;
    *rest_ns = due_ns - (is_more ? 1000 : 0);
    return ns / 1000 + is_more;
}

static int put_stacks(const struct folding *folding, struct dw_out *out)
{
    bool are_counts = dw_family_is_counted(folding->profile, folding->family);
    int64_t rest_ns = 0;
    struct dw_speller speller;
    int error = dw_speller_init(&speller, folding->paths.paths, folding->paths.count);
    for (uint32_t i = 0; !error && i < folding->count && !out->error; i++) {
        uint64_t weight = weight_of(are_counts, folding->stacks[i].self, &rest_ns);
        if (!weight)
            continue;
        put_stack(folding, &speller, &folding->stacks[i], out);
        dw_out_char(out, ' ');
        dw_out_u64(out, weight);
        dw_out_char(out, '\n');
    }
    dw_speller_release(&speller);
    return error;
}

static int fold(struct folding *folding)
{
    struct dw_stack_tree tree;
    int error = dw_string_table_init(&folding->fronts);
    if (!error)
        error = dw_stack_tree_make(folding->profile, folding->family, &tree);
    if (error)
        return error;
    error = map_paths(folding, &tree);
    dw_stack_tree_release(&tree);
    if (!error)
        error = add_threads(folding);
    if (!error && folding->count)
        qsort(folding->stacks, folding->count, sizeof *folding->stacks, compare_stacks);
    return error;
}

static int folding_release(struct folding *folding)
{
    dw_place_spots_release(&folding->spots);
    dw_path_tree_release(&folding->paths);
    dw_string_table_release(&folding->fronts);
    free(folding->path_of);
    free(folding->stacks);
    dw_map_release(&folding->index);
    int error = dw_out_close(&folding->name);
    return dw_out_close(&folding->front) ? DW_ERR_MEMORY : error;
}

static int write_collapsed(const struct dw_profile *profile, const struct dw_lens_options *options,
                           struct dw_out *out)
{
    struct folding folding = {.profile = profile,
                              .options = options,
                              .family = dw_family_choose(profile, options->family),
                              .has_hosts = dw_roster_has_hosts(profile)};
    folding.with_lines = options->with_lines && folding.family == DW_FAMILY_SAMPLES;
    dw_out_init_memory(&folding.name);
    dw_out_init_memory(&folding.front);
    int error = fold(&folding);
    if (!error)
        error = put_stacks(&folding, out);
    int late = folding_release(&folding);
    return error ? error : late;
}

const struct dw_lens dw_lens_collapsed = {
    .name = "collapsed",
    .summary = "folded stacks with self times, for flamegraph.pl and its kin",
    .extension = ".folded",
    .lacks_notes = true,
    .write = write_collapsed,
};
