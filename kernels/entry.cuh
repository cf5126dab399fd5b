/* SPDX-License-Identifier: MIT
 *
 * An entry of the table, of any width: how a kernel folds it into the thread's sum, and how it
 * reads it from registers. Registers are read by shuffles of the warp or by selection in the
 * thread. */
#ifndef CBANK_ENTRY_CUH
#define CBANK_ENTRY_CUH

#include <stdint.h>
#include <string.h>

/* An element of `width` bytes, and the 32 bits that it is folded into. Every byte takes part in
 * them, else the compiler would not load it. */
template <uint32_t width> struct element_of;
#define ELEMENT(width, type_, fold)                      \
    template <> struct element_of<width> {               \
        typedef type_ type;                              \
        static __device__ uint32_t folded(type_ element) \
        {                                                \
            return fold;                                 \
        }                                                \
    }
#define COMMA ,
ELEMENT(1, uint8_t, element);
ELEMENT(2, uint16_t, element);
ELEMENT(4, uint32_t, element);
ELEMENT(8, uint2, element.x + element.y);
ELEMENT(16, uint4, element.x + element.y + element.z + element.w);

/* An element of several parts. A load reads one, as compilers load a structure with the alignment
 * of a part. The PTX of CUDA 11.8 reads parameters of uint2 word by word. */
template <class Part, uint32_t count> struct parts_of {
    Part parts[count];
};
ELEMENT(12, parts_of<uint32_t COMMA 3>, element.parts[0] + element.parts[1] + element.parts[2]);
ELEMENT(24, parts_of<unsigned long long COMMA 3>,
        (uint32_t)(element.parts[0] + element.parts[1] + element.parts[2]) +
            (uint32_t)(element.parts[0] >> 32) + (uint32_t)(element.parts[1] >> 32) +
            (uint32_t)(element.parts[2] >> 32));
ELEMENT(32, parts_of<uint4 COMMA 2>,
        element_of<16>::folded(element.parts[0]) + element_of<16>::folded(element.parts[1]));

/* The loads that CUDA has for one part: a path may have any of them. */
#define LOAD_PARTS(load)                                                            \
    template <class Part, uint32_t count>                                           \
    static __device__ parts_of<Part, count> load(const parts_of<Part, count> *from) \
    {                                                                               \
        parts_of<Part, count> to;                                                   \
                                                                                    \
        _Pragma("unroll") for (uint32_t i = 0; i < count; i++) to.parts[i] =        \
            ::load(&from->parts[i]);                                                \
        return to;                                                                  \
    }
LOAD_PARTS(__ldg)
LOAD_PARTS(__ldca)
LOAD_PARTS(__ldcg)
LOAD_PARTS(__ldcs)
LOAD_PARTS(__ldlu)
LOAD_PARTS(__ldcv)

/* The entry that thread `index` of the warp holds: one shuffle for each of its words. */
template <class Element> static __device__ Element shuffled(Element mine, uint32_t index)
{
    uint32_t words[(sizeof(Element) + 3) / 4] = {};

    memcpy(words, &mine, sizeof(mine));
#pragma unroll
    for (uint32_t &word : words)
        word = __shfl_sync(UINT32_MAX, word, (int)index);
    memcpy(&mine, words, sizeof(mine));
    return mine;
}

/* Words of a table in the registers of a thread. */
template <uint32_t count> struct held_words {
    static constexpr uint32_t words = count;
    uint32_t word[count];
};

/* Selects word `entry` of `count` words that lie `apart` from each other, by halving. The words are
 * passed as values: compilers put an array that a loop reads into local memory. */
template <uint32_t first, uint32_t apart, uint32_t count, class Held>
static __device__ uint32_t selected_word(const Held &held, uint32_t entry)
{
    if constexpr (count == 1) {
        return held.word[first];
    } else {
        constexpr uint32_t half = count / 2;
        const uint32_t low = selected_word<first, apart, half>(held, entry);
        const uint32_t high = selected_word<first + apart * half, apart, half>(held, entry);

        return entry & half ? high : low;
    }
}

/* The words of an entry from number `word` on. Each is selected among the words that the entries
 * have at that position. */
template <class Element, uint32_t word, class Held>
static __device__ void select_words(const Held &held, uint32_t index, uint32_t *words)
{
    constexpr uint32_t of_entry = sizeof(Element) / sizeof(uint32_t);

    if constexpr (word < of_entry) {
        words[word] = selected_word<word, of_entry, Held::words / of_entry>(held, index);
        select_words<Element, word + 1>(held, index, words);
    }
}

/* Entry `index` of the table that the thread holds. */
template <class Element, class Held>
static __device__ Element selected(const Held &held, uint32_t index)
{
    if constexpr (sizeof(Element) < sizeof(uint32_t)) {
        constexpr uint32_t of_word = sizeof(uint32_t) / sizeof(Element);

        return selected_word<0, 1, Held::words>(held, index / of_word) >>
               index % of_word * 8 * sizeof(Element);
    } else {
        uint32_t words[sizeof(Element) / sizeof(uint32_t)];
        Element element;

        select_words<Element, 0>(held, index, words);
        memcpy(&element, words, sizeof(element));
        return element;
    }
}

/* Byte `index` of the 16 that the thread holds. PRMT takes bytes of two words; code for both halves
 * is cheaper than a third that would take a byte of theirs. */
template <class Held> static __device__ uint8_t permuted(const Held &held, uint32_t index)
{
    const uint32_t low = __byte_perm(held.word[0], held.word[1], index),
                   high = __byte_perm(held.word[2], held.word[3], index);

    return (uint8_t)(index & 8 ? high : low);
}

#endif
