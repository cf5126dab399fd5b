// SPDX-License-Identifier: MIT
// Four numbers of a material, by a byte of each pixel: from an array of structs, or with -DMEMBERS
// from an array for each member. cbank run --kernel shading.cu --against shading.cu
// --against-options=-DMEMBERS says which is faster.
#include <cbank.cuh>

enum { MATERIALS = 256, PIXELS_OF_A_THREAD = 16 };

#ifdef MEMBERS
CBANK_TABLE(albedo, float, MATERIALS, constant);
CBANK_TABLE(gloss, float, MATERIALS, constant);
CBANK_TABLE(metal, float, MATERIALS, constant);
CBANK_TABLE(glow, float, MATERIALS, constant);
#else
CBANK_TABLE(materials, float4, MATERIALS, constant); // albedo, gloss, metal, glow
#endif

// The materials are one table or four.
template <class... Tables>
__global__ void shading(const unsigned char *pixels, const float *light, float *out, unsigned count,
                        Tables... tables)
{
    const int staged[] = {(tables.stage(), 0)...};

    (void)staged;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        const float4 of = {tables[pixels[i]]...};
        const float half = 0.5f * (1 + of.z) * light[i];

        out[i] = of.x * light[i] + of.y * half * half + of.w;
    }
}

CBANK_CASE(shading, 1 << 16, 1 << 24) // pixels
{
    const auto number = [](unsigned i, unsigned member) {
        return (float)((i * 37 + member * 101) % 251) / 256;
    };
    const auto pixels = input<unsigned char>(size);
    const auto light = input<float>(size, [](cbank_u64 i) { return (float)(i % 509) / 256; });
    const auto out = output<float>(size);
    const unsigned blocks =
        (unsigned)((size + 256 * PIXELS_OF_A_THREAD - 1) / (256 * PIXELS_OF_A_THREAD));
#ifdef MEMBERS
    const auto a = entries<albedo>([=](unsigned i) { return number(i, 0); });
    const auto b = entries<gloss>([=](unsigned i) { return number(i, 1); });
    const auto c = entries<metal>([=](unsigned i) { return number(i, 2); });
    const auto d = entries<glow>([=](unsigned i) { return number(i, 3); });

    launch(shading<albedo, gloss, metal, glow>, blocks, 256)(pixels, light, out, (unsigned)size, a,
                                                             b, c, d);
#else
    const auto all = entries<materials>(
        [=](unsigned i) { return float4{number(i, 0), number(i, 1), number(i, 2), number(i, 3)}; });

    launch(shading<materials>, blocks, 256)(pixels, light, out, (unsigned)size, all);
#endif
    check(out,
          [=](cbank_u64 i) {
              const double half = 0.5 * (1 + number(pixels[i], 2)) * light[i];

              return number(pixels[i], 0) * (double)light[i] + number(pixels[i], 1) * half * half +
                     number(pixels[i], 3);
          },
          {1e-5, 1e-6});
}
