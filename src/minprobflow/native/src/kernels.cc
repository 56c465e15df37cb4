// The kernels, compiled once for each instruction set with MPF_TABLE naming the table of functions (see lanes.h).
//
// States are bits: a product of bits with a matrix is a sum of a few of its rows, and after a sampling step the next
// product is the last one corrected by the rows of the units that flipped. Sums are kept in registers, a tile of columns
// at a time. Rows are read to the end of their last vector, so the matrices that the kernels make have padded rows; of the
// caller's weights the last rows are copied.

#include "kernels.h"

#include <cstdlib>

#include "lanes.h"

namespace {

using mpf::Chains;
using mpf::GROUP;
using mpf::Matrix;
using mpf::Sites;

// bytes that stay in the cache next to a core
constexpr long CACHE = 512 * 1024;
// share of all rows from which on a dense product is faster
constexpr float DENSE = 0.3f;
// steps after which fields are summed again from scratch, so that rounding errors do not pile up
constexpr uint32_t RENEWED = 128;

// The rows of a matrix; the last ones in padded copies, where reading to the end of the last vector would leave the matrix.
struct Rows {
  const float* at;
  long n, stride, width;  // width: padded
  long first_copied;
  const float* copies;

  const float* operator[](long i) const { return i < first_copied ? at + i * stride : copies + (i - first_copied) * width; }
};

long n_copied(Matrix m) {
  const long beyond = (padded(m.columns) - m.columns + m.columns - 1) / m.columns;
  return beyond < m.rows ? beyond : m.rows;
}

Rows rows_of(Matrix m, float* copies) {
  const long width = padded(m.columns), first = m.rows - n_copied(m);
  for (long i = first; i < m.rows; i++) {
    float* copy = copies + (i - first) * width;
    memset(copy, 0, width * sizeof(float));
    memcpy(copy, m.at + i * m.columns, m.columns * sizeof(float));
  }
  return {m.at, m.rows, m.columns, width, first, copies};
}

// Which rows are added, and how often.
struct Terms {
  int32_t* row;
  float* factor;
  long n;
};

template <int TILE>
void add_tile(const Rows& rows, const Terms& terms, long column, const float* from, float* to) {
  Floats sums[TILE];
  for (int t = 0; t < TILE; t++) sums[t] = load<Floats>(from + column + t * LANES);
  for (long i = 0; i < terms.n; i++) {
    const float* row = rows[terms.row[i]] + column;
    asm("" : "+r"(row));  // one pointer and fixed distances, not a register for each of them
    const Floats factor = all(terms.factor[i]);
    for (int t = 0; t < TILE; t++) sums[t] += factor * load<Floats>(row + t * LANES);
  }
  for (int t = 0; t < TILE; t++) store(to + column + t * LANES, sums[t]);
}

using AddTile = void (*)(const Rows&, const Terms&, long, const float*, float*);
constexpr AddTile ADD_TILE[] = {nullptr,      add_tile<1>,  add_tile<2>,  add_tile<3>,  add_tile<4>,  add_tile<5>,
                                add_tile<6>,  add_tile<7>,  add_tile<8>,  add_tile<9>,  add_tile<10>, add_tile<11>,
                                add_tile<12>, add_tile<13>, add_tile<14>, add_tile<15>, add_tile<16>};

// The same for MPF_BLOCK chains, with all rows: a row that is loaded serves them all. `factors` has a row for each chain.
template <int WIDE>
void add_all_rows(const Rows& rows, const float* factors, long stride, long column, const float* from, long from_stride, float* to) {
  Floats sums[MPF_BLOCK][WIDE];
  for (int c = 0; c < MPF_BLOCK; c++)
    for (int t = 0; t < WIDE; t++) sums[c][t] = load<Floats>(from + c * from_stride + column + t * LANES);
  for (long i = 0; i < rows.n; i++) {
    const float* row = rows[i] + column;
    asm("" : "+r"(row));
    Floats part[WIDE];
    for (int t = 0; t < WIDE; t++) part[t] = load<Floats>(row + t * LANES);
    for (int c = 0; c < MPF_BLOCK; c++) {
      const Floats factor = all(factors[c * stride + i]);
      for (int t = 0; t < WIDE; t++) sums[c][t] += factor * part[t];
    }
  }
  for (int c = 0; c < MPF_BLOCK; c++)
    for (int t = 0; t < WIDE; t++) store(to + c * rows.width + column + t * LANES, sums[c][t]);
}

// to = from + sum of factor x row, where chains need so many rows that a dense product is faster
void add_most_rows(const Rows& rows, const Terms* terms, const float* from, long from_stride, float* to, float* factors) {
  const long stride = padded(rows.n), vectors = rows.width / LANES;
  memset(factors, 0, MPF_BLOCK * stride * sizeof(float));
  for (int c = 0; c < MPF_BLOCK; c++)
    for (long i = 0; i < terms[c].n; i++) factors[c * stride + terms[c].row[i]] = terms[c].factor[i];
  long v = 0;
  for (; v + MPF_WIDE <= vectors; v += MPF_WIDE) add_all_rows<MPF_WIDE>(rows, factors, stride, v * LANES, from, from_stride, to);
  for (; v < vectors; v++) add_all_rows<1>(rows, factors, stride, v * LANES, from, from_stride, to);
}

// to = from + sum of factor x row, for some chains; all of padded width, and `to` may be `from`
//
// Tiles are so narrow that their part of all rows fits the cache: a row that several chains need is fetched once.
void add_rows(const Rows& rows, const Terms* terms, long chains, const float* from, long from_stride, float* to, float* factors = nullptr) {
  for (; factors != nullptr && chains >= MPF_BLOCK; chains -= MPF_BLOCK) {
    long needed = 0;
    for (int c = 0; c < MPF_BLOCK; c++) needed += terms[c].n;
    if (needed < DENSE * MPF_BLOCK * rows.n) break;
    add_most_rows(rows, terms, from, from_stride, to, factors);
    terms += MPF_BLOCK, from += MPF_BLOCK * from_stride, to += MPF_BLOCK * rows.width;
  }
  const long fitting = CACHE / (rows.n * LANES * long(sizeof(float)));
  const long most = fitting < 4 ? 4 : fitting < MPF_TILE ? fitting : MPF_TILE;
  const long vectors = rows.width / LANES, tiles = (vectors + most - 1) / most;
  for (long t = 0, done = 0; t < tiles; t++) {
    const long tile = (vectors - done + tiles - t - 1) / (tiles - t);  // of about equal size
    for (long c = 0; c < chains; c++) ADD_TILE[tile](rows, terms[c], done * LANES, from + c * from_stride, to + c * rows.width);
    done += tile;
  }
}

template <class Work>
INLINE Key key_of(const Work& work, uint32_t step) {
  const Key key = {work.key[0], work.key[1]};
  return work.direct ? key : subkey(key, step);
}

// Scratch memory of one call: cut off piece by piece, aligned to whole vectors.
struct Scratch {
  char* at;
  char* next;

  explicit Scratch(size_t bytes) : at((char*)aligned_alloc(64, (bytes + 64) / 64 * 64)), next(at) {}
  ~Scratch() { free(at); }
  template <class Number>
  Number* take(long n) {
    Number* piece = (Number*)next;
    next += (n * sizeof(Number) + 63) / 64 * 64;
    return piece;
  }
  static size_t of(long n, size_t size) { return (n * size + 63) / 64 * 64; }
};

// ---------------------------------------------------------------------------------------------------- plain products

Terms nonzeros(const float* x, long n, Terms terms) {
  terms.n = 0;
  long i = 0;
  for (; i + LANES <= n; i += LANES)
    for (uint64_t set = mask(load<Floats>(x + i) != 0.0f); set; set &= set - 1) {
      const long unit = i + __builtin_ctzll(set);
      terms.row[terms.n] = int32_t(unit), terms.factor[terms.n] = x[unit];
      terms.n++;
    }
  for (; i < n; i++) {
    terms.row[terms.n] = int32_t(i), terms.factor[terms.n] = x[i];
    terms.n += x[i] != 0;
  }
  return terms;
}

// Sums for some rows of a result, MPF_BLOCK at a time.
struct Block {
  float *zeros, *sums, *factors;
  Terms terms[MPF_BLOCK];

  static size_t bytes(long width, long n) {
    return Scratch::of(width, 4) * (1 + MPF_BLOCK) + Scratch::of(padded(n), 4) * 3 * MPF_BLOCK;
  }
  Block(Scratch& scratch, long width, long n)
      : zeros(scratch.take<float>(width)), sums(scratch.take<float>(MPF_BLOCK * width)), factors(scratch.take<float>(MPF_BLOCK * padded(n))) {
    memset(zeros, 0, width * sizeof(float));
    for (Terms& of : terms) of = {scratch.take<int32_t>(padded(n)), scratch.take<float>(padded(n)), 0};
  }
  // the first `count` sums, as rows of `out`
  void write(const Rows& rows, const Terms* of, long count, long h, float* out) {
    add_rows(rows, of, count, zeros, 0, sums, factors);
    for (long c = 0; c < count; c++) memcpy(out + c * h, sums + c * rows.width, h * sizeof(float));
  }
};

void product(const float* x, Matrix weights, long from, long to, float* out) {
  const long d = weights.rows, h = weights.columns, width = padded(h);
  Scratch scratch(Scratch::of(n_copied(weights) * width, 4) + Block::bytes(width, d) + 1024);
  const Rows rows = rows_of(weights, scratch.take<float>(n_copied(weights) * width));
  Block block(scratch, width, d);
  for (long b = from; b < to; b += MPF_BLOCK) {
    const long count = to - b < MPF_BLOCK ? to - b : MPF_BLOCK;
    for (long c = 0; c < count; c++) block.terms[c] = nonzeros(x + (b + c) * d, d, block.terms[c]);
    block.write(rows, block.terms, count, h, out + b * h);
  }
}

void outer(const float* x, Matrix g, long n_rows, long from, long to, float* out) {
  const long n = g.rows, h = g.columns, width = padded(h), columns = to - from;
  Scratch scratch(Scratch::of(n_copied(g) * width, 4) + Block::bytes(width, n) + Scratch::of(columns * n, 4) * 2 + Scratch::of(columns, sizeof(Terms)) +
                  Scratch::of(padded(columns), 4) * 2 + 1024);
  const Rows rows = rows_of(g, scratch.take<float>(n_copied(g) * width));
  Block block(scratch, width, n);
  int32_t* examples = scratch.take<int32_t>(columns * n);
  float* factors = scratch.take<float>(columns * n);
  Terms* by_unit = scratch.take<Terms>(columns);  // the examples in which a unit is not zero
  for (long i = 0; i < columns; i++) by_unit[i] = {examples + i * n, factors + i * n, 0};
  const Terms found = {scratch.take<int32_t>(padded(columns)), scratch.take<float>(padded(columns)), 0};
  for (long b = 0; b < n; b++) {
    const Terms set = nonzeros(x + b * n_rows + from, columns, found);
    for (long t = 0; t < set.n; t++) {
      Terms& unit = by_unit[set.row[t]];
      unit.row[unit.n] = int32_t(b), unit.factor[unit.n++] = set.factor[t];
    }
  }
  for (long i = 0; i < columns; i += MPF_BLOCK)
    block.write(rows, by_unit + i, columns - i < MPF_BLOCK ? columns - i : MPF_BLOCK, h, out + (from + i) * h);
}

// Exchanges the off-diagonal quarters of all 2S x 2S squares: with S = 1, 2, 4, ... a square of vectors is transposed.
template <int S>
INLINE void exchange(Floats* rows) {
  Ints upper, lower;
  for (int l = 0; l < LANES; l++) upper[l] = l & S ? LANES + l - S : l, lower[l] = l & S ? LANES + l : l + S;
  for (int i = 0; i < LANES; i++) {
    if (i & S) continue;
    const Floats a = rows[i], b = rows[i + S];
    rows[i] = __builtin_shuffle(a, b, upper), rows[i + S] = __builtin_shuffle(a, b, lower);
  }
}

void transpose(Matrix m, long from, long to, float* out, long stride) {
  for (long j = 0; j < m.columns; j += LANES)
    for (long i = from; i < to; i += LANES) {
      const long height = to - i < LANES ? to - i : LANES, width = m.columns - j < LANES ? m.columns - j : LANES;
      if (height == LANES && width == LANES) {
        Floats rows[LANES];
        for (int a = 0; a < LANES; a++) rows[a] = load<Floats>(m.at + (i + a) * m.columns + j);
        exchange<1>(rows), exchange<2>(rows);
        if constexpr (LANES > 4) exchange<4>(rows);
        if constexpr (LANES > 8) exchange<8>(rows);
        for (int b = 0; b < LANES; b++) store(out + (j + b) * stride + i, rows[b]);
      } else {
        for (long b = 0; b < width; b++)
          for (long a = 0; a < height; a++) out[(j + b) * stride + i + a] = m.at[(i + a) * m.columns + j + b];
      }
    }
  if (to == m.rows)
    for (long j = 0; j < m.columns; j++)
      for (long i = m.rows; i < stride; i++) out[j * stride + i] = 0;
}

// ---------------------------------------------------------------------------------------------------- block Gibbs

// One layer of the chains of a group. States are bits, 64 to a word.
struct Layer {
  long n, width, words;  // units, their number padded to whole vectors, and the words that hold their bits
  uint64_t* bits;        // (GROUP, words); zeros beyond the last unit
  float* fields;         // (GROUP, width): bias + sum of rows, at the end of the path
  const float* bias;     // (width)
  const float* base;     // (width): the biases at the path's start, or null
  Rows rows;             // of this layer's units: what each adds to the fields of the other layer
};

void pack(const float* x, long n, uint64_t* bits) {
  memset(bits, 0, (n + 63) / 64 * sizeof(uint64_t));
  long i = 0;
  for (; i + LANES <= n; i += LANES) bits[i / 64] |= mask(load<Floats>(x + i) != 0.0f) << i % 64;
  for (; i < n; i++) bits[i / 64] |= uint64_t(x[i] != 0) << i % 64;
}

void unpack(const uint64_t* bits, long n, float* x) {
  long i = 0;
  for (; i + LANES <= n; i += LANES) store(x + i, __builtin_convertvector((Ints)(all(uint32_t(bits[i / 64] >> i % 64)) >> UP & 1), Floats));
  for (; i < n; i++) x[i] = float(bits[i / 64] >> i % 64 & 1);
}

// the units that differ between two states; +1 where the new one is set
Terms differences(const uint64_t* now, const uint64_t* before, long words, Terms terms) {
  terms.n = 0;
  for (long w = 0; w < words; w++)
    for (uint64_t flips = now[w] ^ before[w]; flips; flips &= flips - 1) {
      const int bit = __builtin_ctzll(flips);
      terms.row[terms.n] = int32_t(64 * w + bit), terms.factor[terms.n] = now[w] >> bit & 1 ? 1.0f : -1.0f;
      terms.n++;
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
void sum_fields(const Layer& of, const Layer& to, long chains, int32_t* counts, uint64_t* majority, float* common, Terms* terms,
                float* factors) {
  memset(counts, 0, of.words * 64 * sizeof(int32_t));
  for (long c = 0; c < chains; c++)
    for (long w = 0; w < of.words; w++)
      for (uint64_t on = of.bits[c * of.words + w]; on; on &= on - 1) counts[64 * w + __builtin_ctzll(on)]++;
  long plain = 0, shared = 0;
  memset(majority, 0, of.words * sizeof(uint64_t));
  for (long i = 0; i < of.n; i++) {
    const bool most = 2 * counts[i] > chains;
    majority[i / 64] |= uint64_t(most) << i % 64;
    plain += counts[i];
    shared += most ? 1 + chains - counts[i] : counts[i];
  }
  if (shared >= plain) memset(majority, 0, of.words * sizeof(uint64_t));
  terms[0].n = 0;
  for (long w = 0; w < of.words; w++)
    for (uint64_t on = majority[w]; on; on &= on - 1) {
      terms[0].row[terms[0].n] = int32_t(64 * w + __builtin_ctzll(on));
      terms[0].factor[terms[0].n++] = 1;
    }
  add_rows(of.rows, terms, 1, to.bias, 0, common);
  for (long c = 0; c < chains; c++) terms[c] = differences(of.bits + c * of.words, majority, of.words, terms[c]);
  add_rows(of.rows, terms, chains, common, 0, to.fields, factors);
}

// draw one layer of all chains; then, unless all fields are to be summed again, correct those of the other layer
template <bool ALL_ROUNDS, bool ON_PATH>
void redraw(const Layer& layer, const Layer& other, long chains, long first, Key key, float beta, bool correct, uint64_t* before, Terms* terms,
            float* factors) {
  for (long c = 0; c < chains; c++) {
    uint64_t* bits = layer.bits + c * layer.words;
    if (correct) memcpy(before, bits, layer.words * sizeof(uint64_t));
    draw<ALL_ROUNDS, ON_PATH>(layer, c, first + c, key, beta);
    if (correct) terms[c] = differences(bits, before, layer.words, terms[c]);
  }
  if (correct) add_rows(layer.rows, terms, chains, other.fields, other.width, other.fields, factors);
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

const float* padded_copy(const float* from, long n, Scratch& scratch) {
  if (from == nullptr) return nullptr;
  float* copy = scratch.take<float>(padded(n));
  memset(copy, 0, padded(n) * sizeof(float));
  memcpy(copy, from, n * sizeof(float));
  return copy;
}

template <bool ALL_ROUNDS, bool ON_PATH>
void gibbs_group(const Chains& work, long from, long to) {
  const long d = work.weights.rows, h = work.weights.columns, chains = to - from;
  const long dp = padded(d), hp = padded(h), dw = (d + 63) / 64, hw = (h + 63) / 64, words = dw > hw ? dw : hw;
  Scratch scratch(Scratch::of(chains * (dp + hp), 4) + Scratch::of((chains + 2) * (dw + hw), 8) + Scratch::of(64 * words, 4) * (10 + MPF_BLOCK + 2 * chains) +
                  Scratch::of(n_copied(work.weights) * hp, 4) + 4096);
  const Rows weights = rows_of(work.weights, scratch.take<float>(n_copied(work.weights) * hp));
  const Rows transposed = {work.transposed, h, dp, dp, h, nullptr};
  const Layer visible = {d, dp, dw, scratch.take<uint64_t>(chains * dw), scratch.take<float>(chains * dp),
                         padded_copy(work.visible_bias, d, scratch), padded_copy(work.visible_base, d, scratch), weights};
  const Layer hidden = {h, hp, hw, scratch.take<uint64_t>(chains * hw), scratch.take<float>(chains * hp),
                        padded_copy(work.hidden_bias, h, scratch), padded_copy(work.hidden_base, h, scratch), transposed};
  uint64_t* before = scratch.take<uint64_t>(words);
  int32_t* counts = scratch.take<int32_t>(64 * words);
  float* common = scratch.take<float>(64 * words);
  float* slope = scratch.take<float>(dp);
  float* factors = scratch.take<float>(MPF_BLOCK * 64 * words);
  Terms terms[GROUP];
  for (long c = 0; c < chains; c++) terms[c] = {scratch.take<int32_t>(64 * words), scratch.take<float>(64 * words), 0};
  for (long i = 0; ON_PATH && i < dp; i++) slope[i] = visible.bias[i] - visible.base[i];
  for (long c = 0; c < chains; c++) pack(work.v + (from + c) * d, d, visible.bits + c * dw);

  for (uint32_t step = work.first; step < work.last; step++) {
    const uint32_t done = step - work.first;
    const bool renew = done % RENEWED == 0, renew_next = (done + 1) % RENEWED == 0 || step + 1 == work.last;
    const Key key = key_of(work, step);
    if (renew) sum_fields(visible, hidden, chains, counts, before, common, terms, factors);
    const float beta = ON_PATH ? work.betas[done + 1] : 1.0f;
    for (long c = 0; ON_PATH && c < chains; c++) {
      const float last = work.betas[done];
      work.gains[done * work.chains + from + c] = (beta - last) * visible_gain(visible, slope, c) + hidden_gain(hidden, c, last, beta);
    }
    redraw<ALL_ROUNDS, ON_PATH>(hidden, visible, chains, from, subkey(key, 0), beta, !renew, before, terms, factors);
    if (renew) sum_fields(hidden, visible, chains, counts, before, common, terms, factors);
    redraw<ALL_ROUNDS, ON_PATH>(visible, hidden, chains, from, subkey(key, 1), beta, !renew_next, before, terms, factors);
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

// ---------------------------------------------------------------------------------------------------- exact sums

typedef double Doubles __attribute__((vector_size(4 * MPF_LANES)));

INLINE double sum(Doubles x) {
  double total = 0;
  for (int i = 0; i < LANES / 2; i++) total += x[i];
  return total;
}

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

// ---------------------------------------------------------------------------------------------------- heat bath

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

long stride(long n) { return padded(n); }

const mpf::Kernels TABLE = {MPF_NAME, product, outer, transpose, stride, gibbs, expectations, ising, potts};

}  // namespace

namespace mpf {
const Kernels* MPF_TABLE() { return &TABLE; }
}  // namespace mpf
