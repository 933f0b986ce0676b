/* SPDX-License-Identifier: MIT
 * Callgrind's format 1, for KCachegrind and its kin. A function's cost is booked
 * on its first line, and so are its calls: calls are recorded without their lines.
 * Names are written once and are numbers from then on. */
#include "base/error.h"
#include "lens/export/callgrind_stacks.h"
#include "lens/lens.h"
#include "lens/view/functions.h"
#include "lens/view/notes.h"
#include "lens/view/stack_tree.h"

#include <inttypes.h>
#include <stdlib.h>

struct callgrind {
    struct dw_functions functions;
    uint32_t *file_of; /* of each function, from 1; functions of a file are neighbours */
    bool *file_named, *function_named;
    struct dw_out scratch;
    struct dw_out *out;
};

static bool same_file(const struct dw_function *a, const struct dw_function *b)
{
    return a->file.size == b->file.size && !memcmp(a->file.bytes, b->file.bytes, a->file.size);
}

static int number_files(struct callgrind *callgrind)
{
    uint32_t count = callgrind->functions.count, files = 0;
    const struct dw_function *functions = callgrind->functions.functions;
    callgrind->file_of = calloc(count + 1u, sizeof *callgrind->file_of);
    callgrind->file_named = calloc(count + 1u, sizeof *callgrind->file_named);
    callgrind->function_named = calloc(count + 1u, sizeof *callgrind->function_named);
    if (!callgrind->file_of || !callgrind->file_named || !callgrind->function_named)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        files += !i || !same_file(&functions[i - 1], &functions[i]);
        callgrind->file_of[i] = files;
    }
    return 0;
}

void dw_callgrind_put_header(struct dw_out *out, const struct dw_profile *profile, bool are_samples,
                             const char *event, uint64_t total)
{
    dw_out_text(out, "# callgrind format\nversion: 1\ncreator: dwell " DW_VERSION "\n");
    if (profile->process_count) {
        struct dw_string argv = dw_profile_property(profile, 0, "argv");
        dw_out_printf(out, "pid: %" PRIu64 "\n", profile->processes[0].pid);
        dw_out_text(out, argv.size ? "cmd: " : "");
        dw_out_printable(out, argv.bytes, argv.size);
        dw_out_text(out, argv.size ? "\n" : "");
    }
    if (are_samples)
        dw_notes_put_sampling(out, profile, "# ");
    dw_notes_put_losses(out, profile, "# ");
    dw_out_printf(out, "positions: line\nevents: %s\nsummary: %" PRIu64 "\n", event, total);
}

static void put_file(struct callgrind *callgrind, const char *key, uint32_t function)
{
    uint32_t number = callgrind->file_of[function];
    const struct dw_string *file = &callgrind->functions.functions[function].file;
    dw_out_printf(callgrind->out, "%s=(%u)", key, number);
    if (!callgrind->file_named[number]) {
        callgrind->file_named[number] = true;
        dw_out_char(callgrind->out, ' ');
        dw_out_printable(callgrind->out, file->bytes, file->size);
    }
    dw_out_char(callgrind->out, '\n');
}

/* Some readers tell functions apart by name alone, so the name holds module and line. */
static void put_name(struct callgrind *callgrind, const char *key, uint32_t function)
{
    struct dw_out *scratch = &callgrind->scratch;
    dw_out_printf(callgrind->out, "%s=(%u)", key, function + 1);
    if (!callgrind->function_named[function]) {
        callgrind->function_named[function] = true;
        dw_buffer_clear(&scratch->buffer);
        dw_function_put_node(scratch, &callgrind->functions.functions[function]);
        dw_out_char(callgrind->out, ' ');
        dw_out_printable(callgrind->out, scratch->buffer.data, scratch->buffer.size);
    }
    dw_out_char(callgrind->out, '\n');
}

static void put_call(struct callgrind *callgrind, const struct dw_call_edge *edge)
{
    const struct dw_function *functions = callgrind->functions.functions;
    put_file(callgrind, "cfi", edge->callee);
    put_name(callgrind, "cfn", edge->callee);
    dw_out_printf(callgrind->out, "calls=%" PRIu64 " %u\n%u %" PRIu64 "\n", edge->sums.count,
                  functions[edge->callee].line, functions[edge->caller].line, edge->sums.total);
}

static void put_function(struct callgrind *callgrind, uint32_t index)
{
    const struct dw_function *function = &callgrind->functions.functions[index];
    const struct dw_function_edges *callees = &callgrind->functions.callees;
    dw_out_char(callgrind->out, '\n');
    put_file(callgrind, "fl", index);
    put_name(callgrind, "fn", index);
    dw_out_printf(callgrind->out, "%u %" PRIu64 "\n", function->line, function->sums.self);
    for (uint32_t i = callees->start[index]; i < callees->start[index + 1]; i++)
        put_call(callgrind, &callees->edges[i]);
}

static int write_callgrind(const struct dw_profile *profile, const struct dw_lens_options *options,
                           struct dw_out *out)
{
    struct callgrind callgrind = {.out = out};
    if (dw_shows_samples(profile, options->family))
        return dw_callgrind_put_stacks(out, profile);
    int error = dw_functions_make(profile, options->family, false, &callgrind.functions);
    if (error)
        return error;
    dw_out_init_memory(&callgrind.scratch);
    error = number_files(&callgrind);
    if (!error)
        dw_callgrind_put_header(out, profile, false, "ns", callgrind.functions.all.total);
    for (uint32_t i = 0; !error && i < callgrind.functions.count && !out->error; i++)
        put_function(&callgrind, i);
    if (!error)
        dw_out_printf(out, "\ntotals: %" PRIu64 "\n", callgrind.functions.all.total);
    free(callgrind.file_of);
    free(callgrind.file_named);
    free(callgrind.function_named);
    dw_functions_release(&callgrind.functions);
    int scratch_error = dw_out_close(&callgrind.scratch);
    return error ? error : scratch_error;
}

const struct dw_lens dw_lens_callgrind = {
    .name = "callgrind",
    .summary = "functions and calls, for KCachegrind and QCachegrind",
    .extension = ".callgrind",
    .shows_places = true,
    .write = write_callgrind,
};
