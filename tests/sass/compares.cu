/* SPDX-License-Identifier: MIT
 * Small arrays, and whether compilers make compares of them: tests/kernels/compares.py.
 *
 * `// array: ENTRIES WIDTH TIMES WHERE` stands in the line that reads an array by compares: the
 * entries that the index is compared with, the bytes of one, how often the line reads it, and
 * `code` or the number of the parameter. Of unrolled loops, TIMES is 0: any. Lines without it read
 * no array so. */

#define KERNEL extern "C" __global__ void
#define INDEX  in[threadIdx.x]

typedef unsigned char byte;
struct four {
    int v[4];
};
struct thirty_two {
    float v[32];
};

/* -- numbers of the code ----------------------------------------------------------------------- */

KERNEL three(const byte *in, int *out)
{
    const int t[3] = {11, 22, 33};

    out[threadIdx.x] = t[INDEX % 3]; // array: 3 4 1 code
}

KERNEL eight(const byte *in, int *out)
{
    const int t[8] = {11, -22, 330, 4400, 0, 66, 717, 88};

    out[threadIdx.x] = t[INDEX & 7]; // array: 8 4 1 code
}

KERNEL no_mask(const int *in, float *out)
{
    constexpr float t[5] = {1.1f, 2.2f, 0, 4.4f, 5.5f};

    out[threadIdx.x] = t[INDEX]; // array: 5 4 1 code
}

KERNEL one_index(int i, int *out)
{
    const int t[6] = {11, 22, 33, 44, 5, 66};

    out[threadIdx.x] = t[i]; // array: 6 4 1 code
}

KERNEL of_thread(int *out)
{
    const int t[6] = {11, 22, 33, 44, 5, 66};

    out[threadIdx.x] = t[threadIdx.x % 6]; // array: 6 4 1 code
}

KERNEL pairs(const byte *in, int2 *out)
{
    const int2 t[6] = {{11, 22}, {33, 44}, {5, 66}, {71, 88}, {9, 10}, {12, 14}};

    out[threadIdx.x] = t[INDEX % 6]; // array: 6 8 1 code
}

KERNEL neighbours(const byte *in, int *out)
{
    const int t[9] = {11, 22, 33, 44, 5, 66, 71, 88, 9999};
    const int i = INDEX & 7;

    out[threadIdx.x] = t[i + 1] - t[i]; // array: 9 4 2 code
}

KERNEL in_a_loop(const byte *in, int *out, int n)
{
    const int t[8] = {11, -22, 330, 4400, 5, 66, 717, 88};
    int sum = 0;

    for (int k = 0; k < n; k++)
        sum += t[in[threadIdx.x + k * 32] & 7] * k; // array: 8 4 0 code
    out[threadIdx.x] = sum;
}

/* -- parameters -------------------------------------------------------------------------------- */

KERNEL by_value(const byte *in, int *out, four p)
{
    out[threadIdx.x] = p.v[INDEX & 3]; // array: 4 4 1 2
}

KERNEL by_value_of_many(int n, thirty_two p, const byte *in, float *out)
{
    out[threadIdx.x] = p.v[INDEX & 31] * n; // array: 32 4 1 1
}

/* -- loads, and what a person wrote ------------------------------------------------------------ */

KERNEL kept(const byte *in, int *out, const __grid_constant__ four p)
{
    out[threadIdx.x] = p.v[INDEX & 3];
}

KERNEL of_bytes(const byte *in, int *out)
{
    const byte t[8] = {11, 22, 33, 44, 5, 66, 71, 88};

    out[threadIdx.x] = t[INDEX & 7];
}

KERNEL static_array(const byte *in, int *out)
{
    static const int t[8] = {11, -22, 330, 4400, 5, 66, 717, 88};

    out[threadIdx.x] = t[INDEX & 7];
}

__constant__ const int constants[8] = {11, -22, 330, 4400, 5, 66, 717, 88};
KERNEL constant_array(const byte *in, int *out)
{
    out[threadIdx.x] = constants[INDEX & 7];
}

/* Its entries are data. */
KERNEL own_values(const int *in, int *out)
{
    int t[6];

    for (int k = 0; k < 6; k++)
        t[k] = in[threadIdx.x * 6 + k];
    out[threadIdx.x] = t[in[threadIdx.x + 999]];
}

KERNEL selections(const byte *in, int *out)
{
    const int i = INDEX & 3;

    out[threadIdx.x] = i == 0 ? 11 : i == 1 ? 22 : i == 2 ? 33 : 44;
}

KERNEL places(const int *in, int *out)
{
    const int x = INDEX;
    int r = out[threadIdx.x];

    if (x == 0)
        r = 11;
    if (x == 4)
        r = 22;
    if (x == 8)
        r = 33;
    if (x == 12)
        r = 44;
    out[threadIdx.x] = r;
}

KERNEL cases(const byte *in, int *out)
{
    int r = -1;

    switch (INDEX) {
    case 0:
        r = 5;
        break;
    case 1:
        r = 77;
        break;
    case 2:
        r = 123;
        break;
    case 3:
        r = 999;
        break;
    case 4:
        r = 31;
        break;
    }
    out[threadIdx.x] = r;
}
