// Heat-bath sweeps over units with pairwise couplings.
#pragma once

#include "rows.h"

namespace {

// The couplings in padded rows, and of each row the vectors that are not all zero: where couplings are sparse, few of them.
void neighbours(const Sites& work, long from, long to) {
  const long n = work.size * work.values, stride = padded(n), vectors = stride / LANES;
  for (long i = from; i < to; i++) {
    float* row = work.rows + i * stride;
    int32_t* occupied = work.occupied + i * (1 + vectors);
    int32_t found = 0;
    for (long v = 0; v < vectors; v++) {
      const long left = n - v * LANES;
      const float* at = work.couplings + i * n + v * LANES;
      const Floats some = left < LANES ? load_some(at, left) : load<Floats>(at);
      store(row + v * LANES, some);
      occupied[1 + found] = int32_t(v);
      found += mask(some != 0.0f) != 0;
    }
    occupied[0] = found;
  }
}

// field += factor x row i
INLINE void add_row(const Sites& work, long stride, long i, float factor, float* field) {
  const int32_t* occupied = work.occupied + i * (1 + stride / LANES);
  const float* row = work.rows + i * stride;
  if (2 * occupied[0] * LANES > stride) {
    for (long at = 0; at < stride; at += LANES) store(field + at, load<Floats>(field + at) + factor * load<Floats>(row + at));
    return;
  }
  for (int32_t k = 1; k <= occupied[0]; k++) {
    const long at = long(occupied[k]) * LANES;
    store(field + at, load<Floats>(field + at) + factor * load<Floats>(row + at));
  }
}

// field += row i - row j
INLINE void exchange_rows(const Sites& work, long stride, long i, long j, float* field) {
  const int32_t filled = work.occupied[i * (1 + stride / LANES)] + work.occupied[j * (1 + stride / LANES)];
  if (filled * LANES > stride) {
    const float *added = work.rows + i * stride, *taken = work.rows + j * stride;
    for (long at = 0; at < stride; at += LANES)
      store(field + at, load<Floats>(field + at) + (load<Floats>(added + at) - load<Floats>(taken + at)));
    return;
  }
  add_row(work, stride, i, 1.0f, field);
  add_row(work, stride, j, -1.0f, field);
}

// the keys of all sites in one sweep
void site_keys(const Sites& work, uint32_t step, uint32_t* first, uint32_t* second) {
  const Key key = key_of(work, step);
  for (long i = 0; i < work.size; i += LANES) {
    Words x0 = counting(uint32_t(i)), x1 = all(1u);
    threefry<1>(all(key.a), all(key.b), &x0, &x1, true);
    store(first + i, x0), store(second + i, x1);
  }
}

INLINE bool is_held(const Sites& work, long chain, long site) {
  return work.held != nullptr && work.held[chain * work.held_stride + site];
}

// log(u / (1 - u)) of N vectors of sites: a bit is set where its logit is above this
template <int N>
INLINE void limits_of(const Sites& work, long chain, long i, const uint32_t* first, const uint32_t* second, float* limits) {
  Words counters[N], key0[N], key1[N];
  Floats u[N];
  for (int n = 0; n < N; n++) {
    counters[n] = all(uint32_t(chain));
    key0[n] = load<Words>(first + i + n * LANES), key1[n] = load<Words>(second + i + n * LANES);
  }
  for (int n = 0; n < N; n++) uniform<1>(key0[n], key1[n], counters + n, u + n, work.all_rounds);
  for (int n = 0; n < N; n++) store(limits + i + n * LANES, logarithm(u[n] / (1.0f - u[n])));
}

// Of a vector of sites those that are to flip are known at once; the first of them flips, and the others are looked at again with the
// new fields.
void ising_sweep(const Sites& work, long chain, const float* limits, float* field, uint32_t* bits) {
  const long n = work.size, stride = padded(n);
  for (long i = 0; i < n; i += LANES) {
    const Floats here = load<Floats>(limits + i);
    uint64_t left = n - i < LANES ? (uint64_t(1) << (n - i)) - 1 : (uint64_t(1) << LANES) - 1, now = bits[i / LANES];
    for (int l = 0; work.held != nullptr && l < LANES && i + l < n; l++) left &= ~(uint64_t(is_held(work, chain, i + l)) << l);
    for (uint64_t flips; (flips = (mask(load<Floats>(field + i) > here) ^ now) & left);) {
      const int site = __builtin_ctzll(flips);
      now ^= uint64_t(1) << site;
      left &= ~uint64_t(0) << site << 1;
      add_row(work, stride, i + site, now >> site & 1 ? 1.0f : -1.0f, field);
    }
    bits[i / LANES] = uint32_t(now);
  }
}

void ising(const Sites& work, long from, long to) {
  const long n = work.size, width = padded(n), vectors = width / LANES, chains = to - from;
  Scratch scratch(Scratch::of(width, 4) * 4 + Scratch::of(chains * width, 4) + Scratch::of(chains * vectors, 4) + 1024);
  const float* bias = padded_copy(work.fields, n, scratch);
  uint32_t *first = scratch.take<uint32_t>(width), *second = scratch.take<uint32_t>(width);
  float* limits = scratch.take<float>(width);
  float* fields = scratch.take<float>(chains * width);
  uint32_t* bits = scratch.take<uint32_t>(chains * vectors);
  for (long c = 0; c < chains; c++)
    for (long i = 0; i < n; i += LANES) {
      const float* v = work.v + (from + c) * n + i;
      bits[c * vectors + i / LANES] = uint32_t(mask((n - i < LANES ? load_some(v, n - i) : load<Floats>(v)) != 0.0f));
    }
  for (uint32_t step = work.first; step < work.last; step++) {
    site_keys(work, step, first, second);
    for (long c = 0; c < chains; c++) {
      float* field = fields + c * width;
      if ((step - work.first) % RENEWED == 0) {
        memcpy(field, bias, width * sizeof(float));
        for (long i = 0; i < n; i++)
          if (bits[c * vectors + i / LANES] >> i % LANES & 1) add_row(work, width, i, 1.0f, field);
      }
      long i = 0;
      for (; i + 4 * LANES <= width; i += 4 * LANES) limits_of<4>(work, from + c, i, first, second, limits);
      for (; i < width; i += LANES) limits_of<1>(work, from + c, i, first, second, limits);
      ising_sweep(work, from + c, limits, field, bits + c * vectors);
    }
  }
  for (long c = 0; c < chains; c++)
    for (long i = 0; i < n; i++) work.drawn[(from + c) * n + i] = float(bits[c * vectors + i / LANES] >> i % LANES & 1);
}

// the value whose share of the sum of exp(field) the number u falls on
INLINE int32_t drawn_value(const float* own, long q, float u, float* sums) {
  Floats top = all(-__builtin_inff());
  for (long a = 0; a < q; a += LANES) {
    const Floats logits = load<Floats>(own + a);
    top = largest(top, q - a < LANES ? ((Ints)UP < int32_t(q - a) ? logits : all(-__builtin_inff())) : logits);
  }
  const float most = largest_lane(top);
  float total = 0;
  for (long a = 0; a < q; a += LANES) {
    Floats weights = exponential(load<Floats>(own + a) - most);
    if (q - a < LANES) weights = (Ints)UP < int32_t(q - a) ? weights : Floats{};
    weights = total + running_sum(weights);
    store(sums + a, weights);
    total = weights[LANES - 1];
  }
  const float wanted = u * total;
  long passed = 0;
  for (long a = 0; a < q; a += LANES) passed += __builtin_popcountll(mask(wanted > load<Floats>(sums + a)));
  return int32_t(passed < q - 1 ? passed : q - 1);
}

void potts(const Sites& work, long from, long to) {
  const long n = work.size, q = work.values, width = padded(n * q), qp = padded(q), chains = to - from, room = width + qp;
  Scratch scratch(Scratch::of(room, 4) + Scratch::of(padded(n), 4) * 2 + Scratch::of(padded(chains), 4) + Scratch::of(qp, 4) +
                  Scratch::of(chains * room, 4) + Scratch::of(chains * n, 4) + 1024);
  const float* bias = padded_copy(work.fields, n * q, scratch);
  uint32_t *first = scratch.take<uint32_t>(padded(n)), *second = scratch.take<uint32_t>(padded(n));
  float* u = scratch.take<float>(padded(chains));
  float* sums = scratch.take<float>(qp);
  float* fields = scratch.take<float>(chains * room);  // read beyond its end by one unit's vectors
  int32_t* states = scratch.take<int32_t>(chains * n);
  for (long i = 0; i < chains * n; i++) states[i] = int32_t(work.v[from * n + i]);
  for (uint32_t step = work.first; step < work.last; step++) {
    site_keys(work, step, first, second);
    for (long c = 0; (step - work.first) % RENEWED == 0 && c < chains; c++) {
      memcpy(fields + c * room, bias, width * sizeof(float));
      memset(fields + c * room + width, 0, qp * sizeof(float));
      for (long i = 0; i < n; i++) add_row(work, width, i * q + states[c * n + i], 1.0f, fields + c * room);
    }
    for (long i = 0; i < n; i++) {  // all chains at one site: its couplings stay in the cache
      for (long c = 0; c < chains; c += LANES) {
        Words counter = counting(uint32_t(from + c));
        Floats numbers;
        uniform<1>(all(first[i]), all(second[i]), &counter, &numbers, work.all_rounds);
        store(u + c, numbers);
      }
      for (long c = 0; c < chains; c++) {
        if (is_held(work, from + c, i)) continue;
        float* field = fields + c * room;
        int32_t& state = states[c * n + i];
        const int32_t value = drawn_value(field + i * q, q, u[c], sums);
        if (value == state) continue;
        exchange_rows(work, width, i * q + value, i * q + state, field);
        state = value;
      }
    }
  }
  for (long i = 0; i < chains * n; i++) work.drawn[from * n + i] = float(states[i]);
}

}  // namespace
