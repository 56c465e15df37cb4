// Sums of rows of a matrix: what all kernels are made of.
//
// Sums are kept in registers, a tile of columns at a time. Rows are read to the end of their last vector, so the matrices that the
// kernels make have padded rows; of the caller's weights the last rows are copied.
#pragma once

#include <cstdlib>

#include "kernels.h"
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

const float* padded_copy(const float* from, long n, Scratch& scratch) {
  if (from == nullptr) return nullptr;
  float* copy = scratch.take<float>(padded(n));
  memset(copy, 0, padded(n) * sizeof(float));
  memcpy(copy, from, n * sizeof(float));
  return copy;
}

// the entries that are not zero
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

}  // namespace
