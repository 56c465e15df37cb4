// What the kernels compute, in terms of plain arrays. One table of functions for each instruction set; ffi.cc picks one.
//
// All weights and biases are those of bits at temperature one: the caller divides by tau and turns spins into bits.
// Arrays are row-major. Nothing here allocates for the caller, blocks or starts threads: work is cut into chunks
// that do not depend on the number of threads, so that results do not either.
#pragma once

#include <cstdint>

namespace mpf {

// chains that are stepped together: few enough that their fields stay in the cache, enough to use a row of weights more than once
constexpr long GROUP = 25;

struct Matrix {
  const float* at;
  long rows, columns;
};

// One or two sets of examples x, most of which are zero, and a row of g for each: those of the second set after those of the first.
struct Contrast {
  const float* x[2];              // (n, D)
  long n[2];
  const float* g;                 // (n[0] + n[1], stride), aligned
  long units, columns;            // D, H
};

// Two layers of bits and the path of models that a chain goes along.
struct Chains {
  const float* v;                 // (chains, D)
  Matrix weights;                 // (D, H)
  float* transposed;              // (H, padded D), scratch; filled by `transpose` before `gibbs`
  const float* visible_bias;      // (D)
  const float* hidden_bias;       // (H)
  const float* visible_base;      // (D), the biases at beta = 0, or null: no path
  const float* hidden_base;       // (H)
  const float* betas;             // (last - first + 1), the path's; or null
  uint32_t key[2];
  uint32_t first, last;           // steps: step i draws from subkey(key, i),
  bool direct;                    // or from the key itself
  long chains;
  bool all_rounds;
  float* drawn;                   // (chains, D)
  float* gains;                   // (last - first, chains): log weights gained along the path; or null
};

// Units with fields and pairwise couplings, redrawn one after the other.
struct Sites {
  const float* v;                 // (chains, D): values 0 ... q - 1
  const float* couplings;         // (D, q, D, q), symmetric, zero where both units are the same; bits: (D, D)
  const float* fields;            // (D, q); bits: (D)
  const uint8_t* held;            // (chains or 1, D), or null
  long held_stride;               // D, or 0 where all chains hold the same
  uint32_t key[2];
  uint32_t first, last;           // sweeps, as the steps above
  bool direct;
  long chains, size, values;
  bool all_rounds;
  float* rows;                    // (D q, stride), aligned scratch; filled by `neighbours` before the sweeps, as is
  int32_t* occupied;              // (D q, 1 + stride / lanes): of each row of couplings how many vectors are not all zero, and which
  float* drawn;
};

// Sums over all hidden states of a small RBM, in double precision. A state is a low part (one of L) and a high part (one of N), and
// exp(b + W h) = low x high for each visible unit. Where products of sixteen of 1 + low x high, those of units i, i + D/16, ..., overflow,
// the result is not to be used.
struct Enumeration {
  const double* low;              // (D, L)
  const double* high;             // (D, N)
  const double* p;                // (N, L): probabilities
  long units, lows, highs;        // D, a multiple of 16; L, a multiple of 16; N
  double* by_high;                // (D, N): sum over low parts of p x p(unit is set | state)
  double* by_low;                 // (D, L): the same sum over high parts
};

struct Kernels {
  const char* name;
  long lanes;                     // numbers in a vector
  // rows [from, to) of out = x weights, where most of x (n, D) is zero
  void (*product)(const float* x, Matrix weights, long from, long to, float* out);
  // rows [from, to) of out (D, H) = x' g
  void (*outer)(const Contrast& work, long from, long to, float* out);
  // rows [from, to) of out (columns, stride) = the transpose of m
  void (*transpose)(Matrix m, long from, long to, float* out, long stride);
  long (*stride)(long n);         // that of a row of n numbers which kernels may read to the end of its last vector
  void (*gibbs)(const Chains& work, long from, long to);
  void (*expectations)(const Enumeration& work, long from, long to);  // units from, ..., to - 1 and those D/4, D/2, 3D/4 further on
  void (*neighbours)(const Sites& work, long from, long to);  // of rows of couplings
  void (*ising)(const Sites& work, long from, long to);       // of chains
  void (*potts)(const Sites& work, long from, long to);
};

const Kernels* portable_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

}  // namespace mpf
