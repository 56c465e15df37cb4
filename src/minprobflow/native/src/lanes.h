// Short vectors: the few operations that the kernels are written in, for whatever width the compiler's flags allow.
//
// This file is compiled once for each instruction set, so everything in it is `static`: a function that the linker could
// share between the versions might run instructions that the machine does not have. For the same reason the kernels use
// nothing from the C++ library.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define MPF_LANES 16
#define MPF_TILE 16  // vectors of a sum that are kept in registers
#define MPF_NARROW 8 // of one whose rows are taken in blocks
#elif defined(__AVX2__)
#define MPF_LANES 8
#define MPF_TILE 12
#define MPF_NARROW 8
#else
#define MPF_LANES 4
#define MPF_TILE 12
#define MPF_NARROW 8
#endif

#define INLINE static inline __attribute__((always_inline))

static constexpr int LANES = MPF_LANES;
typedef float Floats __attribute__((vector_size(4 * MPF_LANES)));
typedef double Doubles __attribute__((vector_size(4 * MPF_LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * MPF_LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * MPF_LANES)));

INLINE long padded(long n) { return (n + LANES - 1) / LANES * LANES; }

template <class Vector, class Number>
INLINE Vector load(const Number* from) {
  Vector x;
  memcpy(&x, from, sizeof x);
  return x;
}

template <class Vector, class Number>
INLINE void store(Number* to, Vector x) {
  memcpy(to, &x, sizeof x);
}

// the first n numbers, and zeros
INLINE Floats load_some(const float* from, long n) {
  Floats x = {};
  memcpy(&x, from, n * sizeof(float));
  return x;
}

INLINE Floats all(float x) { return x - Floats{}; }
INLINE Words all(uint32_t x) { return Words{} + x; }

#if MPF_LANES == 16
static constexpr Words UP = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif MPF_LANES == 8
static constexpr Words UP = {0, 1, 2, 3, 4, 5, 6, 7};
#else
static constexpr Words UP = {0, 1, 2, 3};
#endif

INLINE Words counting(uint32_t first) { return UP + first; }

// one bit for each lane of a comparison
INLINE uint64_t mask(Ints on) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)on);
#elif defined(__AVX2__)
  return uint32_t(_mm256_movemask_ps((__m256)on));
#elif defined(__SSE2__)
  return uint32_t(_mm_movemask_ps((__m128)on));
#else
  uint64_t bits = 0;
  for (int i = 0; i < LANES; i++) bits |= uint64_t(on[i] & 1) << i;
  return bits;
#endif
}

// the numbers of the lanes that are set, one after the other; what follows them, up to a whole vector, is overwritten
template <class Vector, class Number>
INLINE void put(Number* to, uint64_t set, Vector x) {
#if defined(__AVX512F__)
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(__mmask16(set), (__m512i)x));
#else
  for (; set; set &= set - 1) *to++ = x[__builtin_ctzll(set)];
#endif
}

INLINE float sum(Floats x) {
  float total = 0;
  for (int i = 0; i < LANES; i++) total += x[i];
  return total;
}

INLINE double sum(Doubles x) {
  double total = 0;
  for (int i = 0; i < LANES / 2; i++) total += x[i];
  return total;
}

// lanes moved up by S, zeros below
template <int S>
INLINE Floats moved_up(Floats x) {
  Ints from;
  for (int l = 0; l < LANES; l++) from[l] = l < S ? LANES + l : l - S;
  return __builtin_shuffle(x, Floats{}, from);
}

// lane i: the sum of lanes 0, ..., i
INLINE Floats running_sum(Floats x) {
  x += moved_up<1>(x);
  x += moved_up<2>(x);
  if constexpr (LANES > 4) x += moved_up<4>(x);
  if constexpr (LANES > 8) x += moved_up<8>(x);
  return x;
}

INLINE Floats largest(Floats a, Floats b) { return a > b ? a : b; }
INLINE Floats smallest(Floats a, Floats b) { return a < b ? a : b; }

INLINE float largest_lane(Floats x) {
  x = largest(x, __builtin_shuffle(x, (Ints)(UP ^ 1)));
  x = largest(x, __builtin_shuffle(x, (Ints)(UP ^ 2)));
  if constexpr (LANES > 4) x = largest(x, __builtin_shuffle(x, (Ints)(UP ^ 4)));
  if constexpr (LANES > 8) x = largest(x, __builtin_shuffle(x, (Ints)(UP ^ 8)));
  return x[0];
}

// 2^n (1 + r + ...): relative error below 2e-7; arguments beyond +-87 count as +-87
INLINE Floats exponential(Floats x) {
  x = largest(smallest(x, all(87.0f)), all(-87.0f));
  const Floats shift = all(12582912.0f);  // 1.5 x 2^23: adding it rounds to a whole number
  Floats n = x * 1.44269504f + shift;
  Ints power = (Ints)n << 23;
  n -= shift;
  Floats r = x - n * 0.693359375f;
  r += n * 2.12194440e-4f;
  Floats p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return (Floats)((Ints)p + power);
}

// for x > 0, not denormal: relative error below 2e-7
INLINE Floats logarithm(Floats x) {
  Ints bits = (Ints)x;
  Ints power = (bits - 0x3f3504f3) >> 23;  // the mantissa is taken from sqrt(1/2) to sqrt(2)
  Floats m = (Floats)(bits - (power << 23)) - 1.0f;
  Floats e = __builtin_convertvector(power, Floats);
  Floats p = all(7.0376836292e-2f);
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  Floats square = m * m;
  Floats rest = p * m * square - 2.12194440e-4f * e - 0.5f * square;
  return m + rest + e * 0.693359375f;
}

// Threefry-2x32, as in random_bits.py: the words that the counters (x0, x1) are encrypted to. N of them in step, because each round waits
// for the one before.

template <int N, class W>
INLINE void mix(W* x0, W* x1, int turn) {
  for (int n = 0; n < N; n++) x0[n] += x1[n];
  for (int n = 0; n < N; n++) x1[n] = ((x1[n] << turn) | (x1[n] >> (32 - turn))) ^ x0[n];
}

template <int N, class W>
INLINE void add_key(W* x0, W* x1, W first, W second) {
  for (int n = 0; n < N; n++) x0[n] += first, x1[n] += second;
}

template <int N, class W>
INLINE void threefry(W key0, W key1, W* x0, W* x1, bool all_rounds) {
  const W key2 = key0 ^ key1 ^ 0x1BD11BDAu;
  add_key<N>(x0, x1, key0, key1);
  mix<N>(x0, x1, 13), mix<N>(x0, x1, 15), mix<N>(x0, x1, 26), mix<N>(x0, x1, 6);
  add_key<N>(x0, x1, key1, key2 + 1);
  mix<N>(x0, x1, 17), mix<N>(x0, x1, 29), mix<N>(x0, x1, 16), mix<N>(x0, x1, 24);
  add_key<N>(x0, x1, key2, key0 + 2);
  mix<N>(x0, x1, 13), mix<N>(x0, x1, 15), mix<N>(x0, x1, 26), mix<N>(x0, x1, 6);
  add_key<N>(x0, x1, key0, key1 + 3);
  mix<N>(x0, x1, 17);
  if (!all_rounds) return;  // 13
  mix<N>(x0, x1, 29), mix<N>(x0, x1, 16), mix<N>(x0, x1, 24);
  add_key<N>(x0, x1, key1, key2 + 4);
  mix<N>(x0, x1, 13), mix<N>(x0, x1, 15), mix<N>(x0, x1, 26), mix<N>(x0, x1, 6);
  add_key<N>(x0, x1, key2, key0 + 5);
}

struct Key {
  uint32_t a, b;
};

INLINE Key subkey(Key key, uint32_t number) {
  uint32_t x0 = number, x1 = 1;
  threefry<1>(key.a, key.b, &x0, &x1, true);
  return {x0, x1};
}

// numbers on the middles of 2^23 equal intervals of (0, 1), of these counters
template <int N>
INLINE void uniform(Words key0, Words key1, Words* counter, Floats* u, bool all_rounds) {
  Words other[N] = {};
  threefry<N>(key0, key1, counter, other, all_rounds);
  for (int n = 0; n < N; n++) u[n] = (__builtin_convertvector((Ints)(counter[n] >> 9), Floats) + 0.5f) * 0x1p-23f;
}
