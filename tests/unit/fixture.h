/* SPDX-License-Identifier: MIT
 * Profiles built by hand, for tests. Times are nanoseconds. Everything aborts on
 * trouble: a fixture that cannot be built proves nothing. */
#ifndef DW_TESTS_FIXTURE_H
#define DW_TESTS_FIXTURE_H

#include "lens/lens.h"
#include "log/writer.h"
#include "model/metric.h"

#define FIXTURE_START_NS 1700000000000000000u

struct dw_profile *fixture_new(void);
/* A process that starts `start` after FIXTURE_START_NS and lasts 10 ms. */
uint32_t fixture_process(struct dw_profile *profile, uint64_t pid, uint64_t start);
void fixture_property(struct dw_profile *profile, uint32_t process, const char *key,
                      const char *value);
uint32_t fixture_thread(struct dw_profile *profile, uint32_t process, uint64_t tid,
                        const char *name);
/* The path of a place under another. */
dw_path_id fixture_step(struct dw_profile *profile, dw_path_id parent, struct dw_place place);
/* The same of a frame without a file or lines. */
dw_path_id fixture_child(struct dw_profile *profile, dw_path_id parent, enum dw_frame_kind kind,
                         const void *name, size_t size);
/* The path of regions "a/b/c"; "" is the root. */
dw_path_id fixture_path(struct dw_profile *profile, const char *text);

/* The root, open for `total`. */
void fixture_root(struct dw_profile *profile, uint32_t thread, uint64_t total);
/* A completed entry, whose time also counts as the parent's children's. Of functions it is a call.
 */
void fixture_entry(struct dw_profile *profile, uint32_t thread, dw_path_id path, uint64_t duration);
/* An entry still open after `duration`; calls count as if they ended now. */
void fixture_open(struct dw_profile *profile, uint32_t thread, dw_path_id path, uint64_t duration);
/* Adds to one measure of a path. */
void fixture_add(struct dw_profile *profile, uint32_t thread, dw_path_id path,
                 enum dw_measure measure, uint64_t number);
/* What was measured on a path without labels; it must be there. */
const struct dw_value_row *fixture_row(const struct dw_profile *profile, uint32_t thread,
                                       dw_path_id path);
uint64_t fixture_value(const struct dw_profile *profile, uint32_t thread, dw_path_id path,
                       enum dw_measure measure);
/* Its entries, with a spread that is the profile's. */
struct dw_metric fixture_metric(const struct dw_profile *profile, uint32_t thread, dw_path_id path);

/* Adds a block of events; times are relative to FIXTURE_START_NS. */
void fixture_events(struct dw_profile *profile, uint32_t thread, uint32_t sequence, dw_path_id top,
                    const struct dw_event *events, size_t count);

/* The frame of a Python function. */
dw_frame_id fixture_function(struct dw_profile *profile, const char *file, uint32_t first_line,
                             const char *name);
/* A row of the line table: hits, and the time as time, self and inclusive. */
struct dw_line *fixture_line(struct dw_profile *profile, dw_frame_id function, uint32_t line,
                             uint64_t hits, uint64_t time);

/* A row of what that line called, likewise. */
struct dw_line *fixture_callee(struct dw_profile *profile, dw_frame_id function, uint32_t line,
                               dw_frame_id callee, uint64_t calls, uint64_t time);
/* The text of a file as it was. */
void fixture_source(struct dw_profile *profile, const char *file, const char *text);

/* A function with lines, of which one has a callee and one never ran. */
void fixture_add_lines(struct dw_profile *profile);

/* A timing by the first process, side by side with others: runs of 1000 loops that take
 * `around_ns` and up to 1 us more for each run. */
void fixture_timing(struct dw_profile *profile, const char *name, uint32_t runs,
                    uint64_t around_ns);

/* One process, two threads:
 *   <main> 10 ms; load 6 ms (2 entries: 2 and 4 ms); load/parse 3 ms (3 entries of 1 ms)
 *   worker: load 1 ms; a counter "bytes" and a timeline of the first thread. */
struct dw_profile *fixture_small(void);

/* One process, sampled at 1 kHz: 10 samples in two threads, 10 ms.
 *   app.py main (1), work (5); scatter.c scatter (28), inlined into loop (10); memcpy; <gc> */
struct dw_profile *fixture_sampled(enum dw_sample_mode mode);
/* The same by wall time, with entries and calls beside the samples, of which some have labels. */
struct dw_profile *fixture_mixed(void);
/* Samples of a thread, which stand for that time in what the process was sampled by. */
void fixture_sample(struct dw_profile *profile, uint32_t thread, dw_path_id path, uint32_t state,
                    uint64_t count, uint64_t weight_ns);
/* The labels of samples in that state. */
dw_labels_id fixture_state(struct dw_profile *profile, uint32_t state);

/* A number below the bound; the same ones in each run. */
uint32_t fixture_random_below(uint32_t bound);

/* Makes a profile that is complete ready for lenses, unless it is; internals of the interpreter
 * stay. */
void fixture_prepare(struct dw_profile *profile);
/* The lens's output, to be freed; NUL-terminated. Fails the test when the lens fails. The profile
 * is prepared for it. */
char *fixture_show(struct dw_profile *profile, const char *lens,
                   const struct dw_lens_options *options, size_t *size);
/* The profile as a log in the writer's memory. */
void fixture_save(const struct dw_profile *profile, struct dw_log_writer *writer);
/* The process, and what the profile has of its first thread: tid 41, "MainThread". */
void fixture_write_main(const struct dw_profile *profile, const struct dw_process *process,
                        uint64_t last_tick, struct dw_log_writer *writer);
/* The profile that a log holds. */
struct dw_profile *fixture_load(const uint8_t *bytes, size_t size);

/* What reports say of how the samples of fixture_sampled(DW_SAMPLE_CPU) were taken. */
#define HEADER_RATE                                                                                \
    "CPU time: 10 samples, 1000 Hz asked, 1000 Hz obtained; 3 missed, 2 guessed, 1 cut\n"
#define HEADER_MISSED "missed samples were due and not taken\n"
#define HEADER_GUESSED "guessed samples have native callers that are likely, not certain\n"
#define HEADER_CUT "cut samples lack their outermost functions\n"
#define HEADER_GIL "GIL: held in 30.0 % of the time sampled, waited for in 10.0 %\n"

#endif
