/* SPDX-License-Identifier: MIT
 * Fatbins made by hand: where code is, and what LZ4 blocks unpack to. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "fatbin.h"
#include "test.h"

enum { LZ4 = 0x2000 };

struct file {
    unsigned char bytes[512];
    size_t count;
};

static void add(struct file *file, uint64_t value, size_t bytes)
{
    /* the first byte is the lowest, as in the format */
    memcpy(file->bytes + file->count, &value, bytes);
    file->count += bytes;
}

/* A fatbin of one cubin, whose bytes are any. */
static struct file fatbin(uint32_t architecture, const void *payload, size_t bytes,
                          uint64_t unpacked_bytes)
{
    struct file file = {.count = 0};

    add(&file, 0xba55ed50, 4);
    add(&file, 1, 2);
    add(&file, 16, 2);
    add(&file, 64 + bytes, 8);
    add(&file, 2, 2);
    add(&file, 0x101, 2);
    add(&file, 64, 4);
    add(&file, bytes, 8);
    add(&file, unpacked_bytes ? bytes : 0, 4);
    add(&file, 0, 4);
    add(&file, 7, 4);
    add(&file, architecture, 4);
    add(&file, 0, 8);
    add(&file, unpacked_bytes ? LZ4 | 0x11 : 0x11, 8);
    add(&file, 0, 8);
    add(&file, unpacked_bytes, 8);
    memcpy(file.bytes + file.count, payload, bytes);
    file.count += bytes;
    return file;
}

/* The first cubin of an architecture. */
static enum status take_first(const struct file *file, uint32_t architecture,
                              struct cubin_images *images, struct cubin_image *image)
{
    bool end = false;
    enum status status = cubin_images_open("FILE", file->bytes, file->count, architecture, images);

    if (status == STATUS_OK)
        status = cubin_images_next(images, image, &end);
    assert_false(end);
    return status;
}

static void refuse(const struct file *file, uint32_t architecture, const char *said)
{
    struct cubin_images images;
    struct cubin_image image;
    struct capture capture;
    enum status status;

    capture_begin(&capture, stderr);
    status = take_first(file, architecture, &images, &image);
    assert_non_null(strstr(capture_end(&capture), said));
    assert_int_equal(status, STATUS_USAGE);
    cubin_images_close(&images);
}

TEST(one_architecture_is_chosen)
{
    struct file file = fatbin(80, "eighty", 6, 0), newer = fatbin(90, "ninety!", 7, 0),
                unknown = fatbin(200, "new", 3, 0);
    const size_t first = file.count;
    struct cubin_images images;
    struct cubin_image image;
    bool end;

    /* One behind the other, as in a program, with zeros between. */
    file.count += 2;
    memcpy(file.bytes + file.count, newer.bytes, newer.count);
    file.count += newer.count;
    memcpy(file.bytes + file.count, unknown.bytes, unknown.count);
    file.count += unknown.count;
    /* The newest that can be read. */
    assert_int_equal(take_first(&file, 0, &images, &image), STATUS_OK);
    assert_int_equal(images.architecture, 90);
    assert_memory_equal(image.data, "ninety!", 7);
    assert_int_equal(image.bytes, 7);
    assert_null(image.unpacked);
    assert_int_equal(cubin_images_next(&images, &image, &end), STATUS_OK);
    assert_true(end);
    assert_string_equal(images.others, "sm_80 sm_200");
    cubin_images_close(&images);
    assert_int_equal(take_first(&file, 80, &images, &image), STATUS_OK);
    assert_int_equal(image.bytes, 6);
    assert_string_equal(images.others, "sm_90 sm_200");
    cubin_images_close(&images);
    refuse(&file, 75, "FILE: no machine code of sm_75; it has sm_80 sm_90 sm_200");
    for (file.count = 5; file.count < first; file.count++)
        refuse(&file, 0, "FILE: a fatbin that is cut off or damaged; copy it again");
}

static void require_unpacked(const struct file *file, const char *text, size_t bytes)
{
    struct cubin_images images;
    struct cubin_image image;

    assert_int_equal(take_first(file, 0, &images, &image), STATUS_OK);
    assert_int_equal(image.bytes, bytes);
    assert_memory_equal(image.data, text, bytes);
    free(image.unpacked);
    cubin_images_close(&images);
}

/* A token of two lengths, literals, the distance of a match in two bytes, and how much it is longer
 * than 4. */
TEST(lz4_blocks_unpack)
{
    static const struct {
        const char *block;
        size_t bytes;
        const char *text; /* NULL: it is damaged */
        size_t text_bytes;
    } rows[] = {
        {"\x30"
         "abc",
         4, "abc", 3},
        {"\x38"
         "abc\x03\x00\x50hello",
         12, "abcabcabcabcabchello", 20},
        {"\x1f"
         "a\x01\x00\x02\x50hello",
         11, "aaaaaaaaaaaaaaaaaaaaaahello", 27},
        {"\xf0\x01"
         "0123456789abcdef",
         18, "0123456789abcdef", 16},
        {"\x10"
         "a\x02\x00\x10!",
         6, NULL, 6}, /* before the beginning */
        {"\x1f"
         "a\x01\x00\xff",
         5, NULL, 300}, /* its length is cut off */
        {"\x10"
         "a\x01",
         3, NULL, 5}, /* its distance */
        {"\x50"
         "abc",
         4, NULL, 5}, /* literals */
        {"\x30"
         "abc",
         4, NULL, 2}, /* more than there should be */
        {"\x30"
         "abc",
         4, NULL, 4}, /* less */
        {"\x10"
         "a\x01\x00\x10!",
         6, NULL, 4},
        {"\x10"
         "a\x01\x00",
         4, NULL, 5}, /* no literals at the end */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct file file = fatbin(90, rows[i].block, rows[i].bytes, rows[i].text_bytes);

        if (rows[i].text)
            require_unpacked(&file, rows[i].text, rows[i].text_bytes);
        else
            refuse(&file, 0, "FILE: a damaged fatbin: its compressed code cannot be unpacked");
    }
}

/* A file of a hundred bytes does not take a gigabyte. */
TEST(sizes_are_possible)
{
    struct file file = fatbin(90,
                              "\x30"
                              "abc",
                              4, 5000);

    refuse(&file, 0, "FILE: a damaged fatbin: the sizes of compressed code are impossible");
    file = fatbin(90,
                  "\x30"
                  "abc",
                  4, 3);
    file.bytes[16 + 16] = 5; /* compressed bytes */
    refuse(&file, 0, "FILE: a damaged fatbin: the sizes of compressed code are impossible");
    file.bytes[16] = 1; /* PTX */
    refuse(&file, 0,
           "FILE: no machine code of a GPU; if it has PTX, cuobjdump -xptx all FILE takes it out, "
           "and ");
    file = fatbin(90,
                  "\x30"
                  "abc",
                  4, 3);
    file.bytes[16 + 4] = 63;
    refuse(&file, 0, "FILE: a fatbin with a damaged entry; copy it again");
}
