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

// bytes that stay in the caches of a core: the first one's and the second one's
constexpr long FIRST_CACHE = 32 * 1024, CACHE = 512 * 1024;
// chains that need a row, on average, from which on rows are taken in blocks
constexpr long OFTEN = 2;
// chains whose sums are made together
constexpr long MOST_CHAINS = GROUP;
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

// Which rows are added, in ascending order, and how often.
struct Terms {
  int32_t* row;
  float* factor;
  long n;
};

// The terms from `first` on whose rows are below `limit` are added to a tile of columns; returns where they end.
template <int TILE>
long add_tile(const Rows& rows, const Terms& terms, long first, long limit, long column, const float* from, float* to) {
  Floats sums[TILE];
  for (int t = 0; t < TILE; t++) sums[t] = load<Floats>(from + column + t * LANES);
  long i = first;
  for (; i < terms.n && terms.row[i] < limit; i++) {
    const float* row = rows[terms.row[i]] + column;
    asm("" : "+r"(row));  // one pointer and fixed distances, not a register for each of them
    const Floats factor = all(terms.factor[i]);
    for (int t = 0; t < TILE; t++) sums[t] += factor * load<Floats>(row + t * LANES);
  }
  for (int t = 0; t < TILE; t++) store(to + column + t * LANES, sums[t]);
  return i;
}

using AddTile = long (*)(const Rows&, const Terms&, long, long, long, const float*, float*);
constexpr AddTile ADD_TILE[] = {nullptr,      add_tile<1>,  add_tile<2>,  add_tile<3>,  add_tile<4>,  add_tile<5>,
                                add_tile<6>,  add_tile<7>,  add_tile<8>,  add_tile<9>,  add_tile<10>, add_tile<11>,
                                add_tile<12>, add_tile<13>, add_tile<14>, add_tile<15>, add_tile<16>};

// to = from + sum of factor x row, for some chains; all of padded width, and `to` may be `from`
//
// Tiles are so narrow that their part of all rows fits the second cache: a row that several chains need is fetched once. Where a row
// serves many chains, the rows are taken in blocks that fit the first one.
void add_rows(const Rows& rows, const Terms* terms, long chains, const float* from, long from_stride, float* to) {
  long needed = 0, reached[MOST_CHAINS];
  for (long c = 0; c < chains; c++) needed += terms[c].n;
  const bool often = needed > OFTEN * rows.n;
  const long vector = LANES * long(sizeof(float)), fitting = CACHE / (rows.n * vector);
  const long most = often ? MPF_NARROW : fitting < 4 ? 4 : fitting < MPF_TILE ? fitting : MPF_TILE;
  const long vectors = rows.width / LANES, tiles = (vectors + most - 1) / most;
  for (long t = 0, done = 0; t < tiles; t++) {
    const long tile = (vectors - done + tiles - t - 1) / (tiles - t);  // of about equal size
    const long block = often ? FIRST_CACHE / (tile * vector) : rows.n;
    for (long first = 0; first < rows.n; first += block)
      for (long c = 0; c < chains; c++) {
        const float* begin = first == 0 ? from + c * from_stride : to + c * rows.width;
        reached[c] = ADD_TILE[tile](rows, terms[c], first == 0 ? 0 : reached[c], first + block, done * LANES, begin, to + c * rows.width);
      }
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

// the entries that are not zero; there is room for padded(n) of them
Terms nonzeros(const float* x, long n, Terms terms) {
  terms.n = 0;
  for (long i = 0; i < n; i += LANES) {
    const Floats some = i + LANES <= n ? load<Floats>(x + i) : load_some(x + i, n - i);
    const uint64_t set = mask(some != 0.0f);
    put(terms.row + terms.n, set, (Ints)counting(uint32_t(i)));
    put(terms.factor + terms.n, set, some);
    terms.n += __builtin_popcountll(set);
  }
  return terms;
}

}  // namespace
