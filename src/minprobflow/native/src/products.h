// Products of bits with a matrix, their transposes, and the transpose of a matrix.
#pragma once

#include "rows.h"

namespace {

using mpf::Contrast;

// Sums for some rows of a result.
struct Block {
  float *zeros, *sums;

  static size_t bytes(long width, long count) { return Scratch::of(width, 4) + Scratch::of(count * width, 4); }
  Block(Scratch& scratch, long width, long count) : zeros(scratch.take<float>(width)), sums(scratch.take<float>(count * width)) {
    memset(zeros, 0, width * sizeof(float));
  }
  // the first `count` sums, as rows of `out`
  void write(const Rows& rows, const Terms* of, long count, long h, float* out) {
    add_rows(rows, of, count, zeros, 0, sums);
    for (long c = 0; c < count; c++) memcpy(out + c * h, sums + c * rows.width, h * sizeof(float));
  }
};

void product(const float* x, Matrix weights, long from, long to, float* out) {
  const long d = weights.rows, h = weights.columns, width = padded(h);
  Scratch scratch(Scratch::of(n_copied(weights) * width, 4) + Block::bytes(width, GROUP) + Scratch::of(padded(d), 4) * 2 * GROUP + 1024);
  const Rows rows = rows_of(weights, scratch.take<float>(n_copied(weights) * width));
  Block block(scratch, width, GROUP);
  Terms terms[GROUP];
  for (Terms& of : terms) of = {scratch.take<int32_t>(padded(d)), scratch.take<float>(padded(d)), 0};
  for (long b = from; b < to; b += GROUP) {
    const long count = to - b < GROUP ? to - b : GROUP;
    for (long c = 0; c < count; c++) terms[c] = nonzeros(x + (b + c) * d, d, terms[c]);
    block.write(rows, terms, count, h, out + b * h);
  }
}

void outer(const Contrast& work, long from, long to, float* out) {
  const long n = work.n[0] + work.n[1], h = work.columns, width = padded(h), columns = to - from;
  Scratch scratch(Block::bytes(width, GROUP) + Scratch::of(columns * n, 4) * 2 + Scratch::of(columns, sizeof(Terms)) +
                  Scratch::of(padded(columns), 4) * 2 + 1024);
  const Rows rows = {work.g, n, width, width, n, nullptr};
  Block block(scratch, width, GROUP);
  int32_t* examples = scratch.take<int32_t>(columns * n);
  float* factors = scratch.take<float>(columns * n);
  Terms* by_unit = scratch.take<Terms>(columns);  // the examples in which a unit is not zero
  for (long i = 0; i < columns; i++) by_unit[i] = {examples + i * n, factors + i * n, 0};
  const Terms found = {scratch.take<int32_t>(padded(columns)), scratch.take<float>(padded(columns)), 0};
  for (long b = 0; b < n; b++) {
    const float* x = b < work.n[0] ? work.x[0] + b * work.units : work.x[1] + (b - work.n[0]) * work.units;
    const Terms set = nonzeros(x + from, columns, found);
    for (long t = 0; t < set.n; t++) {
      Terms& unit = by_unit[set.row[t]];
      unit.row[unit.n] = int32_t(b), unit.factor[unit.n++] = set.factor[t];
    }
  }
  for (long i = 0; i < columns; i += GROUP)
    block.write(rows, by_unit + i, columns - i < GROUP ? columns - i : GROUP, h, out + (from + i) * h);
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

}  // namespace
