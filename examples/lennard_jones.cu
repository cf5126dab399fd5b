// SPDX-License-Identifier: MIT
// Lennard-Jones forces, with parameters by the types of both atoms. Nine atoms of ten have the
// solvent's type. Atoms stand near the points of a lattice; a list has 63 neighbours of each.
#include <cbank.cuh>

CBANK_TABLE(parameters, float2, 22 * 22, constant); // 6 times C6, 12 times C12

template <class Table>
__global__ void lennard_jones(Table table, const float4 *atoms, const unsigned *list,
                              float4 *forces, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 force = {0, 0, 0, 0};

    table.stage();
    if (i >= count)
        return;
    const float4 own = atoms[i]; // x, y, z, type
    for (unsigned k = 0; k < 63; k++) {
        const float4 other = atoms[list[k * count + i]];
        const float x = own.x - other.x, y = own.y - other.y, z = own.z - other.z,
                    r2 = x * x + y * y + z * z;
        if (r2 < 6.25f) {
            const float2 c = table[22 * (unsigned)own.w + (unsigned)other.w];
            const float inverse = 1 / r2, r6 = inverse * inverse * inverse,
                        f = (c.y * r6 - c.x) * r6 * inverse;
            force.x += f * x, force.y += f * y, force.z += f * z;
        }
    }
    forces[i] = force;
}

CBANK_CASE(lennard_jones, 1 << 15, 1 << 18) // atoms, a multiple of 1024, at least 4096
{
    const cbank_u64 count = size;
    const auto table = entries<parameters>([](unsigned i) {
        const float a = 0.5f + 0.02f * (i / 22),
                    b = 0.5f + 0.02f * (i % 22); // the geometric mean of both
        return float2{6 * a * b, 12 * a * b * a * b};
    });
    const auto atoms = input<float4>(size, [](cbank_u64 i) {
        const auto near = [=](cbank_u64 at, unsigned k) {
            return at + (float)(cbank::random_bits(k, i) % 256) / 1024;
        };
        const cbank_u64 bits = cbank::random_bits(0, i), type = bits % 10 ? 0 : 1 + bits / 10 % 21;
        return float4{near(i % 32, 1), near(i / 32 % 32, 2), near(i / 1024, 3), (float)type};
    });
    const auto list =
        input<unsigned>(63 * size, [=](cbank_u64 i) { // 4 x 4 x 4 around it, itself left out
            const cbank_u64 k = i / count + (i / count >= 21);
            return (i % count + k % 4 + k / 4 % 4 * 32 + k / 16 * 1024 - 1057 + count) % count;
        });
    const auto forces = output<float>(4 * size);
    launch(lennard_jones<parameters>, (size + 127) / 128, 128)(table, atoms, list,
                                                               (float4 *)forces.elements, size);
    check(forces,
          [=](cbank_u64 i) {
              const float4 own = atoms[i / 4];
              double sum = 0;
              for (cbank_u64 k = 0; k < 63; k++) {
                  const float4 other = atoms[list[k * count + i / 4]];
                  const double d[4] = {own.x - other.x, own.y - other.y, own.z - other.z, 0};
                  const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                  const float2 c = table[22 * (int)own.w + (int)other.w];
                  sum += r2 < 6.25 ? (c.y / pow(r2, 7) - c.x / pow(r2, 4)) * d[i % 4] : 0;
              }
              return sum;
          },
          {1e-4, 1e-2});
}
