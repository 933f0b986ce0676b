/* SPDX-License-Identifier: MIT
 * Memory of the system for what is large and soon given back. The program shares malloc with us,
 * which would keep it. */
#ifndef DW_BASE_PAGES_H
#define DW_BASE_PAGES_H

#include <stddef.h>

#define DW_PAGES_MIN ((size_t)1 << 17) /* less than that is malloc's */

/* From the old size to the new one, either of which may be 0: then there is none. NULL when there
 * is no memory, and the old ones stay. */
void *dw_pages_resize(void *pages, size_t old_size, size_t size);

#endif
