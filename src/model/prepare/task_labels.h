/* SPDX-License-Identifier: MIT
 * Tasks as labels. A sampled stack goes through the task that ran, as a mark among its places; so
 * what was sampled in it gets the label `task` too. */
#ifndef DW_MODEL_PREPARE_TASK_LABELS_H
#define DW_MODEL_PREPARE_TASK_LABELS_H

#include "model/profile.h"

/* The innermost task of the path counts. 0 or DW_ERR_MEMORY. */
int dw_samples_label_tasks(struct dw_profile *profile);

#endif
