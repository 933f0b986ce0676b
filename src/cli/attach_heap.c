/* SPDX-License-Identifier: MIT
 * The process is stopped while it is read, and goes on before anything is worked out. */
#include "cli/attach_heap.h"

#include "attach/heap/outside_walk.h"
#include "attach/sampling/describe.h"
#include "attach/target/stop_all.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/memory_limit.h"
#include "cli/process_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COLLECTION_TRIES 200 /* while it collects garbage, its lists do not hold together */
#define COLLECTION_PAUSE_US 5000

struct picture {
    struct dw_heap heap;
    struct dw_outside_numbers numbers;
    uint64_t taken_ns, stopped_ns;
};

static int take_once(const struct dw_python *python, bool is_last, struct picture *picture)
{
    struct dw_stopped stopped;
    picture->taken_ns = dw_clock_ns(CLOCK_MONOTONIC);
    int error = dw_process_stop(python->target->pid, &stopped);
    if (error)
        return error;
    error = !is_last && dw_outside_is_collecting(python)
                ? DW_ERR_EMPTY
                : dw_outside_walk(python, &picture->heap, &picture->numbers);
    dw_process_let_go(&stopped);
    picture->stopped_ns += dw_clock_ns(CLOCK_MONOTONIC) - picture->taken_ns;
    return error;
}

static int take(const struct dw_python *python, struct picture *picture)
{
    int error = DW_ERR_EMPTY;
    for (int i = 1; i <= COLLECTION_TRIES && error == DW_ERR_EMPTY; i++) {
        if (i > 1)
            usleep(COLLECTION_PAUSE_US);
        error = take_once(python, i == COLLECTION_TRIES, picture);
    }
    return error;
}

static int write_picture(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    const struct picture *picture = context;
    dw_ledger_define(ledger, sink);
    dw_log_write_heap(&sink->writer, 0, picture->taken_ns,
                      (struct dw_string){"attach", strlen("attach")}, &picture->heap);
    return 0;
}

static int save(const struct dw_python *python, struct picture *picture,
                const struct dw_ledger_options *file)
{
    struct dw_ledger *ledger;
    int error = dw_ledger_open(file, &ledger);
    if (error)
        return error;
    error = dw_target_describe(python, ledger);
    if (!error)
        error = dw_ledger_flush(ledger, write_picture, picture, false);
    int trouble = dw_ledger_stop(ledger);
    dw_ledger_release(ledger);
    return error ? error : trouble;
}

static void report(pid_t pid, const struct picture *picture, const char *path)
{
    const struct dw_outside_numbers *numbers = &picture->numbers;
    fprintf(stderr,
            "dwell: process %d: %" PRIu64 " objects, %" PRIu64 " of them tracked; it was stopped "
            "for %.1f ms\n",
            (int)pid, numbers->objects, numbers->tracked, (double)picture->stopped_ns / 1e6);
    if (numbers->unknown)
        fprintf(stderr,
                "dwell: %" PRIu64 " objects of %u types of C code may hold more than can be seen "
                "from outside; what they hold appears as held by C code\n",
                numbers->unknown, numbers->unknown_types);
    if (numbers->is_collecting)
        fputs("dwell: it was collecting garbage all the time; some objects may be missing\n",
              stderr);
    fprintf(stderr, "dwell: recorded in %s; see 'dwell report --by type'\n", path);
}

static int run(const struct dw_target *target, struct dw_python *python, const char *path,
               bool is_path_ours, bool is_quiet)
{
    struct picture picture = {0};
    struct dw_ledger_options file = {
        .path = path, .is_name_ours = is_path_ours, .is_late = true, .is_quiet = true};
    int error = dw_python_locate(target, python);
    if (!error && python->free_threaded)
        error = DW_ERR_PYTHON_VERSION;
    if (!error)
        error = take(python, &picture);
    if (error)
        return dw_cli_process_trouble(target->pid, python, error);
    error = save(python, &picture, &file);
    if (!error && !is_quiet)
        report(target->pid, &picture, path);
    dw_heap_release(&picture.heap);
    return error ? dw_cli_error(path, error) : 0;
}

int dw_cli_attach_heap(pid_t pid, const char *path, bool is_path_ours, bool is_quiet)
{
    struct dw_target target;
    struct dw_python python = {0};
    dw_memory_unlimit(); /* a heap is as large as it is */
    int error = dw_target_open(pid, &target);
    if (error)
        return dw_cli_process_trouble(pid, &python, error);
    int status = run(&target, &python, path, is_path_ours, is_quiet);
    dw_target_release(&target);
    return status;
}
