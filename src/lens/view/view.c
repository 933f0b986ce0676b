/* SPDX-License-Identifier: MIT
 * Rows that agree in the keys of rows are one group. What a group spent is put on the tree of
 * paths, added up from the leaves, and each place key gets the paths that it is outermost in; so
 * nothing takes longer because stacks are deep. */
#define _GNU_SOURCE
#include "lens/view/view.h"

#include "base/grow.h"
#include "lens/view/measured.h"
#include "model/outermost.h"

#define GROUPS_MAX (1u << 20)
#define ABOVE_MAX 256 /* how far up a call is looked for that a recursion began with */

static bool is_inclusive(enum dw_measure measure)
{
    return dw_measures[measure].is_inclusive;
}

/* A row of the profile that is shown. */
struct item {
    uint32_t group;
    uint32_t thread;
    uint32_t row;
};

struct grouping {
    struct dw_view *view;
    const struct dw_profile *profile;
    struct dw_view groups; /* rows of the keys of rows alone; they have no numbers */
    struct item *items;
    uint32_t count, capacity;
    uint32_t *spot_of; /* by path: 1 + the number of its place key; 0: it has none */
    dw_key_value *spots;
    uint32_t spot_count, spot_capacity;
    struct dw_map spot_index;
    bool *outermost;
    uint32_t *group_of; /* by path: 1 + the last group that has a row of it */
    uint64_t *spent;    /* by path, then by placed measure: of one group */
    bool *touched;
    dw_path_id *paths;
    uint32_t path_count;
    uint32_t placed[DW_MEASURES]; /* measures of paths themselves, which are added up along them */
    uint32_t placed_count;
};

bool dw_view_has_self(const struct dw_view *view, uint32_t measure)
{
    enum dw_measure of = view->options.measures[measure];
    return view->place_key >= 0 && !(DW_MASK(of) & DW_OFTEN_MASK);
}

uint32_t dw_view_default_measures(const struct dw_profile *profile, bool of_places,
                                  enum dw_measure measures[DW_MEASURES])
{
    static const enum dw_measure wanted[] = {
        DW_CPU,   DW_WALL, DW_SAMPLES,  DW_TOTAL,      DW_COUNT,      DW_CALL_TOTAL,  DW_CALLS,
        DW_HITS,  DW_HIT_TIME, DW_PEAK_BYTES, DW_LIVE_BYTES, DW_ALLOC_BYTES, DW_ALLOCATIONS};
    dw_measure_mask mask = 0;
    uint32_t count = 0;
    if (dw_family_is_in(profile, DW_FAMILY_SAMPLES))
        mask |= dw_profile_measures(profile) & DW_SAMPLE_MASK;
    if (dw_family_is_in(profile, DW_FAMILY_CALLS))
        mask |= DW_CALL_MASK;
    if (dw_family_is_in(profile, DW_FAMILY_MEMORY))
        mask |= DW_MEMORY_MASK;
    if (!of_places && dw_family_is_in(profile, DW_FAMILY_REGIONS))
        mask |= DW_ENTRY_MASK;
    mask |= dw_profile_measures(profile) & DW_HIT_MASK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (mask & DW_MASK(wanted[i]))
            measures[count++] = wanted[i];
    return count;
}

static uint64_t hash_keys(const dw_key_value *keys)
{
    return dw_hash_bytes(keys, DW_VIEW_KEYS_MAX * sizeof *keys);
}

static uint64_t hash_of(const void *rows, uint32_t id)
{
    return hash_keys(((const struct dw_view_row *)rows)[id].keys);
}

static bool equal(const void *rows, uint32_t id, const void *keys)
{
    return !memcmp(((const struct dw_view_row *)rows)[id].keys, keys,
                   DW_VIEW_KEYS_MAX * sizeof(dw_key_value));
}

static int find_row(struct dw_view *view, const dw_key_value keys[DW_VIEW_KEYS_MAX],
                    uint32_t *index)
{
    uint32_t found = dw_map_find(&view->index, hash_keys(keys), equal, view->rows, keys);
    if (found == DW_MAP_NONE) {
        int error = view->count < GROUPS_MAX ? DW_GROW(view->rows, view->count, view->capacity)
                                             : DW_ERR_TOO_LARGE;
        if (error)
            return error;
        view->rows[view->count] = (struct dw_view_row){0};
        memcpy(view->rows[view->count].keys, keys, DW_VIEW_KEYS_MAX * sizeof *keys);
        error = dw_map_add(&view->index, hash_keys(keys), view->count, hash_of, view->rows);
        if (error)
            return error;
        found = view->count++;
    }
    *index = found;
    return 0;
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

/* The measures that are shown: those of a path with all under it, or of the path itself. */
static dw_measure_mask mask_of(const struct dw_view *view, bool inclusive)
{
    dw_measure_mask mask = 0;
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        if (is_inclusive(view->options.measures[i]) == inclusive)
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
    dw_measure_mask mask = mask_of(grouping->view, true) | mask_of(grouping->view, false);
    int error = 0;
    for (uint32_t t = 0; t < profile->thread_count; t++)
        for (uint32_t i = 0; i < profile->threads[t].values.count && !error; i++)
            if (profile->threads[t].values.rows[i].mask & mask)
                error = add_item(grouping, t, i);
    return error;
}

static uint64_t hash_spot(const void *spots, uint32_t id)
{
    return dw_hash_mix(((const dw_key_value *)spots)[id]);
}

static bool equal_spot(const void *spots, uint32_t id, const void *key)
{
    return ((const dw_key_value *)spots)[id] == *(const dw_key_value *)key;
}

static int number_spot(struct grouping *grouping, dw_key_value value, uint32_t *number)
{
    uint32_t found =
        dw_map_find(&grouping->spot_index, dw_hash_mix(value), equal_spot, grouping->spots, &value);
    if (found == DW_MAP_NONE) {
        int error = DW_GROW(grouping->spots, grouping->spot_count, grouping->spot_capacity);
        if (error)
            return error;
        grouping->spots[grouping->spot_count] = value;
        error = dw_map_add(&grouping->spot_index, dw_hash_mix(value), grouping->spot_count,
                           hash_spot, grouping->spots);
        if (error)
            return error;
        found = grouping->spot_count++;
    }
    *number = found + 1;
    return 0;
}

static bool is_code(uint32_t kind)
{
    return kind == DW_FRAME_FUNCTION || kind == DW_FRAME_BUILTIN || kind == DW_FRAME_NATIVE ||
           kind == DW_FRAME_MARK;
}

static int number_paths(struct grouping *grouping)
{
    const struct dw_profile *profile = grouping->profile;
    const struct dw_key *key = grouping->view->keys[grouping->view->place_key];
    int error = 0;
    for (dw_path_id path = 1; path < profile->paths.count && !error; path++) {
        const struct dw_place *place = &profile->places.places[profile->paths.paths[path].step];
        uint32_t kind = profile->frames.frames[place->frame].kind;
        uint32_t callers = grouping->spot_of[profile->paths.paths[path].parent];
        if (key->of_caller && kind == DW_FRAME_NATIVE && callers)
            grouping->spot_of[path] = callers;
        else if (is_code(kind))
            error = number_spot(grouping, key->of_place(profile, place), &grouping->spot_of[path]);
    }
    return error ? error
                 : dw_outermost_find(profile->paths.paths, profile->paths.count, grouping->spot_of,
                                     grouping->spot_count + 1, grouping->outermost);
}

static int make_places(struct grouping *grouping)
{
    const struct dw_view *view = grouping->view;
    size_t count = grouping->profile->paths.count;
    for (uint32_t i = 0; i < view->options.measure_count; i++)
        if (!is_inclusive(view->options.measures[i]))
            grouping->placed[grouping->placed_count++] = i;
    grouping->spot_of = calloc(count, sizeof *grouping->spot_of);
    grouping->outermost = calloc(count, sizeof *grouping->outermost);
    grouping->group_of = calloc(count, sizeof *grouping->group_of);
    grouping->spent = calloc(count, (grouping->placed_count + 1u) * sizeof *grouping->spent);
    grouping->touched = calloc(count, sizeof *grouping->touched);
    grouping->paths = malloc(count * sizeof *grouping->paths);
    bool has_room = grouping->spot_of && grouping->outermost && grouping->group_of &&
                    grouping->spent && grouping->touched && grouping->paths;
    return has_room ? number_paths(grouping) : DW_ERR_MEMORY;
}

/* The numbers of a row of the view: that of the group, and of the place key when there is one. */
static struct dw_view_number *numbers_of(struct grouping *grouping, uint32_t group, dw_path_id path,
                                         int *error)
{
    struct dw_view *view = grouping->view;
    dw_key_value keys[DW_VIEW_KEYS_MAX];
    uint32_t row;
    memcpy(keys, grouping->groups.rows[group].keys, sizeof keys);
    if (view->place_key >= 0)
        keys[view->place_key] = grouping->spots[grouping->spot_of[path] - 1];
    *error = find_row(view, keys, &row);
    if (!*error && !view->rows[row].numbers)
        view->rows[row].numbers =
            calloc(view->options.measure_count + 1u, sizeof *view->rows[row].numbers);
    if (!*error && !view->rows[row].numbers)
        *error = DW_ERR_MEMORY;
    return *error ? NULL : view->rows[row].numbers;
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
    int error = 0;
    uint32_t kind = dw_profile_path_frame(grouping->profile, row->path)->kind;
    if (row->path == DW_PATH_ROOT || !dw_frame_kind_takes_time(kind) ||
        (view->place_key >= 0 && !grouping->spot_of[row->path]))
        return 0;
    struct dw_view_number *numbers = numbers_of(grouping, item->group, row->path, &error);
    for (uint32_t i = 0; i < view->options.measure_count && !error; i++) {
        enum dw_measure measure = view->options.measures[i];
        const uint64_t *at = dw_value_at(values, row, measure);
        if (!at || !is_inclusive(measure))
            continue;
        uint64_t own = own_part(values, row, measure, *at);
        bool is_outer = view->place_key >= 0 ? is_outermost(grouping, item->group, row->path)
                                             : !dw_key_is_inside_itself(&of);
        bool is_entry = DW_MASK(measure) & DW_ENTRY_MASK;
        bool is_whole = view->place_key >= 0 || (is_entry && is_by_region(view));
        bool is_count = DW_MASK(measure) & DW_OFTEN_MASK;
        view->all[i] = dw_measure_add(measure, view->all[i], own);
        numbers[i].self = dw_measure_add(measure, numbers[i].self, own);
        if (is_count || is_outer || !is_whole)
            numbers[i].total = dw_measure_add(measure, numbers[i].total, is_whole ? *at : own);
    }
    return error;
}

static void touch(struct grouping *grouping, dw_path_id path)
{
    while (path != DW_PATH_ROOT && !grouping->touched[path]) {
        grouping->touched[path] = true;
        grouping->paths[grouping->path_count++] = path;
        path = grouping->profile->paths.paths[path].parent;
    }
}

static int add_sample(struct grouping *grouping, const struct item *item)
{
    struct dw_view *view = grouping->view;
    const struct dw_value_table *values = &grouping->profile->threads[item->thread].values;
    const struct dw_value_row *row = &values->rows[item->row];
    dw_path_id path = row->path;
    int error = 0;
    bool is_placed = view->place_key >= 0;
    struct dw_view_number *numbers = is_placed && !(path && grouping->spot_of[path])
                                         ? NULL
                                         : numbers_of(grouping, item->group, path, &error);
    if (is_placed && !error)
        touch(grouping, path);
    for (uint32_t i = 0; i < view->options.measure_count && !error; i++) {
        const uint64_t *at = dw_value_at(values, row, view->options.measures[i]);
        if (!at || is_inclusive(view->options.measures[i]))
            continue;
        view->all[i] += *at;
        if (numbers)
            numbers[i].self += *at;
        if (numbers && !is_placed)
            numbers[i].total += *at;
        for (uint32_t p = 0; is_placed && p < grouping->placed_count; p++)
            if (grouping->placed[p] == i)
                grouping->spent[(size_t)path * grouping->placed_count + p] += *at;
    }
    return error;
}

static int descending(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left < right) - (left > right);
}

/* What samples of the group spent on a path counts for all paths above it. */
static int add_up(struct grouping *grouping, uint32_t group)
{
    int error = 0;
    if (grouping->path_count)
        qsort(grouping->paths, grouping->path_count, sizeof *grouping->paths, descending);
    for (uint32_t i = 0; i < grouping->path_count; i++) {
        dw_path_id path = grouping->paths[i];
        uint64_t *spent = &grouping->spent[(size_t)path * grouping->placed_count];
        dw_path_id parent = grouping->profile->paths.paths[path].parent;
        bool counts = !error && grouping->spot_of[path] && grouping->outermost[path];
        struct dw_view_number *numbers = counts ? numbers_of(grouping, group, path, &error) : NULL;
        for (uint32_t p = 0; p < grouping->placed_count; p++) {
            if (numbers)
                numbers[grouping->placed[p]].total += spent[p];
            if (parent != DW_PATH_ROOT)
                grouping->spent[(size_t)parent * grouping->placed_count + p] += spent[p];
            spent[p] = 0;
        }
        grouping->touched[path] = false;
    }
    grouping->path_count = 0;
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

static int add_numbers(struct grouping *grouping)
{
    int error = 0;
    if (grouping->count)
        qsort(grouping->items, grouping->count, sizeof *grouping->items, by_group);
    for (uint32_t i = 0; i < grouping->count && !error; i++) {
        const struct item *item = &grouping->items[i];
        const struct dw_value_table *values = &grouping->profile->threads[item->thread].values;
        bool is_last = i + 1 == grouping->count || item->group != grouping->items[i + 1].group;
        if (grouping->group_of && (!i || item->group != item[-1].group))
            mark_group(grouping, i);
        if (values->rows[item->row].mask & mask_of(grouping->view, false))
            error = add_sample(grouping, item);
        if (!error && values->rows[item->row].mask & mask_of(grouping->view, true))
            error = add_inclusive(grouping, item);
        if (!error && is_last)
            error = add_up(grouping, item->group);
    }
    return error;
}

static int name_rows(struct dw_view *view)
{
    size_t *starts = calloc((size_t)view->count * view->options.key_count + 1u, sizeof *starts);
    size_t *at = starts;
    if (!starts)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < view->count; i++)
        for (uint32_t k = 0; k < view->options.key_count; k++) {
            *at++ = view->names.buffer.size;
            view->keys[k]->put(&view->names, view->profile, view->rows[i].keys[k]);
            dw_out_char(&view->names, '\0');
        }
    bool failed = view->names.error || view->names.buffer.failed;
    at = starts;
    for (uint32_t i = 0; i < view->count && !failed; i++)
        for (uint32_t k = 0; k < view->options.key_count; k++)
            view->rows[i].names[k] = (const char *)view->names.buffer.data + *at++;
    free(starts);
    return failed ? DW_ERR_MEMORY : 0;
}

static int compare_names(const struct dw_view *view, const struct dw_view_row *a,
                         const struct dw_view_row *b)
{
    int order = 0;
    for (uint32_t k = 0; k < view->options.key_count && !order; k++)
        order = strcmp(a->names[k], b->names[k]);
    return order;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct dw_view *view = context;
    const struct dw_view_row *a = left, *b = right;
    int order = 0;
    for (uint32_t i = view->options.sort; i < view->options.measure_count && !order; i++) {
        const struct dw_view_number *x = &a->numbers[i], *y = &b->numbers[i];
        if (!view->options.by_total)
            order = (x->self < y->self) - (x->self > y->self);
        if (!order)
            order = (x->total < y->total) - (x->total > y->total);
    }
    return order ? order : compare_names(view, a, b);
}

static bool matches(const struct dw_view *view, const struct dw_view_row *row)
{
    if (view->options.leaves_out_none && !row->numbers[0].self)
        return false;
    if (!view->options.match)
        return true;
    for (uint32_t k = 0; k < view->options.key_count; k++)
        if (!regexec(view->options.match, row->names[k], 0, NULL, 0))
            return true;
    return false;
}

static void choose_rows(struct dw_view *view)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        if (matches(view, &view->rows[i]))
            view->rows[kept++] = view->rows[i];
        else
            free(view->rows[i].numbers);
    }
    view->count = kept;
    if (kept)
        qsort_r(view->rows, kept, sizeof *view->rows, compare_rows, view);
    while (view->options.limit && view->count > view->options.limit) {
        free(view->rows[--view->count].numbers);
        view->left_out++;
    }
}

static int fill(struct grouping *grouping)
{
    struct dw_view *view = grouping->view;
    int error = find_keys(view);
    if (!error && !view->options.measure_count)
        view->options.measure_count =
            dw_view_default_measures(view->profile, view->place_key >= 0, view->options.measures);
    if (!error)
        error = add_items(grouping);
    if (!error && view->place_key >= 0)
        error = make_places(grouping);
    if (!error)
        error = add_numbers(grouping);
    if (!error)
        error = name_rows(view);
    if (!error)
        choose_rows(view);
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
    free(grouping.spent);
    free(grouping.touched);
    free(grouping.paths);
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
