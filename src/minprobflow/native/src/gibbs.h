// k steps of block Gibbs sampling, or of annealed importance sampling, with fields that are corrected by the units that flipped.
#pragma once

#include "rows.h"

namespace {

// One layer of the chains of a group. States are bits, 64 to a word.
struct Layer {
  long n, width, words;  // units, their number padded to whole vectors, and the words that hold their bits
  uint64_t* bits;        // (GROUP, words); zeros beyond the last unit
  float* fields;         // (GROUP, width): bias + sum of rows, at the end of the path
  const float* bias;     // (width)
  const float* base;     // (width): the biases at the path's start, or null
  const uint64_t* nothing;  // (words): all zero
  Rows rows;             // of this layer's units: what each adds to the fields of the other layer
};

void pack(const float* x, long n, uint64_t* bits) {
  memset(bits, 0, (n + 63) / 64 * sizeof(uint64_t));
  long i = 0;
  for (; i + LANES <= n; i += LANES) bits[i / 64] |= mask(load<Floats>(x + i) != 0.0f) << i % 64;
  for (; i < n; i++) bits[i / 64] |= uint64_t(x[i] != 0) << i % 64;
}

constexpr uint64_t LANE_BITS = (uint64_t(1) << LANES) - 1;

// the lowest bits as numbers
INLINE Floats lanes_of(uint64_t bits) { return __builtin_convertvector((Ints)(all(uint32_t(bits)) >> UP & 1), Floats); }

void unpack(const uint64_t* bits, long n, float* x) {
  long i = 0;
  for (; i + LANES <= n; i += LANES) store(x + i, lanes_of(bits[i / 64] >> i % 64));
  for (; i < n; i++) x[i] = float(bits[i / 64] >> i % 64 & 1);
}

// the units that differ between two states; +1 where the new one is set
Terms differences(const uint64_t* now, const uint64_t* before, long words, Terms terms) {
  terms.n = 0;
  for (long w = 0; w < words; w++)
    for (uint64_t flips = now[w] ^ before[w], set = now[w], i = 64 * w; flips; flips >>= LANES, set >>= LANES, i += LANES) {
      const uint64_t lanes = flips & LANE_BITS;
      put(terms.row + terms.n, lanes, (Ints)counting(uint32_t(i)));
      put(terms.factor + terms.n, lanes, 2.0f * lanes_of(set) - 1.0f);
      terms.n += __builtin_popcountll(lanes);
    }
  return terms;
}

// N vectors of units from i on, drawn at once: u (1 + exp(-logit)) < 1, as in random_bits.bernoulli
template <int N, bool ALL_ROUNDS, bool ON_PATH>
INLINE uint64_t drawn(const Layer& layer, const float* fields, long i, Words key0, Words key1, uint32_t counter, float beta) {
  Words counters[N];
  Floats u[N];
  for (int n = 0; n < N; n++) counters[n] = counting(counter + uint32_t(i + n * LANES));
  uniform<N>(key0, key1, counters, u, ALL_ROUNDS);
  uint64_t bits = 0;
  for (int n = 0; n < N; n++) {
    Floats logits = load<Floats>(fields + i + n * LANES);
    if (ON_PATH) logits = (1 - beta) * load<Floats>(layer.base + i + n * LANES) + beta * logits;
    bits |= mask(u[n] * (1.0f + exponential(-logits)) < 1.0f) << n * LANES;
  }
  return bits;
}

template <bool ALL_ROUNDS, bool ON_PATH>
void draw(const Layer& layer, long chain, long number, Key key, float beta) {
  constexpr int N = 64 / LANES < 2 ? 64 / LANES : 2;
  const float* fields = layer.fields + chain * layer.width;
  uint64_t* bits = layer.bits + chain * layer.words;
  const Words key0 = all(key.a), key1 = all(key.b);
  const uint32_t counter = uint32_t(number) * uint32_t(layer.n);
  memset(bits, 0, layer.words * sizeof(uint64_t));
  long i = 0;
  for (; i + N * LANES <= layer.width; i += N * LANES)
    bits[i / 64] |= drawn<N, ALL_ROUNDS, ON_PATH>(layer, fields, i, key0, key1, counter, beta) << i % 64;
  for (; i < layer.width; i += LANES)
    bits[i / 64] |= drawn<1, ALL_ROUNDS, ON_PATH>(layer, fields, i, key0, key1, counter, beta) << i % 64;
  if (layer.n % 64) bits[layer.words - 1] &= (uint64_t(1) << layer.n % 64) - 1;
}

// The fields of `to` in all chains, from the bits of `of` alone. Where most chains agree, the rows that most of them have are summed
// once, and each chain adds what it differs in.
void sum_fields(const Layer& of, const Layer& to, long chains, uint64_t* majority, float* common, Terms* terms) {
  memset(majority, 0, of.words * sizeof(uint64_t));
  Floats plain = {}, shared = {};
  for (long i = 0; i < of.n; i += LANES) {
    Floats count = {};
    for (long c = 0; c < chains; c++) count += lanes_of(of.bits[c * of.words + i / 64] >> i % 64);
    const Ints most = 2.0f * count > float(chains);
    majority[i / 64] |= mask(most) << i % 64;
    plain += count;
    shared += most ? 1.0f + float(chains) - count : count;
  }
  if (sum(shared) >= sum(plain)) memset(majority, 0, of.words * sizeof(uint64_t));
  const Terms all_on = differences(majority, of.nothing, of.words, terms[0]);
  add_rows(of.rows, &all_on, 1, to.bias, 0, common);
  for (long c = 0; c < chains; c++) terms[c] = differences(of.bits + c * of.words, majority, of.words, terms[c]);
  add_rows(of.rows, terms, chains, common, 0, to.fields);
}

// draw one layer of all chains; then, unless all fields are to be summed again, correct those of the other layer
template <bool ALL_ROUNDS, bool ON_PATH>
void redraw(const Layer& layer, const Layer& other, long chains, long first, Key key, float beta, bool correct, uint64_t* before, Terms* terms) {
  for (long c = 0; c < chains; c++) {
    uint64_t* bits = layer.bits + c * layer.words;
    if (correct) memcpy(before, bits, layer.words * sizeof(uint64_t));
    draw<ALL_ROUNDS, ON_PATH>(layer, c, first + c, key, beta);
    if (correct) terms[c] = differences(bits, before, layer.words, terms[c]);
  }
  if (correct) add_rows(layer.rows, terms, chains, other.fields, other.width, other.fields);
}

// sum over the hidden units of softplus(logit at `to`) - softplus(logit at `from`), with one logarithm for all factors of a lane
float hidden_gain(const Layer& hidden, long chain, float from, float to) {
  const float* fields = hidden.fields + chain * hidden.width;
  Floats linear = {}, logs = {}, above = all(1.0f), below = all(1.0f);
  long factors = 0;
  for (long i = 0; i < hidden.width; i += LANES) {
    const Floats own = load<Floats>(fields + i), base = load<Floats>(hidden.base + i);
    Floats a = (1 - to) * base + to * own, b = (1 - from) * base + from * own;
    if (i + LANES > hidden.n)
      for (int l = 0; l < LANES; l++)
        if (i + l >= hidden.n) a[l] = b[l] = 0;
    linear += largest(a, Floats{}) - largest(b, Floats{});
    above *= 1.0f + exponential(a > 0 ? -a : a);
    below *= 1.0f + exponential(b > 0 ? -b : b);
    if (++factors == 64 || i + LANES >= hidden.width) {  // each factor is at most 2
      logs += logarithm(above) - logarithm(below);
      above = below = all(1.0f), factors = 0;
    }
  }
  return sum(linear + logs);
}

float visible_gain(const Layer& visible, const float* slope, long chain) {
  float total = 0;
  for (long w = 0; w < visible.words; w++)
    for (uint64_t on = visible.bits[chain * visible.words + w]; on; on &= on - 1) total += slope[64 * w + __builtin_ctzll(on)];
  return total;
}

template <bool ALL_ROUNDS, bool ON_PATH>
void gibbs_group(const Chains& work, long from, long to) {
  const long d = work.weights.rows, h = work.weights.columns, chains = to - from;
  const long dp = padded(d), hp = padded(h), dw = (d + 63) / 64, hw = (h + 63) / 64, words = dw > hw ? dw : hw;
  Scratch scratch(Scratch::of(chains * (dp + hp), 4) + Scratch::of((chains + 3) * (dw + hw), 8) + Scratch::of(64 * words, 4) * (10 + 2 * chains) +
                  Scratch::of(n_copied(work.weights) * hp, 4) + 4096);
  const Rows weights = rows_of(work.weights, scratch.take<float>(n_copied(work.weights) * hp));
  const Rows transposed = {work.transposed, h, dp, dp, h, nullptr};
  uint64_t* nothing = scratch.take<uint64_t>(words);
  memset(nothing, 0, words * sizeof(uint64_t));
  const Layer visible = {d, dp, dw, scratch.take<uint64_t>(chains * dw), scratch.take<float>(chains * dp),
                         padded_copy(work.visible_bias, d, scratch), padded_copy(work.visible_base, d, scratch), nothing, weights};
  const Layer hidden = {h, hp, hw, scratch.take<uint64_t>(chains * hw), scratch.take<float>(chains * hp),
                        padded_copy(work.hidden_bias, h, scratch), padded_copy(work.hidden_base, h, scratch), nothing, transposed};
  uint64_t* before = scratch.take<uint64_t>(words);
  float* common = scratch.take<float>(64 * words);
  float* slope = scratch.take<float>(dp);
  Terms terms[GROUP];
  for (long c = 0; c < chains; c++) terms[c] = {scratch.take<int32_t>(64 * words), scratch.take<float>(64 * words), 0};
  for (long i = 0; ON_PATH && i < dp; i++) slope[i] = visible.bias[i] - visible.base[i];
  for (long c = 0; c < chains; c++) pack(work.v + (from + c) * d, d, visible.bits + c * dw);

  for (uint32_t step = work.first; step < work.last; step++) {
    const uint32_t done = step - work.first;
    const bool renew = done % RENEWED == 0, renew_next = (done + 1) % RENEWED == 0 || step + 1 == work.last;
    const Key key = key_of(work, step);
    if (renew) sum_fields(visible, hidden, chains, before, common, terms);
    const float beta = ON_PATH ? work.betas[done + 1] : 1.0f;
    for (long c = 0; ON_PATH && c < chains; c++) {
      const float last = work.betas[done];
      work.gains[done * work.chains + from + c] = (beta - last) * visible_gain(visible, slope, c) + hidden_gain(hidden, c, last, beta);
    }
    redraw<ALL_ROUNDS, ON_PATH>(hidden, visible, chains, from, subkey(key, 0), beta, !renew, before, terms);
    if (renew) sum_fields(hidden, visible, chains, before, common, terms);
    redraw<ALL_ROUNDS, ON_PATH>(visible, hidden, chains, from, subkey(key, 1), beta, !renew_next, before, terms);
  }
  for (long c = 0; c < chains; c++) unpack(visible.bits + c * dw, d, work.drawn + (from + c) * d);
}

void gibbs(const Chains& work, long from, long to) {
  for (long first = from; first < to; first += GROUP) {
    const long last = to - first < GROUP ? to : first + GROUP;
    if (work.betas == nullptr)
      work.all_rounds ? gibbs_group<true, false>(work, first, last) : gibbs_group<false, false>(work, first, last);
    else
      work.all_rounds ? gibbs_group<true, true>(work, first, last) : gibbs_group<false, true>(work, first, last);
  }
}

}  // namespace
