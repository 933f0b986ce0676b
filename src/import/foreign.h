/* SPDX-License-Identifier: MIT
 * A profile of another tool while it is read. Errors are sticky, as in an output. */
#ifndef DW_IMPORT_FOREIGN_H
#define DW_IMPORT_FOREIGN_H

#include "model/profile.h"

struct dw_foreign {
    struct dw_profile *profile;
    const char *name;
    uint64_t written_ns;
    uint64_t identity; /* a hash of the bytes: the same file is not added twice */
    uint32_t first_process;
    struct dw_foreign_key {
        uint64_t number; /* of the process, or of the thread */
        uint32_t process, name;
    } * processes, *threads; /* of this file, in the order of the profile's */
    uint32_t process_count, process_capacity, thread_count, thread_capacity;
    struct dw_map process_index, thread_index;
    uint32_t first_thread;
    struct dw_sampling sampling; /* of all processes, without `taken` */
    int error;
};

/* The formats: each tells whether bytes are its own, and reads them. */
bool dw_gperftools_is(struct dw_string bytes);
void dw_gperftools_read(struct dw_foreign *foreign, struct dw_string bytes);
bool dw_pprof_is(struct dw_string bytes);
void dw_pprof_read(struct dw_foreign *foreign, struct dw_string bytes);
bool dw_perf_script_is(struct dw_string text);
void dw_perf_script_read(struct dw_foreign *foreign, struct dw_string text);
bool dw_mprof_is(struct dw_string text);
void dw_mprof_read(struct dw_foreign *foreign, struct dw_string text);
bool dw_collapsed_is(struct dw_string text);
void dw_collapsed_read(struct dw_foreign *foreign, struct dw_string text);

/* The process or thread of that number, made when absent with that name. Threads without a
 * number are told apart by name. */
uint32_t dw_foreign_process(struct dw_foreign *foreign, uint64_t pid, struct dw_string program);
uint32_t dw_foreign_thread(struct dw_foreign *foreign, uint32_t process, uint64_t tid,
                           struct dw_string name);

dw_string_id dw_foreign_string(struct dw_foreign *foreign, struct dw_string string);
/* The place with that frame, and the stack of a place under `parent`. */
dw_place_id dw_foreign_place(struct dw_foreign *foreign, const struct dw_frame *frame,
                             struct dw_place place);
dw_path_id dw_foreign_push(struct dw_foreign *foreign, dw_path_id parent, dw_place_id place);
/* The place and its stack at once. */
dw_path_id dw_foreign_stack(struct dw_foreign *foreign, dw_path_id parent,
                            const struct dw_frame *frame, struct dw_place place);
void dw_foreign_add(struct dw_foreign *foreign, uint32_t thread, dw_path_id stack, uint32_t state,
                    uint64_t count, uint64_t weight);
/* A part that could not be understood. */
void dw_foreign_lose(struct dw_foreign *foreign, size_t bytes);

/* "x.so" of "/a/x.so", in brackets: what code without a name is called. */
dw_string_id dw_foreign_object_name(struct dw_foreign *foreign, struct dw_string path);

/* The next line without its end, which moves *text behind it; false at the end. */
bool dw_text_line(struct dw_string *text, struct dw_string *line);
/* A number at the start of the text, which moves *text behind it. */
bool dw_text_number(struct dw_string *text, unsigned base, uint64_t *number);
/* Where the character is last; NULL: nowhere. */
const char *dw_text_last(struct dw_string text, char c);
bool dw_text_is(struct dw_string text, const char *other);
/* Without the spaces and tabs around it. */
struct dw_string dw_text_trimmed(struct dw_string text);
/* The next word, which *text moves behind; empty at the end. */
struct dw_string dw_text_word(struct dw_string *text);
/* Whether the text begins so; moves behind it then. */
bool dw_text_skip(struct dw_string *text, const char *prefix);

#endif
