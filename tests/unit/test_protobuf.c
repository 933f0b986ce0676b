/* SPDX-License-Identifier: MIT
 * Messages as the description of the encoding has them, and gzip that zlib reads. */
#include "check.h"

#include "base/gzip.h"
#include "base/protobuf.h"

#include <stdlib.h>

static void test_fields(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e', 's',
                                       't',  'i',  'n',  'g',  0x82, 0x01, 0x00};
    struct dw_buffer message = {0};
    dw_protobuf_put_number(&message, 1, 150);
    dw_protobuf_put_number(&message, 3, 0);
    dw_protobuf_put_bytes(&message, 2, "testing", 7);
    dw_protobuf_put_bytes(&message, 16, NULL, 0);
    assert_int_equal(message.size, sizeof expected);
    assert_memory_equal(message.data, expected, sizeof expected);
    dw_buffer_release(&message);
}

static void test_head_is_that_of_a_field(void **state)
{
    (void)state;
    char text[300] = "";
    uint8_t head[DW_PROTOBUF_HEAD_MAX];
    struct dw_buffer message = {0};
    dw_protobuf_put_bytes(&message, 2000, text, sizeof text);
    size_t size = dw_protobuf_head(head, 2000, sizeof text);
    assert_int_equal(size, message.size - sizeof text);
    assert_memory_equal(head, message.data, size);
    assert_true(dw_protobuf_head(head, UINT32_MAX, SIZE_MAX) <= sizeof head);
    dw_buffer_release(&message);
}

/* Bytes that cannot be made smaller, so that the output is written in many pieces. */
static void test_gzip_is_what_was_written(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    uint8_t *bytes = malloc(SIZE), *again = malloc(SIZE);
    for (uint32_t i = 0, value = 1; i < SIZE; i++, value = value * 1664525 + 1013904223)
        bytes[i] = (uint8_t)(value >> 24);
    struct dw_out out;
    struct dw_gzip gzip;
    dw_out_init_memory(&out);
    assert_int_equal(dw_gzip_init(&gzip, &out), 0);
    dw_gzip_write(&gzip, bytes, 1);
    dw_gzip_write(&gzip, bytes, 0);
    dw_gzip_write(&gzip, bytes + 1, SIZE - 1);
    dw_gzip_close(&gzip);
    z_stream stream = {.next_in = out.buffer.data,
                       .avail_in = (unsigned)out.buffer.size,
                       .next_out = again,
                       .avail_out = SIZE};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in + stream.avail_out, 0);
    assert_memory_equal(again, bytes, SIZE);
    inflateEnd(&stream);
    dw_out_close(&out);
    free(bytes);
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_head_is_that_of_a_field),
        cmocka_unit_test(test_gzip_is_what_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
