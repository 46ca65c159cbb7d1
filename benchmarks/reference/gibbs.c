/* The loop of slabfield/kernels/gibbs.py in C: the reference for its speed.
 *
 * Particles are contiguous: states is (n_nodes, n), lanes is (4, n) of xoshiro128+, row i of
 * neighbors and weights has degree[i] entries in use of `width`. All variants draw the same states
 * from the same start. sweeps_plain is the loop as one would write it. The other two are tuned to
 * what gcc does with that: the passes are kept out of line, because inlined, gcc -O3 interchanges
 * the loops over particles and neighbors, which then gather and are several times slower; and they
 * take in one neighbor or four a pass.
 */
#include <stdint.h>

static __attribute__((noinline)) void add_one(
    float *restrict field, float p, const float *restrict a, int64_t n)
{
    for (int64_t t = 0; t < n; t++)
        field[t] += p * a[t];
}

static __attribute__((noinline)) void add_four(
    float *restrict field, const float *restrict w, const float *restrict a,
    const float *restrict b, const float *restrict c, const float *restrict d, int64_t n)
{
    const float p = w[0], q = w[1], r = w[2], s = w[3];
    for (int64_t t = 0; t < n; t++)
        field[t] += (p * a[t] + q * b[t]) + (r * c[t] + s * d[t]);
}

static __attribute__((noinline)) void resample(
    float *restrict state, const float *restrict field, uint32_t *restrict s0,
    uint32_t *restrict s1, uint32_t *restrict s2, uint32_t *restrict s3, int64_t n)
{
    for (int64_t t = 0; t < n; t++) {
        uint32_t a = s0[t], b = s1[t], c = s2[t], d = s3[t];
        const int32_t word = (int32_t)(a + d);
        const uint32_t shifted = b << 9;
        c ^= a;
        d ^= b;
        s1[t] = b ^ c;
        s0[t] = a ^ d;
        s2[t] = c ^ shifted;
        s3[t] = (d << 11) | (d >> 21);
        const float v = (float)word * 0x1p-31f;
        float y = 0.5f * field[t];
        y = y > 9.0f ? 9.0f : y;
        y = y < -9.0f ? -9.0f : y;
        const float z = y * y;
        const float top =
            y * (0.9999999063168353f
                 + z * (0.1337319785149892f
                        + z * (0.003486582227342444f
                               + z * (2.0471840123004673e-05f + z * 1.318424285839516e-08f))));
        const float bottom =
            1.0f
            + z * (0.46706494700147777f
                   + z * (0.025841980107271404f
                          + z * (0.00032713861277796285f + z * 7.702670132664976e-07f)));
        state[t] = v * bottom < top ? 1.0f : 0.0f;
    }
}

#define SWEEPS(name, STEP_BY_FOUR)                                                              \
    void name(float *restrict states, const double *restrict bias,                              \
              const int32_t *restrict neighbors, const float *restrict weights,                \
              const int64_t *restrict degree, uint32_t *restrict lanes, float *restrict field,  \
              int64_t n_nodes, int64_t n, int64_t width, int64_t n_sweeps)                      \
    {                                                                                           \
        for (int64_t sweep = 0; sweep < n_sweeps; sweep++)                                      \
            for (int64_t i = 0; i < n_nodes; i++) {                                             \
                const int32_t *near = neighbors + i * width;                                   \
                const float *w = weights + i * width;                                           \
                const float b = (float)bias[i];                                                 \
                int64_t k = 0;                                                                  \
                for (int64_t t = 0; t < n; t++)                                                 \
                    field[t] = b;                                                               \
                for (; STEP_BY_FOUR && k + 4 <= degree[i]; k += 4)                              \
                    add_four(field, w + k, states + near[k] * n, states + near[k + 1] * n,      \
                             states + near[k + 2] * n, states + near[k + 3] * n, n);            \
                for (; k < degree[i]; k++)                                                      \
                    add_one(field, w[k], states + near[k] * n, n);                              \
                resample(states + i * n, field, lanes, lanes + n, lanes + 2 * n, lanes + 3 * n, \
                         n);                                                                    \
            }                                                                                   \
    }

SWEEPS(sweeps_by_one, 0)
SWEEPS(sweeps_by_four, 1)

void sweeps_plain(float *restrict states, const double *restrict bias,
                  const int32_t *restrict neighbors, const float *restrict weights,
                  const int64_t *restrict degree, uint32_t *restrict lanes, float *restrict field,
                  int64_t n_nodes, int64_t n, int64_t width, int64_t n_sweeps)
{
    for (int64_t sweep = 0; sweep < n_sweeps; sweep++)
        for (int64_t i = 0; i < n_nodes; i++) {
            for (int64_t t = 0; t < n; t++)
                field[t] = (float)bias[i];
            for (int64_t k = 0; k < degree[i]; k++) {
                const float *x = states + neighbors[i * width + k] * n;
                for (int64_t t = 0; t < n; t++)
                    field[t] += weights[i * width + k] * x[t];
            }
            resample(states + i * n, field, lanes, lanes + n, lanes + 2 * n, lanes + 3 * n, n);
        }
}
