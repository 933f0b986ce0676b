/* SPDX-License-Identifier: MIT
 * What pstats.Stats("file") reads: a dict in Python's marshal format, of which
 * only the parts that all versions since 2.5 load are written. Note the order of
 * the numbers: primitive calls come first for a function, second for a caller. */
#include "lens/lens.h"
#include "lens/view/functions.h"

static void put_byte(struct dw_out *out, uint32_t value)
{
    dw_out_char(out, (char)(uint8_t)value);
}

static void put_bytes(struct dw_out *out, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        put_byte(out, (uint32_t)(value >> 8 * i & 0xff));
}

/* Numbers beyond 31 bits are digits of 15 bits, the lowest first. */
static void put_int(struct dw_out *out, uint64_t value)
{
    if (value <= INT32_MAX) {
        dw_out_char(out, 'i');
        put_bytes(out, value, 4);
        return;
    }
    uint64_t digits = 0;
    for (uint64_t rest = value; rest; rest >>= 15)
        digits++;
    dw_out_char(out, 'l');
    put_bytes(out, digits, 4);
    for (; value; value >>= 15)
        put_bytes(out, value & 0x7fff, 2);
}

static void put_seconds(struct dw_out *out, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    dw_out_char(out, 'g');
    put_bytes(out, bits, 8);
}

/* Python's loader takes UTF-8 and lone surrogates, and nothing else. */
static size_t loadable_length(const uint8_t *at, const uint8_t *end)
{
    bool surrogate =
        end - at >= 3 && at[0] == 0xed && at[1] >= 0xa0 && at[1] <= 0xbf && (at[2] & 0xc0) == 0x80;
    return surrogate ? 3 : dw_utf8_length(at, end);
}

static void put_loadable(struct dw_out *out, struct dw_string string)
{
    const uint8_t *at = (const uint8_t *)string.bytes, *end = at + string.size;
    while (at < end) {
        size_t length = loadable_length(at, end);
        if (length)
            dw_out_write(out, at, length);
        else
            dw_out_text(out, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
}

static void put_string(struct dw_out *out, struct dw_string string, struct dw_out *scratch)
{
    dw_buffer_clear(&scratch->buffer);
    put_loadable(scratch, string);
    dw_out_char(out, 'u');
    put_bytes(out, scratch->buffer.size, 4);
    dw_out_write(out, scratch->buffer.data, scratch->buffer.size);
}

static void put_tuple(struct dw_out *out, uint32_t size)
{
    dw_out_char(out, '(');
    put_bytes(out, size, 4);
}

static void put_key(struct dw_out *out, const struct dw_function *function, struct dw_out *scratch)
{
    put_tuple(out, 3);
    put_string(out, function->file, scratch);
    put_int(out, function->line);
    put_string(out, function->name, scratch);
}

static void put_callers(struct dw_out *out, const struct dw_functions *functions, uint32_t index,
                        struct dw_out *scratch)
{
    const struct dw_function_edges *callers = &functions->callers;
    dw_out_char(out, '{');
    for (uint32_t i = callers->start[index]; i < callers->start[index + 1]; i++) {
        const struct dw_call_edge *edge = &callers->edges[i];
        put_key(out, &functions->functions[edge->caller], scratch);
        put_tuple(out, 4);
        put_int(out, edge->sums.count);
        put_int(out, edge->sums.primitive);
        put_seconds(out, edge->sums.self);
        put_seconds(out, edge->sums.total);
    }
    dw_out_char(out, '0');
}

static void put_function(struct dw_out *out, const struct dw_functions *functions, uint32_t index,
                         struct dw_out *scratch)
{
    const struct dw_function *function = &functions->functions[index];
    put_key(out, function, scratch);
    put_tuple(out, 5);
    put_int(out, function->sums.primitive);
    put_int(out, function->sums.count);
    put_seconds(out, function->sums.self);
    put_seconds(out, function->sums.total);
    put_callers(out, functions, index, scratch);
}

static int write_pstats(const struct dw_profile *profile, const struct dw_lens_options *options,
                        struct dw_out *out)
{
    struct dw_functions functions;
    struct dw_out scratch;
    int error = dw_functions_make(profile, options->family, false, true, &functions);
    if (error)
        return error;
    dw_out_init_memory(&scratch);
    dw_out_char(out, '{');
    for (uint32_t i = 0; i < functions.count && !out->error; i++)
        put_function(out, &functions, i, &scratch);
    dw_out_char(out, '0');
    dw_functions_release(&functions);
    return dw_out_close(&scratch);
}

const struct dw_lens dw_lens_pstats = {
    .name = "pstats",
    .summary = "functions and their callers, for pstats, snakeviz, gprof2dot, tuna",
    .extension = ".pstats",
    .lacks_notes = true,
    .binary = true,
    .write = write_pstats,
};
