// Sums over all hidden states of a small RBM.
#pragma once

#include "kernels.h"
#include "lanes.h"

namespace {

// p(unit is set) = 1 - 1 / (1 + low x high), four units at a time: one division serves all four.
void expectations(const mpf::Enumeration& work, long from, long to) {
  constexpr int WIDE = LANES / 2;
  constexpr long BLOCK = 64;  // high parts whose probabilities stay in the cache
  const long quarter = work.units / 4, lows = work.lows, highs = work.highs;
  for (long first = 0; first < highs; first += BLOCK) {
    const long last = highs - first < BLOCK ? highs : first + BLOCK;
    for (long unit = from; unit < to; unit++) {
      const double *low[4], *high[4];
      double *by_low[4], *by_high[4];
      for (int u = 0; u < 4; u++) {
        const long i = unit + u * quarter;
        low[u] = work.low + i * lows, high[u] = work.high + i * highs;
        by_low[u] = work.by_low + i * lows, by_high[u] = work.by_high + i * highs;
      }
      if (first == 0)
        for (int u = 0; u < 4; u++) memset(by_low[u], 0, lows * sizeof(double));
      for (long n = first; n < last; n++) {
        const double* p = work.p + n * lows;
        const double h0 = high[0][n], h1 = high[1][n], h2 = high[2][n], h3 = high[3][n];
        Doubles s0 = {}, s1 = {}, s2 = {}, s3 = {};
        for (long l = 0; l < lows; l += WIDE) {
          const Doubles weight = load<Doubles>(p + l);
          const Doubles x0 = 1.0 + h0 * load<Doubles>(low[0] + l), x1 = 1.0 + h1 * load<Doubles>(low[1] + l);
          const Doubles x2 = 1.0 + h2 * load<Doubles>(low[2] + l), x3 = 1.0 + h3 * load<Doubles>(low[3] + l);
          const Doubles x01 = x0 * x1, x23 = x2 * x3, inverse = weight / (x01 * x23);
          const Doubles y01 = inverse * x23, y23 = inverse * x01;
          const Doubles t0 = weight - y01 * x1, t1 = weight - y01 * x0, t2 = weight - y23 * x3, t3 = weight - y23 * x2;
          s0 += t0, s1 += t1, s2 += t2, s3 += t3;
          store(by_low[0] + l, load<Doubles>(by_low[0] + l) + t0);
          store(by_low[1] + l, load<Doubles>(by_low[1] + l) + t1);
          store(by_low[2] + l, load<Doubles>(by_low[2] + l) + t2);
          store(by_low[3] + l, load<Doubles>(by_low[3] + l) + t3);
        }
        by_high[0][n] = sum(s0), by_high[1][n] = sum(s1), by_high[2][n] = sum(s2), by_high[3][n] = sum(s3);
      }
    }
  }
}

}  // namespace
