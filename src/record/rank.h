/* SPDX-License-Identifier: MIT
 * Which of the processes of an MPI job this one is, by the variables that Open MPI, MPICH, MVAPICH
 * and Slurm set for it. MPI itself is not needed. */
#ifndef DW_RECORD_RANK_H
#define DW_RECORD_RANK_H

#include <stdbool.h>
#include <stdint.h>

struct dw_rank {
    uint32_t rank, size;
};

/* False when this process is not one of several. */
bool dw_rank_now(struct dw_rank *rank);

#endif
