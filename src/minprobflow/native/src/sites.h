// Heat-bath sweeps over units with pairwise couplings.
#pragma once

#include "rows.h"

namespace {

// log(u / (1 - u)) for every site of one chain: a bit is set where its logit is above this
void thresholds(const Key* keys, long size, uint32_t chain, bool all_rounds, float* out, bool odds) {
  for (long i = 0; i < size; i += LANES) {
    Words key0, key1;
    for (int l = 0; l < LANES; l++) key0[l] = keys[i + l].a, key1[l] = keys[i + l].b;
    Words counter = all(chain);
    Floats u;
    uniform<1>(key0, key1, &counter, &u, all_rounds);
    store(out + i, odds ? logarithm(u) - logarithm(1.0f - u) : u);
  }
}

// the keys of all sites in one sweep
void site_keys(const Sites& work, uint32_t step, Key* keys) {
  const Key key = key_of(work, step);
  for (long i = 0; i < padded(work.size); i++) keys[i] = subkey(key, uint32_t(i));
}

INLINE bool is_held(const Sites& work, long chain, long site) {
  return work.held != nullptr && work.held[chain * work.held_stride + site];
}

void ising(const Sites& work, long from, long to) {
  const long n = work.size, width = padded(n), chains = to - from;
  const Matrix couplings = {work.couplings, n, n};
  Scratch scratch(Scratch::of(width, 4) * 6 + Scratch::of(width, 8) + Scratch::of(chains * width, 4) * 2 +
                  Scratch::of(n_copied(couplings) * width, 4));
  const Rows rows = rows_of(couplings, scratch.take<float>(n_copied(couplings) * width));
  const float* bias = padded_copy(work.fields, n, scratch);
  float* limits = scratch.take<float>(width);
  Key* keys = scratch.take<Key>(width);
  const Terms all_on = {scratch.take<int32_t>(width), scratch.take<float>(width), 0};
  float* fields = scratch.take<float>(chains * width);
  float* states = scratch.take<float>(chains * width);
  for (long c = 0; c < chains; c++) memcpy(states + c * width, work.v + (from + c) * n, n * sizeof(float));
  for (uint32_t step = work.first; step < work.last; step++) {
    site_keys(work, step, keys);
    for (long c = 0; c < chains; c++) {
      float *field = fields + c * width, *v = states + c * width;
      if ((step - work.first) % RENEWED == 0) {
        const Terms set = nonzeros(v, n, all_on);
        add_rows(rows, &set, 1, bias, 0, field);
      }
      thresholds(keys, width, uint32_t(from + c), work.all_rounds, limits, true);
      for (long i = 0; i < n; i++) {
        const float value = field[i] > limits[i] ? 1.0f : 0.0f;
        if (value == v[i] || is_held(work, from + c, i)) continue;
        int32_t row = int32_t(i);
        float factor = value - v[i];
        const Terms flip = {&row, &factor, 1};
        add_rows(rows, &flip, 1, field, 0, field);
        v[i] = value;
      }
    }
  }
  for (long c = 0; c < chains; c++) memcpy(work.drawn + (from + c) * n, states + c * width, n * sizeof(float));
}

void potts(const Sites& work, long from, long to) {
  const long n = work.size, q = work.values, all_values = n * q, width = padded(all_values), qp = padded(q), chains = to - from;
  const Matrix couplings = {work.couplings, all_values, all_values};
  Scratch scratch(Scratch::of(n_copied(couplings) * width, 4) + Scratch::of(width + qp, 4) * 4 + Scratch::of(padded(n), 4) * 4 + Scratch::of(padded(n), 8) + Scratch::of(qp, 4) * 2 +
                  Scratch::of(chains, 4 * (width + qp)) + Scratch::of(chains * n, 4));
  const Rows rows = rows_of(couplings, scratch.take<float>(n_copied(couplings) * width));
  const float* bias = padded_copy(work.fields, all_values, scratch);
  float* limits = scratch.take<float>(padded(n));
  Key* keys = scratch.take<Key>(padded(n));
  const Terms terms = {scratch.take<int32_t>(n + 2), scratch.take<float>(n + 2), 0};
  float* weights = scratch.take<float>(qp);
  float* fields = scratch.take<float>(chains * (width + qp));  // read beyond its end by one unit's vectors
  int32_t* states = scratch.take<int32_t>(chains * n);
  for (long i = 0; i < chains * n; i++) states[i] = int32_t(work.v[from * n + i]);
  for (uint32_t step = work.first; step < work.last; step++) {
    site_keys(work, step, keys);
    for (long c = 0; c < chains; c++) {
      float* field = fields + c * (width + qp);
      int32_t* v = states + c * n;
      if ((step - work.first) % RENEWED == 0) {
        for (long i = 0; i < n; i++) terms.row[i] = int32_t(i * q + v[i]), terms.factor[i] = 1;
        const Terms set = {terms.row, terms.factor, n};
        add_rows(rows, &set, 1, bias, 0, field);
        memset(field + width, 0, qp * sizeof(float));
      }
      thresholds(keys, padded(n), uint32_t(from + c), work.all_rounds, limits, false);
      for (long i = 0; i < n; i++) {
        if (is_held(work, from + c, i)) continue;
        const float* own = field + i * q;
        float top = own[0];
        for (long a = 1; a < q; a++) top = own[a] > top ? own[a] : top;
        for (long a = 0; a < qp; a += LANES) store(weights + a, exponential(load<Floats>(own + a) - top));
        float total = 0;
        for (long a = 0; a < q; a++) weights[a] = total += weights[a];
        const float wanted = limits[i] * total;
        int32_t value = 0;
        for (long a = 0; a + 1 < q; a++) value += wanted > weights[a];
        if (value == v[i]) continue;
        int32_t changed[2] = {int32_t(i * q + value), int32_t(i * q + v[i])};
        float factors[2] = {1, -1};
        const Terms change = {changed, factors, 2};
        add_rows(rows, &change, 1, field, 0, field);
        v[i] = value;
      }
    }
  }
  for (long i = 0; i < chains * n; i++) work.drawn[from * n + i] = float(states[i]);
}

}  // namespace
