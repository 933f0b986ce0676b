/* SPDX-License-Identifier: MIT
 * Rows that agree in the keys of rows are one group. What a group spent is put on the tree of
 * paths, added up from the leaves, and each place key gets the paths that it is outermost in; so
 * nothing takes longer because stacks are deep. */
#define _GNU_SOURCE
#include "lens/view/view.h"

#include "base/intern.h"
#include "lens/view/measured.h"
#include "lens/view/roster.h"
#include "lens/view/touched.h"
#include "model/outermost.h"

#define GROUPS_MAX (1u << 20)
#define ABOVE_MAX 256 /* how far up a call is looked for that a recursion began with */

/* A row of the profile that is shown. */
struct item {
    uint32_t group;
    uint32_t thread;
    uint32_t row;
};

/* Places that are one to the key of places. */
struct spot {
    dw_key_value value;
    dw_place_id first;   /* the first of its places */
    uint32_t group, row; /* the row that it has in the group, which counts from 1 */
};

struct grouping {
    struct dw_view *view;
    const struct dw_profile *profile;
    struct dw_view groups; /* rows of the keys of rows alone; they have no numbers */
    struct item *items;
    uint32_t count, capacity;
    uint32_t *spot_of; /* by path: 1 + the number of its spot; 0: it has none */
    struct spot *spots;
    uint32_t spot_count, spot_capacity;
    struct dw_map spot_index;
    bool *outermost;
    uint32_t *group_of; /* by path: 1 + the last group that has a row of it */
    dw_path_id *python; /* by path: the innermost Python code on the way to it */
    uint64_t *spent;    /* by path, then by placed measure, and what idle threads waited */
    struct dw_touched touched;
    uint32_t placed[DW_MEASURES]; /* measures of the view that are added up along paths */
    uint32_t placed_count;
    bool *is_idle; /* by thread */
};

bool dw_view_has_self(const struct dw_view *view, uint32_t measure)
{
    enum dw_measure of = view->options.measures[measure];
    return view->place_key >= 0 && !(DW_MASK(of) & DW_OFTEN_MASK);
}

static uint32_t default_measures(const struct dw_profile *profile, enum dw_family family,
                                 bool of_places, enum dw_measure measures[DW_MEASURES])
{
    static const enum dw_measure wanted[] = {
        DW_CPU,        DW_WALL,        DW_SAMPLES,     DW_TOTAL,    DW_COUNT,
        DW_CALL_TOTAL, DW_CALLS,       DW_HITS,        DW_HIT_TIME, DW_PEAK_BYTES,
        DW_LIVE_BYTES, DW_ALLOC_BYTES, DW_ALLOCATIONS, DW_OBJECTS,  DW_OBJECT_BYTES};
    static const dw_measure_mask masks[DW_FAMILIES] = {[DW_FAMILY_CALLS] = DW_CALL_MASK,
                                                       [DW_FAMILY_REGIONS] = DW_ENTRY_MASK,
                                                       [DW_FAMILY_MEMORY] = DW_MEMORY_MASK,
                                                       [DW_FAMILY_HEAP] = DW_HEAP_MASK};
    dw_measure_mask mask = 0;
    uint32_t count = 0;
    for (enum dw_family of = DW_FAMILY_SAMPLES; of < DW_FAMILIES; of++)
        if ((!family || family == of) && dw_family_is_in(profile, of) &&
            !(of_places && of == DW_FAMILY_REGIONS))
            mask |= masks[of] ? masks[of] : dw_profile_measures(profile) & DW_SAMPLE_MASK;
    if (profile->is_of_moment)
        mask &= dw_profile_measures(profile);
    if (!family)
        mask |= dw_profile_measures(profile) & DW_HIT_MASK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (mask & DW_MASK(wanted[i]))
            measures[count++] = wanted[i];
    return count;
}

void dw_view_choose_measures(const struct dw_profile *profile, struct dw_view_options *options,
                             bool of_places)
{
    if (options->measure_count)
        return;
    if (options->is_sampled_list) {
        options->measures[0] = dw_samples_weight(profile);
        options->measures[1] = DW_SAMPLES;
        options->measure_count = options->measures[0] == DW_SAMPLES ? 1 : 2;
    } else {
        options->measure_count =
            default_measures(profile, options->family, of_places, options->measures);
    }
}

static int find_row(struct dw_view *view, const dw_key_value keys[DW_VIEW_KEYS_MAX],
                    uint32_t *index)
{
    struct dw_view_row row = {0};
    memcpy(row.keys, keys, sizeof row.keys);
    int error = DW_INTERN(view->rows, view->count, view->capacity, view->index, sizeof row.keys,
                          &row, index);
    return !error && view->count > GROUPS_MAX ? DW_ERR_TOO_LARGE : error;
}

static int find_keys(struct dw_view *view)
{
    view->place_key = -1;
    for (uint32_t i = 0; i < view->options.key_count; i++) {
        view->keys[i] = dw_key_find(view->profile, view->options.keys[i], &view->labels[i]);
        if (!view->keys[i] || (view->keys[i]->of_place && view->place_key >= 0))
            return DW_ERR_ARGUMENT;
        if (view->keys[i]->of_place)
            view->place_key = (int)i;
    }
    for (uint32_t i = 0; i < view->options.label_count; i++)
        view->matched[i] =
            dw_key_find(view->profile, view->options.labels[i].key, &view->matched_labels[i]);
    return 0;
}

static bool has_labels(const struct dw_view *view, const struct dw_key_row *row)
{
    for (uint32_t i = 0; i < view->options.label_count; i++) {
        const struct dw_view_label *wanted = &view->options.labels[i];
        struct dw_key_row of = *row;
        const struct dw_key *key = view->matched[i];
        of.label = view->matched_labels[i];
        if (!key || key->of_place)
            return false;
        dw_string_id value = (dw_string_id)key->of_row(&of);
        if (strcmp(dw_profile_string(view->profile, value).bytes, wanted->value) != 0)
            return false;
    }
    return true;
}

static dw_measure_mask mask_of(const struct dw_view *view)
{
    dw_measure_mask mask = 0;
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        mask |= DW_MASK(view->options.measures[i]);
    return mask;
}

static int add_item(struct grouping *grouping, uint32_t thread, uint32_t index)
{
    const struct dw_view *view = grouping->view;
    struct dw_key_row row = {grouping->profile, thread,
                             &grouping->profile->threads[thread].values.rows[index], 0};
    struct item item = {.thread = thread, .row = index};
    dw_key_value keys[DW_VIEW_KEYS_MAX] = {0};
    if (!has_labels(view, &row))
        return 0;
    for (uint32_t i = 0; i < view->options.key_count; i++) {
        row.label = view->labels[i];
        if (view->keys[i]->of_row)
            keys[i] = view->keys[i]->of_row(&row);
    }
    int error = find_row(&grouping->groups, keys, &item.group);
    if (!error)
        error = DW_GROW(grouping->items, grouping->count, grouping->capacity);
    if (!error)
        grouping->items[grouping->count++] = item;
    return error;
}

static int add_items(struct grouping *grouping)
{
    const struct dw_profile *profile = grouping->profile;
    dw_measure_mask mask = mask_of(grouping->view);
    int error = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        const struct dw_value_table *values = &profile->threads[t].values;
        for (uint32_t i = 0; i < values->count && !error; i++)
            if (dw_value_told(values, &values->rows[i]) & mask)
                error = add_item(grouping, t, i);
    }
    return error;
}

static int number_spot(struct grouping *grouping, dw_key_value value, dw_place_id place,
                       uint32_t *number)
{
    uint32_t found;
    int error = DW_INTERN(grouping->spots, grouping->spot_count, grouping->spot_capacity,
                          grouping->spot_index, sizeof value,
                          (&(struct spot){.value = value, .first = place}), &found);
    if (error)
        return error;
    if (place < grouping->spots[found].first)
        grouping->spots[found].first = place;
    *number = found + 1;
    return 0;
}

static int number_paths(struct grouping *grouping)
{
    const struct dw_profile *profile = grouping->profile;
    const struct dw_path *paths = profile->paths.paths;
    const struct dw_key *key = grouping->view->keys[grouping->view->place_key];
    int error = 0;
    for (dw_path_id path = 1; path < profile->paths.count && !error; path++) {
        const struct dw_place *place = &profile->places.places[paths[path].step];
        uint32_t kind = profile->frames.frames[place->frame].kind;
        grouping->python[path] =
            kind == DW_FRAME_FUNCTION ? path : grouping->python[paths[path].parent];
        uint32_t callers = grouping->spot_of[paths[path].parent];
        if (key->of_caller && kind == DW_FRAME_NATIVE && callers)
            grouping->spot_of[path] = callers;
        else if (dw_key_tells(key, kind))
            error = number_spot(grouping, key->of_place(profile, place), paths[path].step,
                                &grouping->spot_of[path]);
    }
    return error ? error
                 : dw_outermost_find(paths, sizeof *paths, profile->paths.count, grouping->spot_of,
                                     grouping->spot_count + 1, grouping->outermost);
}

static int make_places(struct grouping *grouping)
{
    const struct dw_view *view = grouping->view;
    size_t count = grouping->profile->paths.count;
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        if (!dw_measures[view->options.measures[i]].is_inclusive)
            grouping->placed[grouping->placed_count++] = i;
    grouping->spot_of = calloc(count, sizeof *grouping->spot_of);
    grouping->outermost = calloc(count, sizeof *grouping->outermost);
    grouping->group_of = calloc(count, sizeof *grouping->group_of);
    grouping->python = calloc(count, sizeof *grouping->python);
    grouping->spent = calloc(count * (grouping->placed_count + 1u), sizeof *grouping->spent);
    bool has_room = grouping->spot_of && grouping->outermost && grouping->group_of &&
                    grouping->python && grouping->spent;
    if (!has_room || dw_touched_init(&grouping->touched, &grouping->profile->paths))
        return DW_ERR_MEMORY;
    return number_paths(grouping);
}

/* Finds the weight of samples, and which threads did nothing but wait. */
static int find_idle(struct grouping *grouping)
{
    struct dw_view *view = grouping->view;
    enum dw_measure weight = dw_samples_weight(view->profile);
    while (view->weight < view->options.measure_count &&
           view->options.measures[view->weight] != weight)
        view->weight++;
    grouping->is_idle = calloc(view->profile->thread_count + 1u, sizeof *grouping->is_idle);
    for (uint32_t t = 0; grouping->is_idle && t < view->profile->thread_count; t++) {
        grouping->is_idle[t] = dw_roster_is_idle(view->profile, t);
        view->threads += dw_thread_is_sampled(&view->profile->threads[t]);
        view->idle_threads += grouping->is_idle[t];
    }
    return grouping->is_idle ? 0 : DW_ERR_MEMORY;
}

/* The row of the group, and of the spot of the path when places are told apart. */
static int row_of(struct grouping *grouping, uint32_t group, dw_path_id path, uint32_t *row)
{
    struct dw_view *view = grouping->view;
    bool is_placed = view->place_key >= 0;
    struct spot *spot = is_placed ? &grouping->spots[grouping->spot_of[path] - 1] : NULL;
    dw_key_value keys[DW_VIEW_KEYS_MAX];
    if (spot && spot->group == group + 1) {
        *row = spot->row;
        return 0;
    }
    memcpy(keys, grouping->groups.rows[group].keys, sizeof keys);
    if (spot)
        keys[view->place_key] = spot->value;
    int error = find_row(view, keys, row);
    if (!error && spot) {
        spot->group = group + 1;
        spot->row = *row;
        view->rows[*row].place = &view->profile->places.places[spot->first];
    }
    return error;
}

/* The numbers of that row; NULL after an error. */
static struct dw_view_number *numbers_of(struct grouping *grouping, uint32_t group, dw_path_id path,
                                         int *error)
{
    struct dw_view *view = grouping->view;
    uint32_t index;
    *error = row_of(grouping, group, path, &index);
    if (*error)
        return NULL;
    struct dw_view_row *row = &view->rows[index];
    if (!row->numbers)
        row->numbers = calloc(view->options.measure_count + DW_VIEW_PARTS, sizeof *row->numbers);
    *error = row->numbers ? 0 : DW_ERR_MEMORY;
    return row->numbers;
}

/* What an entry, a call or a line took itself. */
static uint64_t own_part(const struct dw_value_table *values, const struct dw_value_row *row,
                         enum dw_measure measure, uint64_t value)
{
    enum dw_measure inside = measure == DW_TOTAL        ? DW_CHILDREN
                             : measure == DW_CALL_TOTAL ? DW_CALL_CHILDREN
                                                        : DW_MEASURES;
    if (measure == DW_HIT_TIME)
        return dw_value_get(values, row, DW_HIT_SELF);
    uint64_t children = inside == DW_MEASURES ? 0 : dw_value_get(values, row, inside);
    return value > children ? value - children : 0;
}

static bool is_by_region(const struct dw_view *view)
{
    for (uint32_t i = 0; i < view->options.key_count; i++)
        if (!strcmp(view->keys[i]->name, "region"))
            return true;
    return false;
}

static void mark_group(struct grouping *grouping, uint32_t first)
{
    const struct item *items = grouping->items;
    for (uint32_t i = first; i < grouping->count && items[i].group == items[first].group; i++) {
        const struct dw_value_table *values = &grouping->profile->threads[items[i].thread].values;
        grouping->group_of[values->rows[items[i].row].path] = items[i].group + 1;
    }
}

/* Whether the group has no row of the same place above: a function may recurse into a region. */
static bool is_outermost(const struct grouping *grouping, uint32_t group, dw_path_id path)
{
    const struct dw_path *paths = grouping->profile->paths.paths;
    dw_path_id above = path;
    if (grouping->outermost[path])
        return true;
    for (uint32_t i = 0; i < ABOVE_MAX && above != DW_PATH_ROOT; i++) {
        above = paths[above].parent;
        if (grouping->spot_of[above] == grouping->spot_of[path] &&
            grouping->group_of[above] == group + 1)
            return false;
    }
    return above == DW_PATH_ROOT;
}

/* Measures of entries and calls are of a path with all under it already. */
static int add_inclusive(struct grouping *grouping, const struct item *item)
{
    struct dw_view *view = grouping->view;
    const struct dw_value_table *values = &grouping->profile->threads[item->thread].values;
    const struct dw_value_row *row = &values->rows[item->row];
    struct dw_key_row of = {grouping->profile, item->thread, row, 0};
    bool is_placed = view->place_key >= 0, is_by_entry = is_by_region(view);
    int error = 0;
    uint32_t kind = dw_profile_path_frame(grouping->profile, row->path)->kind;
    if (row->path == DW_PATH_ROOT || !dw_frame_kind_takes_time(kind) ||
        (is_placed && !grouping->spot_of[row->path]))
        return 0;
    struct dw_view_number *numbers = numbers_of(grouping, item->group, row->path, &error);
    bool is_outer =
        is_placed ? is_outermost(grouping, item->group, row->path) : !dw_key_is_inside_itself(&of);
    for (uint32_t i = 0; i < view->options.measure_count && !error; i++) {
        enum dw_measure measure = view->options.measures[i];
        const uint64_t *at = dw_value_at(values, row, measure);
        if (!at || !dw_measures[measure].is_inclusive)
            continue;
        uint64_t own = own_part(values, row, measure, *at);
        bool is_count = DW_MASK(measure) & DW_OFTEN_MASK;
        bool is_whole = is_placed || (is_by_entry && DW_MASK(measure) & DW_ENTRY_MASK);
        view->all[i] = dw_measure_add(measure, view->all[i], own);
        numbers[i].self = dw_measure_add(measure, numbers[i].self, own);
        if (is_count || is_outer || !is_whole)
            numbers[i].total = dw_measure_add(measure, numbers[i].total, is_whole ? *at : own);
        if (measure == DW_CALLS && is_outer)
            numbers[view->options.measure_count + DW_VIEW_PRIMITIVE].self += *at;
    }
    return error;
}

static uint64_t *spent_on(struct grouping *grouping, dw_path_id path)
{
    return &grouping->spent[path * (grouping->placed_count + 1u)];
}

/* DW_VIEW_PARTS when it is not known. */
static enum dw_view_part part_of(uint32_t state)
{
    static const enum dw_view_part parts[DW_SAMPLE_STATES] = {
        [DW_SAMPLE_PYTHON] = DW_VIEW_PYTHON, [DW_SAMPLE_NATIVE] = DW_VIEW_NATIVE,
        [DW_SAMPLE_KERNEL] = DW_VIEW_NATIVE, [DW_SAMPLE_WAITING] = DW_VIEW_WAITING,
        [DW_SAMPLE_GIL] = DW_VIEW_WAITING,   [DW_SAMPLE_RUNNING] = DW_VIEW_PARTS,
    };
    state &= DW_SAMPLE_STATE_MASK;
    return state < DW_SAMPLE_STATES ? parts[state] : DW_VIEW_PARTS;
}

/* How samples were spent is told of their innermost Python code, and of what is innermost. */
static int add_part(struct grouping *grouping, uint32_t group, dw_path_id path,
                    enum dw_view_part part, uint64_t weight)
{
    struct dw_view *view = grouping->view;
    dw_path_id python = grouping->python[path];
    int error = 0;
    view->tells_running |= part != DW_VIEW_WAITING;
    view->tells_waiting = true;
    for (unsigned i = 0; i < 2 && !error; i++) {
        dw_path_id at = i ? path : python;
        bool is_again = i && python && grouping->spot_of[path] == grouping->spot_of[python];
        struct dw_view_number *numbers =
            grouping->spot_of[at] && !is_again ? numbers_of(grouping, group, at, &error) : NULL;
        if (numbers)
            numbers[view->options.measure_count + part].self += weight;
    }
    return error;
}

/* What is beside the measures of samples in one row of the profile. */
static int add_states(struct grouping *grouping, const struct item *item)
{
    struct dw_view *view = grouping->view;
    const struct dw_value_table *values = &grouping->profile->threads[item->thread].values;
    uint32_t at = item->row;
    struct dw_sample sample;
    int error = 0;
    if (!dw_sample_next(values, &grouping->profile->labels, &at, &sample) || at != item->row + 1)
        return 0;
    enum dw_view_part part = part_of(sample.state);
    if (part != DW_VIEW_PARTS)
        error = add_part(grouping, item->group, sample.path, part, sample.weight);
    if (error || part != DW_VIEW_WAITING || !grouping->is_idle[item->thread])
        return error;
    spent_on(grouping, sample.path)[grouping->placed_count] += sample.weight;
    if (!grouping->spot_of[sample.path])
        return 0;
    struct dw_view_number *numbers = numbers_of(grouping, item->group, sample.path, &error);
    if (numbers)
        numbers[view->options.measure_count + DW_VIEW_IDLE].self += sample.weight;
    return error;
}

/* Measures of samples are of the end of their path. */
static int add_placed(struct grouping *grouping, const struct item *item)
{
    struct dw_view *view = grouping->view;
    const struct dw_value_table *values = &grouping->profile->threads[item->thread].values;
    const struct dw_value_row *row = &values->rows[item->row];
    bool is_placed = view->place_key >= 0;
    int error = 0;
    struct dw_view_number *numbers = is_placed && !grouping->spot_of[row->path]
                                         ? NULL
                                         : numbers_of(grouping, item->group, row->path, &error);
    uint32_t placed = 0;
    for (uint32_t i = 0; i < view->options.measure_count && !error; i++) {
        bool is_inclusive = dw_measures[view->options.measures[i]].is_inclusive;
        const uint64_t *at = dw_value_at(values, row, view->options.measures[i]);
        if (at && !is_inclusive) {
            view->all[i] += *at;
            if (numbers)
                numbers[i].self += *at;
            if (numbers && !is_placed)
                numbers[i].total += *at;
            if (is_placed)
                spent_on(grouping, row->path)[placed] += *at;
        }
        placed += !is_inclusive;
    }
    if (error || !is_placed)
        return error;
    dw_touched_add(&grouping->touched, row->path);
    return add_states(grouping, item);
}

/* What samples of the group spent on a path counts for all paths above it. */
static int add_up(struct grouping *grouping, uint32_t group)
{
    uint32_t idle = grouping->view->options.measure_count + DW_VIEW_IDLE;
    int error = 0;
    dw_touched_sort(&grouping->touched);
    for (uint32_t i = 0; i < grouping->touched.count; i++) {
        dw_path_id path = grouping->touched.paths[i];
        uint64_t *spent = spent_on(grouping, path);
        dw_path_id parent = grouping->profile->paths.paths[path].parent;
        bool counts = !error && grouping->spot_of[path] && grouping->outermost[path];
        struct dw_view_number *numbers = counts ? numbers_of(grouping, group, path, &error) : NULL;
        for (uint32_t p = 0; p <= grouping->placed_count; p++) {
            if (numbers)
                numbers[p < grouping->placed_count ? grouping->placed[p] : idle].total += spent[p];
            if (parent != DW_PATH_ROOT)
                spent_on(grouping, parent)[p] += spent[p];
            spent[p] = 0;
        }
    }
    dw_touched_clear(&grouping->touched);
    return error;
}

static int by_group(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->thread != b->thread ? (a->thread > b->thread ? 1 : -1)
                                  : (a->row > b->row) - (a->row < b->row);
}

static dw_measure_mask inclusive_mask(void)
{
    dw_measure_mask mask = 0;
    for (enum dw_measure measure = 0; measure < DW_MEASURES; measure++)
        mask |= dw_measures[measure].is_inclusive ? DW_MASK(measure) : 0;
    return mask;
}

static int add_numbers(struct grouping *grouping)
{
    const struct dw_view *view = grouping->view;
    dw_measure_mask inclusive = inclusive_mask();
    int error = 0;
    if (grouping->groups.count > 1)
        qsort(grouping->items, grouping->count, sizeof *grouping->items, by_group);
    for (uint32_t i = 0; i < grouping->count && !error; i++) {
        const struct item *item = &grouping->items[i];
        const struct dw_value_table *values = &grouping->profile->threads[item->thread].values;
        dw_measure_mask mask = values->rows[item->row].mask;
        bool is_last = i + 1 == grouping->count || item->group != grouping->items[i + 1].group;
        if (grouping->group_of && (!i || item->group != item[-1].group))
            mark_group(grouping, i);
        if (mask & ~inclusive)
            error = add_placed(grouping, item);
        if (!error && mask & inclusive)
            error = add_inclusive(grouping, item);
        if (!error && is_last && view->place_key >= 0)
            error = add_up(grouping, item->group);
    }
    return error;
}

static int fill(struct grouping *grouping)
{
    struct dw_view *view = grouping->view;
    int error = find_keys(view);
    dw_view_choose_measures(view->profile, &view->options, view->place_key >= 0);
    if (!error)
        error = find_idle(grouping);
    if (!error)
        error = add_items(grouping);
    if (!error && view->place_key >= 0)
        error = make_places(grouping);
    if (!error)
        error = add_numbers(grouping);
    if (!error)
        error = dw_view_name_rows(view);
    if (!error)
        dw_view_choose_rows(view);
    return error;
}

int dw_view_make(const struct dw_profile *profile, const struct dw_view_options *options,
                 struct dw_view *view)
{
    struct dw_view made = {.profile = profile, .options = *options};
    struct grouping grouping = {.view = &made, .profile = profile};
    dw_out_init_memory(&made.names);
    int error = fill(&grouping);
    free(grouping.groups.rows);
    dw_map_release(&grouping.groups.index);
    dw_map_release(&grouping.spot_index);
    free(grouping.items);
    free(grouping.spots);
    free(grouping.spot_of);
    free(grouping.outermost);
    free(grouping.group_of);
    free(grouping.python);
    free(grouping.is_idle);
    free(grouping.spent);
    dw_touched_release(&grouping.touched);
    if (error)
        dw_view_release(&made);
    else
        *view = made;
    return error;
}

void dw_view_release(struct dw_view *view)
{
    for (uint32_t i = 0; i < view->count; i++)
        free(view->rows[i].numbers);
    free(view->rows);
    dw_map_release(&view->index);
    dw_out_close(&view->names);
    view->rows = NULL;
    view->count = 0;
}
