/* SPDX-License-Identifier: MIT
 * One profile in memory: everything that one or many logs hold. Lenses see it
 * const, after dw_profile_prepare (prepare.h). Ids of logs are mapped to the profile's own when a
 * log is read into it, so reading several logs into one profile is merging them. */
#ifndef DW_MODEL_PROFILE_H
#define DW_MODEL_PROFILE_H

#include "model/event.h"
#include "model/line_table.h"
#include "model/metric.h"
#include "model/path_tree.h"
#include "model/sample.h"
#include "model/series.h"
#include "model/value_table.h"

struct dw_heap_shot; /* model/heap/heap_picture.h */

struct dw_property {
    dw_string_id key;
    dw_string_id value;
};

struct dw_process {
    uint8_t uuid[16];
    uint64_t pid;
    struct dw_clock_pair first_clock; /* recording began */
    struct dw_clock_pair last_clock;  /* last sign of life in the log */
    bool has_ticks;                   /* its rows are as its log has them, to be saved again */
    bool ended;                       /* the log was closed by the program, not cut off */
    uint64_t dropped;                 /* events that could not be kept */
    bool is_reported;                 /* the program has shown its regions itself */
    struct dw_property *properties;   /* argv, cwd, host, python, ...: docs/format.md lists them */
    uint32_t property_count, property_capacity;
    uint32_t path_map; /* index into the profile's path_maps, for its events */
    bool is_sampled;
    struct dw_sampling sampling; /* how, when it is */
    uint64_t *moments_ns;        /* of model/moments.h, on the wall clock, when they were read */
    uint32_t moment_count, moment_capacity;
    bool has_rows_since; /* what is alive was told since the last of them */
};

/* What a measure of a row became. */
struct dw_change {
    uint32_t row;    /* of the thread's values */
    uint32_t moment; /* of the process; the first that is not in its list is its end */
    enum dw_measure measure;
    uint64_t value;
};

/* The path ids of one log, as ids of the profile. */
struct dw_path_map {
    dw_path_id *paths;
    uint32_t count, capacity;
    dw_path_id lost; /* stands for ids whose definition was lost */
};

void dw_path_map_clear(struct dw_path_map *map);
static inline dw_path_id dw_path_map_get(const struct dw_path_map *map, uint32_t id)
{
    return id < map->count ? map->paths[id] : map->lost;
}

struct dw_thread {
    uint32_t process; /* index into the profile's processes */
    uint64_t tid;
    dw_string_id name;
    struct dw_value_table values;     /* what was measured on the paths that it took */
    uint32_t block_count, last_block; /* its events: how many blocks, and the last one's index */
    struct dw_timed_sample *timed;    /* its samples in order, when a timeline was kept and read */
    uint32_t timed_count, timed_capacity;
    struct dw_change *changes; /* in order, when moments were read */
    uint32_t change_count, change_capacity;
};

struct dw_source {
    dw_string_id file;
    dw_string_id text;
};

/* Runs of one piece of code, each of `loops` times. */
struct dw_timing {
    uint32_t process; /* index into the profile's processes */
    dw_string_id name;
    struct dw_property *properties; /* session, group, python, rev, ...: docs/format.md */
    uint32_t property_count, property_capacity;
    uint64_t loops;
    uint64_t *runs_ns; /* in the order in which they were measured */
    uint32_t run_count, run_capacity;
};

void dw_thread_release(struct dw_thread *thread);
void dw_timing_release(struct dw_timing *timing);

/* What could not be read. A lens that prints a report prints this too. */
struct dw_losses {
    uint64_t damaged_chunks;
    uint64_t damaged_bytes;
    uint64_t cut_files; /* logs whose program did not close them */
};

struct dw_profile {
    struct dw_string_table strings;
    struct dw_frame_table frames;
    struct dw_place_table places;
    struct dw_path_tree paths;     /* of places: the one tree of all probes */
    struct dw_path_tree functions; /* of frames, made of it by dw_profile_prepare */
    dw_path_id *function_of;       /* of each path: its path of functions */
    struct dw_label_table labels;
    struct dw_process *processes;
    uint32_t process_count, process_capacity;
    struct dw_map uuids; /* of the processes below indexed_processes */
    uint32_t indexed_processes;
    struct dw_thread *threads;
    uint32_t thread_count, thread_capacity;
    uint32_t forgotten_threads, forgotten_path_maps; /* how many, from the first on */
    struct dw_line_table lines;                      /* of all processes together */
    struct dw_module *modules;
    uint32_t module_count, module_capacity;
    struct dw_source *sources;
    uint32_t source_count, source_capacity;
    struct dw_map source_index; /* no file is there twice with one text */
    struct dw_timing *timings;
    uint32_t timing_count, timing_capacity;
    struct dw_series *series;
    uint32_t series_count, series_capacity;
    struct dw_heap_shot *heaps; /* pictures of heaps, in the order of the logs */
    uint32_t heap_count, heap_capacity;
    struct dw_event_block *blocks; /* in order within each thread */
    uint32_t block_count, block_capacity;
    uint64_t event_chunks;         /* timeline chunks seen, also when they were not kept */
    struct dw_path_map *path_maps; /* one for each log read */
    uint32_t path_map_count, path_map_capacity;
    struct dw_losses losses;
    bool is_of_moment;             /* it has what was alive then, and nothing else */
    uint64_t moment_ns;            /* since the start */
    enum dw_measure shown_measure; /* that is in place of samples; DW_COUNT, the first: none is */
};

/* Adds the process at the index to a map by uuid; one of zeros, which is unknown, is left out. */
int dw_process_index(const struct dw_profile *profile, struct dw_map *uuids, uint32_t index);
/* A process of that uuid in the map, or DW_MAP_NONE. */
uint32_t dw_process_find(const struct dw_profile *profile, const struct dw_map *uuids,
                         const uint8_t uuid[16]);
/* Adds the text of a file, unless it is there. */
int dw_profile_add_source(struct dw_profile *profile, const struct dw_source *source);
/* Adds all processes to the profile's own map. */
int dw_profile_index_processes(struct dw_profile *profile);

int dw_profile_new(struct dw_profile **profile);
void dw_profile_free(struct dw_profile *profile);
/* Forgets what was measured, and the events, and keeps all that it was measured of: names, paths,
 * threads and processes. Lines stay too, since those of all processes are added up. */
void dw_profile_forget(struct dw_profile *profile);

/* Of samples that stand for no known time: a number, or bytes. */
static inline enum dw_unit dw_profile_shown_unit(const struct dw_profile *profile)
{
    return dw_measures[profile->shown_measure].unit;
}

/* The measures that some thread has. */
dw_measure_mask dw_profile_measures(const struct dw_profile *profile);
/* A property of a process ("host", "argv", ...), or an empty string. */
struct dw_string dw_profile_property(const struct dw_profile *profile, uint32_t process,
                                     const char *key);
/* The same of a timing. */
struct dw_string dw_profile_timing_property(const struct dw_profile *profile,
                                            const struct dw_timing *timing, const char *key);
static inline struct dw_string dw_profile_string(const struct dw_profile *profile, dw_string_id id)
{
    return profile->strings.strings[id];
}
/* The last frame of a path of places. */
static inline const struct dw_frame *dw_profile_path_frame(const struct dw_profile *profile,
                                                           dw_path_id path)
{
    const struct dw_place *place = &profile->places.places[profile->paths.paths[path].step];
    return &profile->frames.frames[place->frame];
}
/* The last frame of a path of functions, and its name. */
static inline const struct dw_frame *dw_profile_frame(const struct dw_profile *profile,
                                                      dw_path_id path)
{
    return &profile->frames.frames[profile->functions.paths[path].step];
}
static inline struct dw_string dw_profile_path_name(const struct dw_profile *profile,
                                                    dw_path_id path)
{
    return dw_profile_string(profile, dw_profile_frame(profile, path)->name);
}
/* The samples of a thread, one after the other, as dw_sample_next. */
static inline bool dw_profile_sample(const struct dw_profile *profile, uint32_t thread,
                                     uint32_t *at, struct dw_sample *sample)
{
    return dw_sample_next(&profile->threads[thread].values, &profile->labels, at, sample);
}
static inline bool dw_thread_is_sampled(const struct dw_thread *thread)
{
    return thread->values.mask & DW_SAMPLE_MASK;
}
/* Wall-clock nanoseconds from first to last sign of life. */
uint64_t dw_process_duration_ns(const struct dw_process *process);

#endif
