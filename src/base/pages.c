/* SPDX-License-Identifier: MIT
 * The kernel rounds sizes up to whole pages, alike each time. */
#include "base/pages.h"

#include <sys/mman.h>

void *dw_pages_resize(void *pages, size_t old_size, size_t size)
{
    void *made = NULL;
    if (!size && old_size)
        munmap(pages, old_size);
    else if (old_size)
        made = mremap(pages, old_size, size, MREMAP_MAYMOVE);
    else if (size)
        made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}
