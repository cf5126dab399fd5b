// SPDX-License-Identifier: MIT
// Volume under an isosurface by cells, as in marching cubes: 256 configurations of corners x 16
// edges, -1 ends. 95 % of the cells are empty. The table has the original's shape; which crossed
// edges make a triangle is simpler here.
#include <cbank.cuh>
CBANK_TABLE(triangles, int, 256 * 16, constant);

// The bits of a corner are its x, y and z. An edge is its lower corner, and 8 times its axis.
__host__ __device__ inline int corner(int c, int n)
{
    return (c & 1) + ((c >> 1 & 1) + (c >> 2) * n) * n;
}
__host__ __device__ inline float3 vertex(const float *at, int n, int edge)
{
    const int c = edge & 7, axis = edge >> 3;
    const float low = at[corner(c, n)], part = low / (low - at[corner(c | 1 << axis, n)]);
    return {(c & 1) + (axis == 0 ? part : 0), (c >> 1 & 1) + (axis == 1 ? part : 0),
            (c >> 2) + (axis == 2 ? part : 0)};
}
__host__ __device__ inline float volume(float3 a, float3 b,
                                        float3 c) // of the triangle and the cell's origin
{
    return fabsf(a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) +
                 a.z * (b.x * c.y - b.y * c.x)) /
           6;
}

template <class Table>
__global__ void marching_cubes(Table table, const float *field, float *out, int n)
{
    const float *const at = field + blockIdx.x * blockDim.x + threadIdx.x;
    unsigned inside = 0;
    float sum = 0;
    table.stage();
    for (int c = 0; c < 8; c++)
        inside |= (at[corner(c, n)] < 0) << c;
    for (unsigned t = 16 * inside; table[t] >= 0; t += 3)
        sum += volume(vertex(at, n, table[t]), vertex(at, n, table[t + 1]),
                      vertex(at, n, table[t + 2]));
    out[at - field] = sum;
}

CBANK_CASE(marching_cubes, 64, 192) // cells along an edge of the cube, a multiple of 16
{
    const int n = (int)size, cells = n * n * n;
    const auto table =
        entries<triangles>([](unsigned i) { // three neighbours in the list of crossed edges
            int edges[24], found = 0;
            for (unsigned e = 0; e < 24; e++)
                if (!(e >> (e >> 3) & 1) &&
                    (i / 16 >> (e & 7) ^ i / 16 >> (e & 7 | 1 << (e >> 3))) & 1)
                    edges[found++] = e;
            return i % 16 < 15 && i % 16 / 3 + 2 < found ? edges[i % 16 / 3 + i % 16 % 3] : -1;
        });
    const auto field = input<float>(cells + n * n + n + 1, [=](int i) { // bubbles, 64 cells apart
        const auto wave = [=](int at) { return cosf(6.2831853f / min(n, 64) * (at % n)); };
        return 1.02f + wave(i) + wave(i / n) + wave(i / n / n);
    });
    const auto out = output<float>(cells);
    items(cells);
    launch(marching_cubes<triangles>, cells / 256, 256)(table, field, out, n);
    check(out,
          [=](cbank_u64 cell) {
              const float *const at = field + cell;
              float3 v[12];
              float sum = 0;
              for (int e = 0, found = 0; e < 24; e++)
                  if (!(e >> (e >> 3) & 1) &&
                      (at[corner(e & 7, n)] < 0) != (at[corner(e & 7 | 1 << (e >> 3), n)] < 0))
                      v[found++] = vertex(at, n, e),
                      sum += found > 2 && found < 8
                                 ? volume(v[found - 3], v[found - 2], v[found - 1])
                                 : 0;
              return sum;
          },
          {1e-5, 1e-6});
}
