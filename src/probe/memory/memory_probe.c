/* SPDX-License-Identifier: MIT
 * Who starts, stops and forks takes a turn, one after the other. */
#include "probe/memory/memory_probe.h"

#include "base/error.h"
#include "record/ledger.h"

#include <pthread.h>

static struct {
    pthread_mutex_t turn;
    bool is_on;
    struct dw_ledger *log;
} memory = {.turn = PTHREAD_MUTEX_INITIALIZER};

bool dw_memory_is_on(void)
{
    return memory.is_on;
}

static int collect(void *context, struct dw_ledger *ledger, struct dw_sink *sink)
{
    (void)context;
    dw_ledger_define(ledger, sink);
    return 0;
}

int dw_memory_start(const struct dw_memory_options *options)
{
    dw_probe_add(&dw_memory_probe);
    pthread_mutex_lock(&memory.turn);
    int error =
        memory.is_on
            ? DW_ERR_ARGUMENT
            : dw_ledger_open(&(struct dw_ledger_options){.path = options->log_file}, &memory.log);
    memory.is_on = memory.is_on || !error;
    pthread_mutex_unlock(&memory.turn);
    return error;
}

int dw_memory_stop(struct dw_buffer *bytes)
{
    int error = 0;
    pthread_mutex_lock(&memory.turn);
    if (memory.is_on) {
        dw_ledger_flush(memory.log, collect, NULL, true);
        error = dw_ledger_stop(memory.log);
        const struct dw_log_writer *writer = &memory.log->sink.writer;
        if (bytes && !memory.log->path)
            dw_buffer_append(bytes, writer->memory.data, writer->memory.size);
        dw_ledger_release(memory.log);
        memory.log = NULL;
        memory.is_on = false;
    }
    pthread_mutex_unlock(&memory.turn);
    return error;
}

static void stop_for_good(void)
{
    dw_memory_stop(NULL);
}

struct dw_probe dw_memory_probe = {
    .name = "memory",
    .stop = stop_for_good,
};
