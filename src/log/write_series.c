/* SPDX-License-Identifier: MIT
 * Readings of gauges, as steps from one to the next: an hour of them, ten a second, takes a few
 * hundred kilobytes. */
#include "log/writing.h"

#include "base/varint.h"

static void put_head(struct dw_buffer *payload, uint32_t process, uint32_t thread,
                     const struct dw_gauge *gauges, size_t count, uint64_t base_ns)
{
    dw_buffer_put(payload, thread != 0);
    dw_buffer_put(payload, thread ? thread - 1 : process);
    dw_buffer_put(payload, count);
    for (size_t i = 0; i < count; i++) {
        dw_put_string(payload, (struct dw_string){gauges[i].name, strlen(gauges[i].name)});
        dw_buffer_put(payload, (uint64_t)gauges[i].unit << 1 | gauges[i].is_total);
        dw_buffer_put(payload, gauges[i].quantum);
    }
    dw_buffer_put(payload, base_ns);
}

void dw_reading_put(struct dw_buffer *readings, uint64_t delta_us, const int64_t *deltas,
                    size_t count)
{
    dw_buffer_put(readings, delta_us);
    for (size_t i = 0; i < count; i++)
        dw_buffer_put(readings, dw_zigzag(deltas[i]));
}

void dw_log_write_series(struct dw_log_writer *writer, uint32_t process, uint32_t thread,
                         const struct dw_gauge *gauges, size_t count, uint64_t base_ns,
                         const struct dw_buffer *readings)
{
    struct dw_buffer *payload = dw_log_chunk_begin(writer);
    put_head(payload, process, thread, gauges, count, base_ns);
    dw_buffer_append(payload, readings->data, readings->size);
    dw_log_chunk_write(writer, DW_CHUNK_SERIES);
}

/* The largest number that all values are multiples of. */
static uint64_t quantum_of(const struct dw_series *series)
{
    uint64_t quantum = 0;
    for (uint32_t i = 0; i < series->count && quantum != 1; i++) {
        int64_t value = series->points[i].value;
        uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        while (rest) {
            uint64_t next = quantum % rest;
            quantum = rest;
            rest = next;
        }
    }
    return quantum && quantum <= INT64_MAX ? quantum : 1;
}

/* Points from *at on, as many as a chunk takes. */
static void save_points(struct dw_buffer *payload, const struct dw_series *series,
                        const struct dw_gauge *gauges, size_t count, uint32_t *at)
{
    int64_t before[DW_GAUGES_MAX] = {0}, deltas[DW_GAUGES_MAX];
    uint64_t base_ns = series->points[*at].time_ns, last_us = 0;
    for (; *at < series->count && payload->size < DW_CHUNK_TARGET && !payload->failed; ++*at) {
        uint64_t now_us = (series->points[*at].time_ns - base_ns) / 1000;
        for (size_t i = 0; i < count; i++) {
            int64_t value = series[i].points[*at].value / (int64_t)gauges[i].quantum;
            deltas[i] = (int64_t)((uint64_t)value - (uint64_t)before[i]);
            before[i] = value;
        }
        dw_reading_put(payload, now_us - last_us, deltas, count);
        last_us = now_us;
    }
}

void dw_log_save_series(struct dw_log_writer *writer, const struct dw_profile *profile,
                        const struct dw_series *series, size_t count)
{
    const struct dw_clock_pair *epoch = &profile->processes[series->process].first_clock;
    struct dw_gauge gauges[DW_GAUGES_MAX];
    for (size_t i = 0; i < count; i++)
        gauges[i] = (struct dw_gauge){dw_profile_string(profile, series[i].name).bytes,
                                      series[i].unit, series[i].is_total, quantum_of(&series[i])};
    for (uint32_t at = 0; at < series->count && !writer->error;) {
        struct dw_buffer *payload = dw_log_chunk_begin(writer);
        uint64_t base_ns = epoch->monotonic_ns + (series->points[at].time_ns - epoch->wall_ns);
        put_head(payload, series->process, series->thread, gauges, count, base_ns);
        save_points(payload, series, gauges, count, &at);
        dw_log_chunk_write(writer, DW_CHUNK_SERIES);
    }
}
