/* SPDX-License-Identifier: MIT
 * Samples are rows like all others; here they are read as samples. */
#include "model/sample.h"

const char *dw_sample_state_name(uint32_t state)
{
    static const char *const names[DW_SAMPLE_STATE_MASK + 1] = {
        [DW_SAMPLE_PYTHON] = "python", [DW_SAMPLE_NATIVE] = "native",
        [DW_SAMPLE_KERNEL] = "kernel", [DW_SAMPLE_WAITING] = "waiting",
        [DW_SAMPLE_GIL] = "gil",       [DW_SAMPLE_RUNNING] = "running"};
    return names[state & DW_SAMPLE_STATE_MASK];
}

uint32_t dw_labels_state(const struct dw_label_table *labels, dw_labels_id set)
{
    uint32_t state = labels->sets[set].state;
    return state ? state - 1 : DW_SAMPLE_RUNNING;
}

bool dw_sample_next(const struct dw_value_table *values, const struct dw_label_table *labels,
                    uint32_t *at, struct dw_sample *sample)
{
    while (*at < values->count && !(values->rows[*at].mask & DW_SAMPLE_MASK))
        ++*at;
    if (*at >= values->count)
        return false;
    const struct dw_value_row *row = &values->rows[(*at)++];
    *sample = (struct dw_sample){
        .path = row->path,
        .labels = row->labels,
        .state = dw_labels_state(labels, row->labels),
        .count = dw_value_get(values, row, DW_SAMPLES),
    };
    const uint64_t *cpu = dw_value_at(values, row, DW_CPU);
    const uint64_t *wall = dw_value_at(values, row, DW_WALL);
    sample->weight = wall ? *wall : cpu ? *cpu : sample->count;
    return true;
}
