/* SPDX-License-Identifier: MIT
 * Samples one Python process from outside: all its threads, once each time it is asked to. The
 * process is not stopped, except for
 * a thread whose stack could not be read otherwise, or whose native frames are wanted while it
 * runs, and then only for that reading. */
#ifndef DW_ATTACH_SAMPLING_SAMPLER_H
#define DW_ATTACH_SAMPLING_SAMPLER_H

#include "attach/native/merged_stack.h"
#include "attach/native/native_code.h"
#include "attach/python/thread_names.h"
#include "attach/sampling/call_table.h"
#include "attach/sampling/code_cache.h"
#include "attach/sampling/live_stack.h"
#include "attach/target/target_source.h"
#include "attach/target/task.h"
#include "base/pointer_map.h"

#define DW_SAMPLER_DEPTH 20000 /* frames of a stack at most */

struct dw_watched;

/* Told of every sample, beside the log. */
typedef void (*dw_sample_seen)(void *context, uint32_t thread, dw_path_id stack, uint32_t state,
                               uint64_t weight_ns);

struct dw_sampler {
    struct dw_ledger *log; /* borrowed */
    dw_sample_seen seen;   /* NULL: nobody is told */
    void *seen_context;
    struct dw_target_sources sources;
    struct dw_target target;
    struct dw_python python;
    bool is_lost; /* it became another program; it is looked for again */
    struct dw_live_reader reader;
    struct dw_code_cache cache;
    struct dw_raw_stack stack;
    struct dw_call_table calls;
    bool is_to_prove; /* the stack that was found last had a call that is worth a sure reading */
    struct dw_py_threads listed;
    struct dw_tasks tasks; /* for ids that the process sees otherwise, and for unknown threads */
    struct dw_thread_names names;
    struct dw_watched *threads; /* owned */
    uint32_t thread_count, thread_capacity;
    struct dw_pointer_map
        rested;         /* threads of the log whose state ended, by dw_watched's `birth` */
    uint32_t name_next; /* the thread whose name was looked up again last */
    uint64_t listed_ns; /* when the threads were listed */
    struct dw_native_code native; /* when the log says that native frames are wanted */
    struct dw_native_stack native_stack;
    struct dw_merged_frame *merged; /* owned; room for the deepest stack */
    uint64_t stops, stopped_ns;     /* readings that needed a thread to stand still */
};

/* The log comes later; its `sampling` says how. Errors are those of dw_target_open and
 * dw_python_locate; a Python that is still starting is DW_ERR_NO_RUNTIME. Release it in any case.
 */
int dw_sampler_init(struct dw_sampler *sampler, pid_t pid);
void dw_sampler_release(struct dw_sampler *sampler);
/* Takes a sample of each thread, which stands for the time from the last one's `until_ns` to this
 * one's. DW_ERR_ENDED when the process has ended; DW_ERR_PERMISSION when it became one that may
 * not be read, which may pass. */
int dw_sampler_take(struct dw_sampler *sampler, uint64_t until_ns);
/* Gives the last samples their CPU time, of which they wait to be told. */
int dw_sampler_spend_rest(struct dw_sampler *sampler);
/* Looks up the names of threads that have none, and again those of some that have one, since they
 * may be given late. */
int dw_sampler_name_threads(struct dw_sampler *sampler);
/* The same for all threads, which may take long. */
int dw_sampler_name_all_threads(struct dw_sampler *sampler);

#endif
