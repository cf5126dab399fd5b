/* SPDX-License-Identifier: MIT
 * Arrays in files: NumPy's are read, of every type and version. lookup.py has files that are
 * refused. */
#include "capture.h"
#include "indices.h"
#include "npy.h"
#include "test.h"

enum { FILE_BYTES = 512 };

/* A file as NumPy writes it: of a version, with a header of 118 bytes padded by blanks, and bytes
 * 1, 2, 3 ... behind. */
static size_t make_file(char file[FILE_BYTES], unsigned version, const char *header,
                        size_t value_bytes)
{
    const size_t begin = version > 1 ? 12 : 10, length = 118;

    memset(file, ' ', FILE_BYTES);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    memset(file + 8, 0, begin - 8);
    file[8] = (char)length;
    memcpy(file + begin, header, strlen(header));
    file[begin + length - 1] = '\n';
    for (size_t i = 0; i < value_bytes; i++)
        file[begin + length + i] = (char)(i + 1);
    return begin + length + value_bytes;
}

TEST(what_numpy_writes_is_read)
{
    static const struct {
        unsigned version;
        const char *header;
        size_t value_bytes;
        uint32_t bytes, dimensions;
        bool is_signed;
        uint64_t rows, columns, second; /* the second value */
    } cases[] = {
        {1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 24, 4, 2, true, 2, 3,
         0x08070605},
        {1, "{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }", 24, 8, 1, false, 3, 1,
         0x100f0e0d0c0b0a09},
        {2, "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", 5, 1, 1, false, 5, 1, 2},
        {3, "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 5), }", 5, 1, 2, true, 1, 5, 2},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }", 8, 2, 1, false, 4, 1,
         0x0403},
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", 32, 8, 2, true, 2, 2,
         0x100f0e0d0c0b0a09},
    };
    char file[FILE_BYTES];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t bytes =
            make_file(file, cases[i].version, cases[i].header, cases[i].value_bytes);
        struct npy array;

        assert_int_equal(npy_parse("a.npy", file, bytes, false, &array), STATUS_OK);
        assert_int_equal(array.bytes, cases[i].bytes);
        assert_int_equal(array.is_signed, cases[i].is_signed);
        assert_int_equal(array.dimensions, cases[i].dimensions);
        assert_int_equal(array.shape[0], cases[i].rows);
        assert_int_equal(array.shape[1], cases[i].columns);
        assert_int_equal(array.count, cases[i].rows * cases[i].columns);

        const struct indices indices = {array.values, array.bytes, array.is_signed, array.count};
        uint32_t low[2];

        assert_int_equal(indices_at(&indices, 1), cases[i].second);
        indices_read(&indices, 0, 2, low);
        assert_int_equal(low[1], (uint32_t)cases[i].second);
    }
}

TEST(floats_are_read_where_they_are_wanted)
{
    char file[FILE_BYTES];
    const size_t bytes =
        make_file(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12);
    struct capture capture;
    struct npy array;

    assert_int_equal(npy_parse("a.npy", file, bytes, true, &array), STATUS_OK);
    assert_true(array.is_float && array.bytes == 4 && array.count == 3);
    capture_begin(&capture, stderr);
    assert_int_equal(npy_parse("a.npy", file, bytes, false, &array), STATUS_USAGE);
    assert_non_null(strstr(capture_end(&capture), "a.npy: its values are '<f4', no integers"));
}

/* -- indices ----------------------------------------------------------------------------------- */

TEST(indices_of_every_type_are_found)
{
    static const int8_t small[] = {3, 0, 7, -1, 9};
    static const int64_t large[] = {3, INT64_C(1) << 40, 7, -5};
    static const uint16_t plain[] = {1, 2, 65535};
    const struct indices of_small = {small, 1, 1, 5}, of_large = {large, 8, 1, 4},
                         of_plain = {plain, 2, 0, 3};

    assert_true(indices_highest(&of_small) == UINT64_MAX);
    assert_int_equal(indices_first_beyond(&of_small, 7), 2);
    assert_int_equal(indices_first_beyond(&of_small, 8), 3);
    assert_true(indices_at(&of_small, 3) == -1);
    assert_int_equal(indices_first_beyond(&of_large, 16384), 1);
    assert_true(indices_at(&of_large, 1) == INT64_C(1) << 40);
    assert_int_equal(indices_highest(&of_plain), 65535);
    assert_int_equal(indices_first_beyond(&of_plain, 65536), 3);
}
