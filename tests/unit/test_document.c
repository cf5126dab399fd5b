/* SPDX-License-Identifier: MIT
 * Tests of documents: a struct of every kind of field, written, read again, and read from texts
 * that are wrong. */
#include <math.h>

#include "capture.h"
#include "document.h"
#include "optional.h"
#include "table.h"
#include "test.h"

/* -- a document with a field of every kind ----------------------------------------------------- */

struct fruit {
    const char *name;
};

static const struct fruit fruits[] = {{"apple"}, {"pear"}};
static const size_t fruit_count = COUNT(fruits);
static const struct table fruit_table = TABLE("fruit", fruits, fruit_count);

enum taste { TASTE_NONE, TASTE_SWEET, TASTE_SOUR };

static const char *const taste_words[] = {NULL, "sweet", "sour"};
static const struct names taste_names = NAMES(taste_words, COUNT(taste_words), "sweet or sour");

static const char *const flag_words[] = {"ripe", "washed"};
static const struct names flag_names =
    NAMES(flag_words, COUNT(flag_words), "an array of ripe and washed");

struct seed {
    const char *key;
    double weight;
    uint32_t rank;
};

struct stone {
    uint32_t edges;
};

struct basket {
    char label[8];
    const char *owner;
    uint32_t small;
    uint64_t large;
    struct optional stems, sold;
    double share;
    bool full;
    enum taste taste;
    uint32_t flags;
    const struct fruit *fruit;
    struct numbers samples;
    bool has_stone;
    struct stone stone;
    struct seed *seeds;
    size_t seed_count;
    struct seed *named;
    size_t named_count;
    struct stone stones[2];
    size_t stones_count;
};

static const struct field stone_rows[] = {
    {FIELD(field_uint32, struct stone, "edges", edges, REQUIRED)}};

static void check_stone(const struct node *node, void *member)
{
    if (((struct stone *)member)->edges == 13)
        node_wrong(node, "13 edges bring no luck");
}

static const struct object stone_object = {.fields = FIELDS(stone_rows),
                                           .given = offsetof(struct basket, has_stone),
                                           .check = check_stone};

static const struct field seed_rows[] = {
    {FIELD(field_number, struct seed, "weight", weight, NULLABLE)},
    {FIELD(field_uint32, struct seed, "rank", rank, OMITTED)},
};
static const struct objects seed_list = {.fields = FIELDS(seed_rows),
                                         .element_bytes = sizeof(struct seed),
                                         .count = offsetof(struct basket, seed_count),
                                         .max = 3};
static const struct objects seed_map = {.fields = FIELDS(seed_rows),
                                        .element_bytes = sizeof(struct seed),
                                        .count = offsetof(struct basket, named_count),
                                        .max = 3,
                                        .key = offsetof(struct seed, key)};

static const struct objects stone_array = {.fields = FIELDS(stone_rows),
                                           .element_bytes = sizeof(struct stone),
                                           .count = offsetof(struct basket, stones_count),
                                           .max = 2,
                                           .line = true};

static const struct field basket_rows[] = {
    {FIELD(field_text, struct basket, "label", label, REQUIRED)},
    {FIELD(field_reference, struct basket, "owner", owner, NULLABLE)},
    {FIELD(field_uint32, struct basket, "small", small, REQUIRED), .low = 2, .high = 9},
    {FIELD(field_uint64, struct basket, "large", large, NULLABLE)},
    {FIELD(field_optional, struct basket, "stems", stems, NULLABLE), .high = 100},
    {FIELD(field_state, struct basket, "sold", sold, NULLABLE)},
    {FIELD(field_number, struct basket, "share", share, LATER), .low = 0, .high = 1},
    {FIELD(field_bool, struct basket, "full", full, REQUIRED)},
    {FIELD(field_name, struct basket, "taste", taste, NULLABLE), .names = &taste_names},
    {FIELD(field_bits, struct basket, "flags", flags, REQUIRED), .names = &flag_names},
    {FIELD(field_row, struct basket, "fruit", fruit, REQUIRED), .table = &fruit_table},
    {FIELD(field_numbers, struct basket, "samples", samples, REQUIRED)},
    {FIELD(field_object, struct basket, "stone", stone, NULLABLE), .object = &stone_object},
    {FIELD(field_list, struct basket, "seeds", seeds, LATER), .elements = &seed_list},
    {FIELD(field_map, struct basket, "named", named, LATER), .elements = &seed_map},
    {FIELD(field_array, struct basket, "stones", stones, OMITTED), .low = 1,
     .elements = &stone_array},
};

static const struct document basket_document = {.schema = "basket",
                                                .what = "basket",
                                                .remedy = "take one that this test wrote",
                                                .major = 2,
                                                .minor = 1,
                                                .root = {.fields = FIELDS(basket_rows),
                                                         .given = SIZE_MAX}};

static void close_basket(struct basket *basket, cJSON *tree)
{
    free(basket->samples.values);
    free(basket->seeds);
    free(basket->named);
    json_free(tree);
}

static const char whole[] =
    "{\"schema\":{\"name\":\"basket\",\"version\":\"2.1\"},\"label\":\"red\",\"owner\":\"me\","
    "\"small\":3,"
    "\"large\":\"18446744073709551615\",\"stems\":0,\"sold\":false,\"share\":0.1,\"full\":true,"
    "\"taste\":\"sour\","
    "\"flags\":[\"washed\"],\"fruit\":\"pear\",\"samples\":[1.5,2],\"stone\":{\"edges\":4},"
    "\"seeds\":[{\"weight\":0.5},{\"weight\":null,\"rank\":7}],\"named\":{\"a b\":{\"weight\":1}},"
    "\"stones\":[{\"edges\":5},{\"edges\":6}]}";

static char *unformatted(const struct basket *basket)
{
    cJSON *json = document_to_json(&basket_document, basket);
    char *text = cJSON_PrintUnformatted(json);

    cJSON_Delete(json);
    return text;
}

/* -- tests ------------------------------------------------------------------------------------- */

TEST(what_is_read_is_written_again)
{
    struct basket basket = {0};
    cJSON *tree;
    char *text;

    assert_int_equal(document_parse(&basket_document, "b.json", whole, strlen(whole), &basket,
                                    &tree),
                     STATUS_OK);
    assert_string_equal(basket.label, "red");
    assert_string_equal(basket.owner, "me");
    assert_true(basket.large == UINT64_MAX && basket.small == 3 && basket.full &&
                basket.share == 0.1);
    assert_true(basket.stems.known && basket.stems.value == 0 && basket.sold.known &&
                basket.sold.value == 0);
    assert_true(basket.taste == TASTE_SOUR && basket.flags == 2 && basket.fruit == &fruits[1]);
    assert_true(basket.samples.count == 2 && basket.samples.values[1] == 2);
    assert_true(basket.has_stone && basket.stone.edges == 4);
    assert_true(basket.seed_count == 2 && isnan(basket.seeds[1].weight) &&
                basket.seeds[1].rank == 7);
    assert_true(basket.named_count == 1 && basket.named[0].weight == 1);
    assert_string_equal(basket.named[0].key, "a b");
    text = unformatted(&basket);
    assert_string_equal(text, whole);
    cJSON_free(text);
    close_basket(&basket, tree);
}

TEST(what_is_empty_is_null_or_left_out)
{
    const struct basket basket = {.share = NAN, .fruit = fruits};
    char *text = unformatted(&basket);

    assert_string_equal(
        text, "{\"schema\":{\"name\":\"basket\",\"version\":\"2.1\"},\"label\":\"\",\"owner\":null,"
              "\"small\":0,\"large\":null,\"stems\":null,\"sold\":null,\"share\":null,\"full\":"
              "false,\"taste\":null,\"flags\":[],"
              "\"fruit\":\"apple\",\"samples\":[],\"stone\":null,\"seeds\":[],\"named\":{}}");
    cJSON_free(text);
}

TEST(older_files_lack_later_keys)
{
    static const char old[] =
        "{\"schema\":{\"name\":\"basket\",\"version\":\"2.0\"},\"label\":\"red\\u0007\",\"owner\":"
        "null,"
        "\"small\":3,\"large\":null,\"stems\":null,\"sold\":true,\"full\":false,\"taste\":null,"
        "\"flags\":[],\"fruit\":\"apple\","
        "\"samples\":[],\"stone\":null,\"unknown\":1}";
    struct basket basket = {0};
    cJSON *tree;

    assert_int_equal(document_parse(&basket_document, "b.json", old, strlen(old), &basket, &tree),
                     STATUS_OK);
    assert_true(isnan(basket.share) && basket.seeds == NULL && !basket.has_stone);
    assert_true(!basket.stems.known && basket.sold.known && basket.sold.value == 1);
    assert_string_equal(basket.label, "red?");
    close_basket(&basket, tree);
}

/* A change of the whole document, and what has to be said of it. */
struct wrong {
    const char *old, *new_text, *said;
};

static const struct wrong wrongs[] = {
    {"\"basket\"", "\"box\"",
     "schema.name: 'box' is no basket of cbank; take one that this test wrote"},
    {"\"2.1\"", "\"3.0\"",
     "schema.version: 3.0, this build reads 2.x; use the cbank that wrote the file"},
    {"\"2.1\"", "\"1.9\"", "schema.version: 1.9, this build reads 2.x"},
    {"\"2.1\"", "\"2\"", "schema.version: expected a version like \"1.0\", it is this string"},
    {"\"red\"", "\"redredred\"", "label: expected a string of at most 7 bytes, it is this string"},
    {"\"red\"", "null", "label: expected a string of at most 7 bytes, it is null"},
    {"\"label\"", "\"lable\"", "label: expected a string of at most 7 bytes, it is missing"},
    {"\"me\"", "5", "owner: expected a string or null, it is this number"},
    {"\"small\":3", "\"small\":10", "small: expected an integer from 2 to 9, it is this number"},
    {"\"small\":3", "\"small\":2.5", "small: expected an integer from 2 to 9, it is this number"},
    {"\"stems\":0", "\"stems\":101", "stems: expected an integer from 0 to 100, it is this number"},
    {"\"sold\":false", "\"sold\":0", "sold: expected true, false or null, it is this number"},
    {"0.1", "1.5", "share: expected a number from 0 to 1 or null, it is this number"},
    {"true", "1", "full: expected true or false, it is this number"},
    {"\"sour\"", "\"salty\"", "taste: expected sweet or sour or null, it is this string"},
    {"[\"washed\"]", "[\"washed\",7]",
     "flags: expected an array of ripe and washed, it is an array"},
    {"\"pear\"", "\"peer\"", "fruit: this build has no fruit 'peer'"},
    {"[1.5,2]", "[1.5, null]", "samples: expected an array of numbers, it is an array"},
    {"{\"edges\":4}", "{\"edges\":13}", "stone: 13 edges bring no luck"},
    {"{\"edges\":4}", "{}", "stone.edges: expected an integer from 0 to 4294967295, it is missing"},
    {"{\"weight\":0.5}", "{\"weight\":\"x\"}",
     "seeds[0].weight: expected a number or null, it is this string"},
    {"{\"weight\":0.5}", "5", "seeds[0]: expected an object, it is this number"},
    {"{\"weight\":0.5}", "{\"weight\":1},{\"weight\":1},{\"weight\":1}",
     "seeds: expected 0 to 3 elements, there are 4"},
    {"{\"edges\":5},", "{\"edges\":5},{},", "stones: expected 1 to 2 elements, there are 3"},
    {"{\"edges\":5},{\"edges\":6}", "", "stones: expected 1 to 2 elements, there are 0"},
    {"{\"edges\":6}", "{\"edges\":-6}",
     "stones[1].edges: expected an integer from 0 to 4294967295"},
    {"{\"weight\":1}", "{}", "named.a b.weight: expected a number or null, it is missing"},
};

static char *replaced(const struct wrong *wrong)
{
    const char *place = strstr(whole, wrong->old);
    char *text = NULL;

    assert_non_null(place);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(place - whole), whole, wrong->new_text,
                         place + strlen(wrong->old)) > 0);
    return text;
}

TEST(what_is_wrong_is_said_once_with_its_path)
{
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        char *text = replaced(&wrongs[i]);
        struct basket basket = {0};
        struct capture capture;
        cJSON *tree;
        enum status status;

        capture_begin(&capture, stderr);
        status = document_parse(&basket_document, "b.json", text, strlen(text), &basket, &tree);
        capture_end(&capture);
        if (status != STATUS_USAGE || !strstr(capture.text, wrongs[i].said) ||
            strncmp(capture.text, "cbank: error: b.json: ", 22) != 0 ||
            strchr(capture.text, '\n') != capture.text + strlen(capture.text) - 1)
            fail_msg("row %zu: status %d: %s", i, status, capture.text);
        close_basket(&basket, tree);
        free(text);
    }
}

/* A pointer's struct is an object, or members of the object itself; and is only written. */
TEST(what_is_pointed_to_is_written)
{
    static const struct fields stone = FIELDS(stone_rows);
    struct pocket {
        const struct stone *held, *absent;
    };
    const struct field rows[] = {
        {FIELD(field_pointer, struct pocket, "held", held, NULLABLE), .fields = &stone},
        {FIELD(field_pointer, struct pocket, "absent", absent, NULLABLE), .fields = &stone},
        {FIELD(field_pointer, struct pocket, NULL, held, REQUIRED), .fields = &stone},
    };
    cJSON *object = cJSON_CreateObject();
    char *text;

    fields_write(object, &(struct fields)FIELDS(rows),
                 &(struct pocket){.held = &(struct stone){.edges = 5}});
    text = cJSON_PrintUnformatted(object);
    assert_string_equal(text, "{\"held\":{\"edges\":5},\"absent\":null,\"edges\":5}");
    cJSON_free(text);
    cJSON_Delete(object);
}
