/* SPDX-License-Identifier: MIT
 * The tables of a ledger. */
#include "record/ledger.h"

#include "record/labels.h"

#include "base/grow.h"
#include "record/process.h"

#include <string.h>

#define PATHS_MAX (1u << 22)
#define OVERFLOW_NAME "<more stacks>"

/* Returns what the call gives, made with the tables locked. */
#define RETURN_LOCKED(ledger, call)                                                                \
    do {                                                                                           \
        pthread_mutex_lock(&(ledger)->tables);                                                     \
        int error_of_call = (call);                                                                \
        pthread_mutex_unlock(&(ledger)->tables);                                                   \
        return error_of_call;                                                                      \
    } while (0)

int dw_ledger_tables_init(struct dw_ledger *ledger)
{
    int error = dw_frame_table_init(&ledger->frames, &ledger->strings);
    if (!error)
        error = dw_place_table_init(&ledger->places);
    if (!error)
        error = dw_label_table_init(&ledger->labels);
    return error ? error : dw_path_tree_init(&ledger->paths);
}

void dw_ledger_tables_release(struct dw_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->thread_count; i++)
        dw_ledger_release_thread(&ledger->threads[i]);
    free(ledger->threads);
    free(ledger->modules);
    free(ledger->process.properties);
    dw_path_tree_release(&ledger->paths);
    dw_label_table_release(&ledger->labels);
    dw_place_table_release(&ledger->places);
    dw_frame_table_release(&ledger->frames);
    dw_string_table_release(&ledger->strings);
    ledger->threads = NULL;
    ledger->modules = NULL;
    ledger->thread_count = ledger->thread_capacity = ledger->free_threads = ledger->next_thread = 0;
    ledger->module_count = ledger->module_capacity = 0;
    ledger->process = (struct dw_process){0};
    free(ledger->sets);
    ledger->sets = NULL;
    ledger->set_count = 0;
    free(ledger->sources);
    free(ledger->met);
    ledger->sources = NULL;
    ledger->met = NULL;
    ledger->source_count = ledger->source_capacity = ledger->met_size = 0;
}

void dw_ledger_of(struct dw_ledger *ledger, uint64_t pid)
{
    ledger->process.pid = pid;
    ledger->process.property_count = 0;
    dw_ledger_describe(ledger, "dwell", DW_VERSION);
}

int dw_ledger_describe(struct dw_ledger *ledger, const char *key, const char *value)
{
    RETURN_LOCKED(ledger, dw_process_add_property(&ledger->process, &ledger->strings,
                                                  (struct dw_string){key, strlen(key)},
                                                  (struct dw_string){value, strlen(value)}));
}

int dw_ledger_string(struct dw_ledger *ledger, const void *bytes, size_t size, dw_string_id *id)
{
    RETURN_LOCKED(ledger, dw_string_intern(&ledger->strings, bytes, size, id));
}

static int intern_frame(struct dw_ledger *ledger, const struct dw_frame *frame, dw_frame_id *id,
                        void (*want)(struct dw_ledger *ledger, const struct dw_frame *frame))
{
    int error = dw_frame_intern(&ledger->frames, frame, id);
    if (!error)
        want(ledger, frame);
    return error;
}

int dw_ledger_frame(struct dw_ledger *ledger, const struct dw_frame *frame, dw_frame_id *id)
{
    RETURN_LOCKED(ledger, intern_frame(ledger, frame, id, dw_ledger_want_source));
}

int dw_ledger_met_frame(struct dw_ledger *ledger, const struct dw_frame *frame, dw_frame_id *id)
{
    RETURN_LOCKED(ledger, intern_frame(ledger, frame, id, dw_ledger_want_own_source));
}

int dw_ledger_place(struct dw_ledger *ledger, const struct dw_place *place, dw_place_id *id)
{
    RETURN_LOCKED(ledger, dw_place_intern(&ledger->places, place, id));
}

static int intern_named_place(struct dw_ledger *ledger, enum dw_frame_kind kind,
                              struct dw_string name, struct dw_string file, uint32_t line,
                              dw_place_id *id)
{
    struct dw_frame frame = {.kind = kind, .line = line};
    struct dw_place place = {0};
    int error = dw_string_intern(&ledger->strings, name.bytes, name.size, &frame.name);
    if (!error)
        error = dw_string_intern(&ledger->strings, file.bytes, file.size, &frame.file);
    if (!error)
        error = intern_frame(ledger, &frame, &place.frame, dw_ledger_want_source);
    return error ? error : dw_place_intern(&ledger->places, &place, id);
}

int dw_ledger_named_place(struct dw_ledger *ledger, enum dw_frame_kind kind, struct dw_string name,
                          struct dw_string file, uint32_t line, dw_place_id *id)
{
    RETURN_LOCKED(ledger, intern_named_place(ledger, kind, name, file, line, id));
}

int dw_ledger_path(struct dw_ledger *ledger, dw_path_id parent, dw_place_id place, dw_path_id *id)
{
    int error = 0;
    pthread_mutex_lock(&ledger->tables);
    if (ledger->paths.count >= PATHS_MAX) {
        struct dw_string name = {OVERFLOW_NAME, strlen(OVERFLOW_NAME)};
        parent = DW_PATH_ROOT;
        error =
            intern_named_place(ledger, DW_FRAME_MARK, name, (struct dw_string){"", 0}, 0, &place);
    }
    if (!error)
        error = dw_path_intern(&ledger->paths, parent, place, id);
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

int dw_ledger_append_path(struct dw_ledger *ledger, dw_path_id parent, dw_place_id place,
                          dw_path_id *id)
{
    RETURN_LOCKED(ledger, dw_path_append(&ledger->paths, parent, place, id));
}

struct dw_frame dw_ledger_frame_at(struct dw_ledger *ledger, dw_frame_id frame)
{
    pthread_mutex_lock(&ledger->tables);
    struct dw_frame found = ledger->frames.frames[frame];
    pthread_mutex_unlock(&ledger->tables);
    return found;
}

struct dw_place dw_ledger_place_at(struct dw_ledger *ledger, dw_place_id place)
{
    pthread_mutex_lock(&ledger->tables);
    struct dw_place found = ledger->places.places[place];
    pthread_mutex_unlock(&ledger->tables);
    return found;
}

struct dw_path dw_ledger_path_at(struct dw_ledger *ledger, dw_path_id path)
{
    pthread_mutex_lock(&ledger->tables);
    struct dw_path found = ledger->paths.paths[path];
    pthread_mutex_unlock(&ledger->tables);
    return found;
}

/* Room for what is known of the set. */
static int make_sets(struct dw_ledger *ledger, dw_labels_id live)
{
    if (live < ledger->set_count)
        return 0;
    uint32_t count = (live + 8) * 2;
    void *grown = realloc(ledger->sets, count * sizeof *ledger->sets);
    if (!grown)
        return DW_ERR_MEMORY;
    ledger->sets = grown;
    memset(&ledger->sets[ledger->set_count], 0, (count - ledger->set_count) * sizeof *ledger->sets);
    ledger->set_count = count;
    return 0;
}

static int intern_set(struct dw_ledger *ledger, dw_labels_id live, uint32_t state, dw_labels_id *id)
{
    const struct dw_labels *set = dw_labels_get(live);
    struct dw_label pairs[DW_LABELS_KEYS_MAX];
    int error = 0;
    for (uint32_t i = 0; i < set->count && !error; i++) {
        struct dw_string key = set->labels[i].key, value = set->labels[i].value;
        error = dw_string_intern(&ledger->strings, key.bytes, key.size, &pairs[i].key);
        if (!error)
            error = dw_string_intern(&ledger->strings, value.bytes, value.size, &pairs[i].value);
    }
    return error ? error : dw_labels_intern(&ledger->labels, state, pairs, set->count, id);
}

int dw_ledger_labels(struct dw_ledger *ledger, dw_labels_id live, uint32_t state, dw_labels_id *id)
{
    pthread_mutex_lock(&ledger->tables);
    int error = make_sets(ledger, live);
    if (!error && (live || state) && !ledger->sets[live][state])
        error = intern_set(ledger, live, state, &ledger->sets[live][state]);
    if (!error)
        *id = ledger->sets[live][state];
    pthread_mutex_unlock(&ledger->tables);
    return error;
}

int dw_ledger_module(struct dw_ledger *ledger, const struct dw_module *module, uint32_t *id)
{
    pthread_mutex_lock(&ledger->tables);
    int error = DW_GROW(ledger->modules, ledger->module_count, ledger->module_capacity);
    if (!error) {
        ledger->modules[ledger->module_count] = *module;
        *id = ++ledger->module_count;
    }
    pthread_mutex_unlock(&ledger->tables);
    return error;
}
