/* SPDX-License-Identifier: MIT
 * A launcher that was started by another one sets its own variables beside those of the other: the
 * launchers of MPI come before Slurm, which may have started them. */
#include "record/rank.h"

#include <stddef.h>
#include <stdlib.h>

static const char *const variables[][2] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, /* the second is absent outside of srun */
};

static bool number_of(const char *variable, uint32_t *number)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    unsigned long value = strtoul(text, &end, 10);
    *number = (uint32_t)value;
    return !*end && value < UINT32_MAX;
}

bool dw_rank_now(struct dw_rank *rank)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        struct dw_rank found;
        if (number_of(variables[i][0], &found.rank) && number_of(variables[i][1], &found.size)) {
            *rank = found;
            return found.size > 1 && found.rank < found.size;
        }
    }
    return false;
}
