# SPDX-License-Identifier: MIT
"""A reader of protobuf messages, without their schema."""


def number_at(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields_of(data):
    """Field numbers to lists of what they hold: numbers, or bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = number_at(data, at)
        value, at = number_at(data, at)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at : at + value], at + value
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = number_at(data, at)
        numbers.append(number)
    return numbers
