/* SPDX-License-Identifier: MIT
 * A dump of stacks as text and as JSON. */
#ifndef DW_CLI_DUMP_TEXT_H
#define DW_CLI_DUMP_TEXT_H

#include "attach/dump/dump.h"
#include "base/out.h"

/* What is printed of a process. */
struct dw_dump_words {
    const struct dw_python *python;
    const struct dw_dump *dump;
    uint32_t max_depth;
};

void dw_dump_put_text(const struct dw_dump_words *words, struct dw_out *out);
void dw_dump_put_json(const struct dw_dump_words *words, struct dw_out *out);

#endif
