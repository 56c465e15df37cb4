// Runs every kernel on odd sizes under the compiler's sanitizers, and compares products with plain loops (tests/test_native.py builds it).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels.h"

using namespace mpf;
using Numbers = std::unique_ptr<float[]>;

static Numbers random_numbers(long n) {
  Numbers x(new float[n]);
  for (long i = 0; i < n; i++) x[i] = rand() / float(RAND_MAX) - 0.5f;
  return x;
}

static Numbers random_whole(long n, int values, float share) {
  Numbers x(new float[n]);
  for (long i = 0; i < n; i++) x[i] = rand() / float(RAND_MAX) < share ? 1 + rand() % (values - 1) : 0;
  return x;
}

static void check(bool right, const char* what) {
  if (right) return;
  printf("%s is wrong\n", what);
  exit(1);
}

static void try_rbm(const Kernels& kernels, int d, int h, int n, float share) {
  Numbers w = random_numbers(d * h), b = random_numbers(d), c = random_numbers(h), g = random_numbers(n * h), x = random_whole(n * d, 2, share);
  Numbers fields(new float[n * h]), outer(new float[d * h]), drawn(new float[n * d]), gains(new float[4 * n]), betas = random_numbers(5);
  const Matrix weights = {w.get(), d, h};
  kernels.product(x.get(), weights, 0, n, fields.get());
  for (int i = 0; i < n; i++)
    for (int j = 0; j < h; j++) {
      double sum = 0;
      for (int k = 0; k < d; k++) sum += x[i * d + k] * w[k * h + j];
      check(std::abs(sum - fields[i * h + j]) < 1e-3, "product");
    }
  const long wide = kernels.stride(h), half = n / 2;
  float* padded = static_cast<float*>(aligned_alloc(64, (n * wide * sizeof(float) + 63) / 64 * 64));
  for (long i = 0; i < n * wide; i++) padded[i] = i % wide < h ? g[i / wide * h + i % wide] : 0;
  const Contrast work = {{x.get(), x.get() + half * d}, {half, n - half}, padded, d, h};
  for (int i = 0; i < d; i += 64) kernels.outer(work, i, i + 64 < d ? i + 64 : d, outer.get());
  free(padded);
  for (int k = 0; k < d; k++)
    for (int j = 0; j < h; j++) {
      double sum = 0;
      for (int i = 0; i < n; i++) sum += x[i * d + k] * g[i * h + j];
      check(std::abs(sum - outer[k * h + j]) < 1e-3, "outer");
    }
  const long stride = kernels.stride(d);
  float* transposed = static_cast<float*>(aligned_alloc(64, (h * stride * sizeof(float) + 63) / 64 * 64));
  for (int i = 0; i < d; i += 64) kernels.transpose(weights, i, i + 64 < d ? i + 64 : d, transposed, stride);
  for (int k = 0; k < d; k++)
    for (int j = 0; j < h; j++) check(transposed[j * stride + k] == w[k * h + j], "transpose");
  for (bool on_path : {false, true}) {
    Chains work = {};
    work.v = x.get(), work.weights = weights, work.transposed = transposed, work.visible_bias = b.get(), work.hidden_bias = c.get();
    if (on_path) work.visible_base = b.get(), work.hidden_base = c.get(), work.betas = betas.get(), work.gains = gains.get();
    work.last = 4, work.chains = n, work.drawn = drawn.get();
    for (long i = 0; i < n; i += GROUP) kernels.gibbs(work, i, i + GROUP < n ? i + GROUP : n);
  }
  free(transposed);
}

static void try_sites(const Kernels& kernels, int size, int values, int n) {
  const long all = long(size) * values;
  Numbers couplings = random_numbers(all * all), fields = random_numbers(all), x = random_whole(n * size, values > 1 ? values : 2, 0.5), drawn(new float[n * size]);
  std::vector<uint8_t> held(size);
  Sites work = {};
  work.v = x.get(), work.couplings = couplings.get(), work.fields = fields.get(), work.held = held.data();
  work.last = 3, work.chains = n, work.size = size, work.values = values, work.drawn = drawn.get();
  const long stride = kernels.stride(all);
  std::unique_ptr<float, decltype(&free)> rows(static_cast<float*>(aligned_alloc(64, (all * stride * sizeof(float) + 63) / 64 * 64)), &free);
  std::vector<int32_t> occupied(all * (1 + stride / kernels.lanes));
  work.rows = rows.get(), work.occupied = occupied.data();
  for (long i = 0; i < all; i += 64) kernels.neighbours(work, i, i + 64 < all ? i + 64 : all);
  (values == 1 ? kernels.ising : kernels.potts)(work, 0, n);
}

int main() {
  const Kernels& kernels = *portable_kernels();
  for (int d : {1, 3, 15, 16, 17, 63, 64, 65, 130})
    for (int n : {1, 4, 5, 26}) {
      for (int h : {1, 7, 16, 31, 64, 100})
        for (float share : {0.0f, 0.1f, 0.6f, 1.0f}) try_rbm(kernels, d, h, n, share);
      try_sites(kernels, d, 1, n);
      for (int values : {2, 5, 21}) try_sites(kernels, d < 20 ? d : 20, values, n);
    }
  puts("ok");
}
