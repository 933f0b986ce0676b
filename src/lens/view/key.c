/* SPDX-License-Identifier: MIT
 * The table of keys: a new one is a line in it, and the functions that it names. */
#include "lens/view/key.h"

#include "lens/view/measured.h"
#include "lens/view/place_spots.h"
#include "lens/view/roster.h"

static dw_key_value function_of(const struct dw_profile *profile, const struct dw_place *place)
{
    (void)profile;
    return place->frame;
}

static dw_key_value line_of(const struct dw_profile *profile, const struct dw_place *place)
{
    (void)profile;
    return (uint64_t)place->frame << 32 | place->line;
}

static dw_key_value module_of(const struct dw_profile *profile, const struct dw_place *place)
{
    return dw_place_module_name(profile, place);
}

static dw_key_value thread_of(const struct dw_key_row *row)
{
    return row->thread;
}

static dw_key_value process_of(const struct dw_key_row *row)
{
    return row->profile->threads[row->thread].process;
}

/* A label of a whole process is a property of it. */
static dw_string_id process_label(const struct dw_profile *profile, uint32_t index,
                                  dw_string_id name)
{
    const struct dw_process *process = &profile->processes[index];
    for (uint32_t i = 0; i < process->property_count; i++)
        if (process->properties[i].key == name)
            return process->properties[i].value;
    return 0;
}

/* The label of the row itself counts before that of its process. */
static dw_key_value label_of(const struct dw_key_row *row)
{
    const struct dw_profile *profile = row->profile;
    dw_string_id own = dw_labels_value(&profile->labels, row->row->labels, row->label);
    return own ? own : process_label(profile, profile->threads[row->thread].process, row->label);
}

/* An entry of a region is of that region; other rows have it as a label. */
static dw_key_value region_of(const struct dw_key_row *row)
{
    const struct dw_frame *frame = dw_profile_path_frame(row->profile, row->row->path);
    bool is_entry = row->row->mask & DW_ENTRY_MASK;
    return is_entry ? (frame->kind == DW_FRAME_REGION ? frame->name : 0) : label_of(row);
}

bool dw_key_is_inside_itself(const struct dw_key_row *row)
{
    const struct dw_profile *profile = row->profile;
    const struct dw_path *paths = profile->paths.paths;
    const struct dw_frame *own = dw_profile_path_frame(profile, row->row->path);
    dw_path_id path = row->row->path;
    while ((path = paths[path].parent) != DW_PATH_ROOT) {
        const struct dw_frame *frame = dw_profile_path_frame(profile, path);
        if (frame->kind == own->kind && frame->name == own->name)
            return true;
    }
    return false;
}

static void put_text(struct dw_out *out, const struct dw_profile *profile, dw_key_value value)
{
    struct dw_string text = dw_profile_string(profile, (dw_string_id)value);
    if (value)
        dw_out_printable(out, text.bytes, text.size);
    else
        dw_out_text(out, "(none)");
}

static void put_thread(struct dw_out *out, const struct dw_profile *profile, dw_key_value value)
{
    dw_roster_put_thread(out, profile, (uint32_t)value);
}

static void put_process(struct dw_out *out, const struct dw_profile *profile, dw_key_value value)
{
    dw_roster_put_program(out, profile, (uint32_t)value, dw_roster_has_hosts(profile));
}

static const struct dw_key keys[] = {
    {"function", "Python and native functions", DW_KEY_FUNCTION, function_of, NULL, NULL, false},
    {"line", "lines of functions", DW_KEY_LINE, line_of, NULL, NULL, false},
    {"python", "lines of Python functions, with the native code that they called", DW_KEY_LINE,
     line_of, NULL, NULL, true},
    {"module", "files of Python code, libraries", DW_KEY_MODULE, module_of, NULL, NULL, false},
    {"type", "types of objects on the heap", DW_KEY_TYPE, function_of, NULL, NULL, false},
    {"dominator", "objects that retain most", DW_KEY_OBJECT, function_of, NULL, NULL, false},
    {"region", "marked regions, and what was recorded inside them", 0, NULL, region_of, put_text,
     false},
    {"thread", "threads", 0, NULL, thread_of, put_thread, false},
    {"process", "processes", 0, NULL, process_of, put_process, false},
    {"host", "machines", 0, NULL, label_of, put_text, false},
};

static const struct dw_key label_key = {"label", "a label", 0, NULL, label_of, put_text, false};

bool dw_key_tells(const struct dw_key *key, uint32_t kind)
{
    return key->part == DW_KEY_TYPE     ? kind == DW_FRAME_TYPE
           : key->part == DW_KEY_OBJECT ? kind == DW_FRAME_OBJECT
                                        : dw_frame_kind_is_code(kind);
}

const struct dw_key *dw_key_at(size_t index)
{
    return index < sizeof keys / sizeof *keys ? &keys[index] : NULL;
}

static bool is_named(const struct dw_profile *profile, dw_string_id key, const char *name)
{
    return !strcmp(dw_profile_string(profile, key).bytes, name);
}

static dw_string_id find_label(const struct dw_profile *profile, const char *name)
{
    const struct dw_label_table *labels = &profile->labels;
    for (uint32_t i = 0; i < labels->pair_count; i++)
        if (is_named(profile, labels->pairs[i].key, name))
            return labels->pairs[i].key;
    for (uint32_t p = 0; p < profile->process_count; p++)
        for (uint32_t i = 0; i < profile->processes[p].property_count; i++)
            if (is_named(profile, profile->processes[p].properties[i].key, name))
                return profile->processes[p].properties[i].key;
    return 0;
}

const struct dw_key *dw_key_find(const struct dw_profile *profile, const char *name,
                                 dw_string_id *label)
{
    const struct dw_key *key;
    *label = find_label(profile, name);
    for (size_t i = 0; (key = dw_key_at(i)); i++)
        if (!strcmp(key->name, name))
            return key;
    return *label ? &label_key : NULL;
}
