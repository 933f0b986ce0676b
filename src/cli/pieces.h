/* SPDX-License-Identifier: MIT
 * Recordings that become one. They are read one after the other, so that memory holds the numbers
 * of one of them and the names of all, and taken in the order of their starts, so that the result
 * does not depend on how they were named. */
#ifndef DW_CLI_PIECES_H
#define DW_CLI_PIECES_H

#include "model/profile.h"

#define DW_PIECE_NAME_MAX 80

struct dw_piece {
    char *file; /* borrowed */
    uint64_t start_ns;
    uint8_t uuid[16];             /* of the process that started first */
    char name[DW_PIECE_NAME_MAX]; /* and its name */
    char program[DW_PIECE_NAME_MAX];
    bool is_left_out; /* nobody wants it in the result */
    int error;        /* with which it could not be read: it is not in the result either */
};

struct dw_pieces {
    struct dw_piece *pieces; /* owned */
    uint32_t count, capacity;
};

int dw_pieces_add(struct dw_pieces *pieces, char *file);
void dw_pieces_release(struct dw_pieces *pieces);
/* Finds out whose recordings they are, and sorts them. */
void dw_pieces_sort(struct dw_pieces *pieces);
/* One by itself, with what it is found out to be. */
struct dw_piece dw_piece_of(char *file);
/* Leaves out those of processes that are called otherwise; the pattern is one of shells. When that
 * would be all of them it leaves out none, and returns false. After dw_pieces_sort. */
bool dw_pieces_keep_only(struct dw_pieces *pieces, const char *pattern);
/* Makes one recording of them, which appears when it is whole and may replace one of them. Whether
 * it is there; if not, it has said why. `says`: also what is wrong with pieces that are not in it,
 * and what they have lost. */
bool dw_pieces_merge(struct dw_pieces *pieces, const char *path, bool says);
/* How many are in it, and how many could not be read. */
uint32_t dw_pieces_merged(const struct dw_pieces *pieces);
uint32_t dw_pieces_unread(const struct dw_pieces *pieces);

#endif
