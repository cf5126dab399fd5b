// SPDX-License-Identifier: MIT
// Local alignment of a query of 32 residues with sequences of 64, by a substitution matrix
// (BLOSUM62). A thread has a sequence; they are interleaved. Residues are as frequent as in
// Swiss-Prot.
#include <cbank.cuh>

CBANK_TABLE(scores, signed char, 24 * 24, constant);
enum { QUERY = 32, LENGTH = 64, GAP = 4 };

template <class Table>
__global__ void smith_waterman(Table table, const unsigned char *query,
                               const unsigned char *database, int *best, int n)
{
    const int sequence = blockIdx.x * blockDim.x + threadIdx.x;
    int column[QUERY] = {}, highest = 0;
    table.stage();
    if (sequence >= n)
        return;
    for (int j = 0; j < LENGTH; j++) {
        const unsigned row = 24 * database[j * n + sequence];
        int diagonal = 0, above = 0;
#pragma unroll
        for (unsigned i = 0; i < QUERY; i++) {
            const int aligned = max(diagonal + table[row + query[i]], 0);
            diagonal = column[i];
            column[i] = above = max(aligned, max(above, diagonal) - GAP);
            highest = max(highest, above);
        }
    }
    best[sequence] = highest;
}

CBANK_CASE(smith_waterman, 1 << 14, 1 << 17) // sequences
{
    const cbank_u64 sequences = size;
    const auto table =
        entries<scores>([](unsigned i) { // ARNDCQEGHILKMFPSTWYVBZX*; E is 0, F is 1; half of it
            const unsigned a = max(i / 24, i % 24), b = min(i / 24, i % 24),
                           k = a * (a + 1) / 2 + b;
            return "IDJCEKCCFKEBBBNDFEEBJDEEGAGJECEDBCCKCEFDBEECMDBBBDBBABIDCBADCBABGIDGEDBFFCDBCJD"
                   "DCBDECBCFGDJCBBBCBBBDEEB"
                   "EKDCCDBDDCCBBDCALFDFEDEEEDCCEDCDIEDEDDDDCCDDDDCDFJBBAACCBCCBCBDFABCPCCCBCDCBGDD"
                   "CDHBCCGLEBBBDCCBBHFCFDCC"
                   "EBDICDHIBEFDEBAEBBCEDABBIDEEFBHICEBBFDBDEDBCCFIEDDDCDDDDDDDDDCEECDDDDDAAAAAAAAA"
                   "AAAAAAAAAAAAAAF"[k] -
                   69;
        });
    const auto residue = [](cbank_u64 i) {
        unsigned percent = cbank::random_bits(1, i) % 100, kind = 0;
        for (const char *frequent = "\10\6\4\5\1\4\7\7\2\6\12\6\2\4\5\7\5\1\3\7";
             percent >= frequent[kind]; kind++)
            percent -= frequent[kind];
        return kind;
    };
    const auto query = input<unsigned char>(QUERY, residue),
               database = input<unsigned char>(LENGTH * size, residue);
    const auto best = output<int>(size);
    launch(smith_waterman<scores>, (size + 127) / 128, 128)(table, query, database, best, size);
    check(best, [=](cbank_u64 sequence) { // the matrix in the other order
        int row[LENGTH + 1] = {}, highest = 0;
        for (unsigned i = 0; i < QUERY; i++)
            for (int j = 1, diagonal = 0, next; j <= LENGTH; j++, diagonal = next) {
                next = row[j];
                diagonal += table[24 * query[i] + database[(j - 1) * sequences + sequence]];
                row[j] = max(max(diagonal, 0), max(next, row[j - 1]) - GAP);
                highest = max(highest, row[j]);
            }
        return highest;
    });
}
