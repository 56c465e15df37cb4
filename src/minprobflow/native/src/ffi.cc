// The door to XLA: checks shapes, cuts the work into chunks, and lets XLA's own threads claim them.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "kernels.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using mpf::Kernels;

const Kernels* best(const char* wanted) {
  const bool any = wanted == nullptr || *wanted == 0;
#ifdef MPF_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && (any || !strcmp(wanted, "avx512"))) return mpf::avx512_kernels();
  if (avx2 && (any || !strcmp(wanted, "avx2"))) return mpf::avx2_kernels();
#endif
  return mpf::portable_kernels();
}

const Kernels& kernels() {
  static const Kernels* chosen = best(std::getenv("MINPROBFLOW_INSTRUCTIONS"));
  return *chosen;
}

// Chunks that whoever is free claims. The caller works too, and in the end waits only for chunks that another thread has begun: XLA
// runs independent calls at the same time on this pool, so a task that was scheduled may not start before this call returns.
struct Work {
  std::function<void(long)> chunk;
  long n;
  std::atomic<long> next{0}, done{0};

  void run() {
    for (long i; (i = next.fetch_add(1)) < n;) {
      chunk(i);
      done.fetch_add(1, std::memory_order_release);
    }
  }
};

void pause() {
#ifdef MPF_X86
  __builtin_ia32_pause();
#endif
}

template <class F>
void in_chunks(ffi::ThreadPool& pool, long total, long size, F&& of) {
  const long n = (total + size - 1) / size;
  auto chunk = [&of, total, size](long i) { of(i * size, std::min(total, (i + 1) * size)); };
  const long others = std::min<long>(pool.num_threads(), n) - 1;
  if (others <= 0) {
    for (long i = 0; i < n; i++) chunk(i);
    return;
  }
  auto work = std::make_shared<Work>();
  work->chunk = chunk, work->n = n;
  for (long i = 0; i < others; i++) pool.Schedule([work] { work->run(); });
  work->run();
  while (work->done.load(std::memory_order_acquire) < n) pause();
}

template <class Number>
using Scratch = std::unique_ptr<Number, decltype(&std::free)>;

template <class Number>
Scratch<Number> scratch(long n) {
  return {static_cast<Number*>(std::aligned_alloc(64, (n * sizeof(Number) + 63) / 64 * 64)), &std::free};
}

using Numbers = ffi::Buffer<ffi::F32>;
using Words = ffi::Buffer<ffi::U32>;
using Flags = ffi::Buffer<ffi::U8>;
using Result = ffi::ResultBuffer<ffi::F32>;

bool is_matrix(Numbers& x) { return x.dimensions().size() == 2; }

mpf::Matrix matrix(Numbers& x) { return {x.typed_data(), x.dimensions()[0], x.dimensions()[1]}; }

ffi::Error wrong(const std::string& what) { return ffi::Error(ffi::ErrorCode::kInvalidArgument, what); }

// so many rows in a chunk that there is work for the threads, whatever their number
constexpr long PRODUCT_CHUNK = mpf::GROUP, OUTER_CHUNK = 64, TRANSPOSE_CHUNK = 64, SITES_CHUNK = 32;

ffi::Error product(ffi::ThreadPool pool, Numbers x, Numbers weights, Result out) {
  if (!is_matrix(x) || !is_matrix(weights) || x.dimensions()[1] != weights.dimensions()[0]) return wrong("product: shapes do not fit");
  const mpf::Matrix w = matrix(weights);
  in_chunks(pool, x.dimensions()[0], PRODUCT_CHUNK,
            [&](long from, long to) { kernels().product(x.typed_data(), w, from, to, out->typed_data()); });
  return ffi::Error::Success();
}

ffi::Error sum_of_outer(ffi::ThreadPool& pool, Numbers* x, Numbers* g, int sets, float* out) {
  mpf::Contrast work = {};
  work.units = x[0].dimensions()[1], work.columns = g[0].dimensions()[1];
  for (int i = 0; i < sets; i++) {
    if (!is_matrix(x[i]) || !is_matrix(g[i]) || x[i].dimensions()[0] != g[i].dimensions()[0]) return wrong("outer: shapes do not fit");
    if (x[i].dimensions()[1] != work.units || g[i].dimensions()[1] != work.columns) return wrong("outer: shapes do not fit");
    work.x[i] = x[i].typed_data(), work.n[i] = x[i].dimensions()[0];
  }
  const long stride = kernels().stride(work.columns);
  const Scratch<float> padded = scratch<float>((work.n[0] + work.n[1]) * stride);
  for (long i = 0; i < work.n[0] + work.n[1]; i++) {
    const float* row = i < work.n[0] ? g[0].typed_data() + i * work.columns : g[1].typed_data() + (i - work.n[0]) * work.columns;
    std::memcpy(padded.get() + i * stride, row, work.columns * sizeof(float));
    std::memset(padded.get() + i * stride + work.columns, 0, (stride - work.columns) * sizeof(float));
  }
  work.g = padded.get();
  in_chunks(pool, work.units, OUTER_CHUNK, [&](long from, long to) { kernels().outer(work, from, to, out); });
  return ffi::Error::Success();
}

ffi::Error outer(ffi::ThreadPool pool, Numbers x, Numbers g, Result out) { return sum_of_outer(pool, &x, &g, 1, out->typed_data()); }

ffi::Error contrast(ffi::ThreadPool pool, Numbers x, Numbers g, Numbers y, Numbers h, Result out) {
  Numbers sets[2] = {x, y}, factors[2] = {g, h};
  return sum_of_outer(pool, sets, factors, 2, out->typed_data());
}

ffi::Error run_chains(ffi::ThreadPool& pool, mpf::Chains work) {
  const long stride = kernels().stride(work.weights.rows);
  const Scratch<float> transposed = scratch<float>(work.weights.columns * stride);
  work.transposed = transposed.get();
  in_chunks(pool, work.weights.rows, TRANSPOSE_CHUNK,
            [&](long from, long to) { kernels().transpose(work.weights, from, to, work.transposed, stride); });
  in_chunks(pool, work.chains, mpf::GROUP, [&](long from, long to) { kernels().gibbs(work, from, to); });
  return ffi::Error::Success();
}

// control: the key's two words, the first step, the one after the last, and whether the key is the only step's own
ffi::Error gibbs(ffi::ThreadPool pool, Numbers v, Numbers weights, Numbers visible_bias, Numbers hidden_bias, Words control, bool all_rounds,
                 Result drawn) {
  const uint32_t* c = control.typed_data();
  if (!is_matrix(v) || !is_matrix(weights) || control.element_count() != 5) return wrong("gibbs: shapes do not fit");
  mpf::Chains work = {};
  work.v = v.typed_data(), work.weights = matrix(weights), work.chains = v.dimensions()[0];
  work.visible_bias = visible_bias.typed_data(), work.hidden_bias = hidden_bias.typed_data();
  work.key[0] = c[0], work.key[1] = c[1], work.first = c[2], work.last = c[3], work.direct = c[4];
  work.all_rounds = all_rounds, work.drawn = drawn->typed_data();
  return run_chains(pool, work);
}

ffi::Error anneal(ffi::ThreadPool pool, Numbers v, Numbers weights, Numbers visible_bias, Numbers hidden_bias, Numbers visible_base,
                  Numbers hidden_base, Numbers betas, Words key, bool all_rounds, Result drawn, Result gains) {
  if (!is_matrix(v) || !is_matrix(weights) || key.element_count() != 2 || betas.element_count() < 1) return wrong("anneal: shapes do not fit");
  mpf::Chains work = {};
  work.v = v.typed_data(), work.weights = matrix(weights), work.chains = v.dimensions()[0];
  work.visible_bias = visible_bias.typed_data(), work.hidden_bias = hidden_bias.typed_data();
  work.visible_base = visible_base.typed_data(), work.hidden_base = hidden_base.typed_data();
  work.betas = betas.typed_data(), work.key[0] = key.typed_data()[0], work.key[1] = key.typed_data()[1];
  work.first = 0, work.last = uint32_t(betas.element_count() - 1);
  work.all_rounds = all_rounds, work.drawn = drawn->typed_data(), work.gains = gains->typed_data();
  return run_chains(pool, work);
}

ffi::Error sweeps(ffi::ThreadPool pool, Numbers v, Numbers couplings, Numbers fields, Flags held, Words control, bool all_rounds,
                  Result drawn) {
  if (!is_matrix(v) || control.element_count() != 5) return wrong("sweeps: shapes do not fit");
  const uint32_t* c = control.typed_data();
  const long size = v.dimensions()[1], values = fields.element_count() / size;
  mpf::Sites work = {};
  work.v = v.typed_data(), work.couplings = couplings.typed_data(), work.fields = fields.typed_data();
  work.held = held.element_count() ? held.typed_data() : nullptr;
  work.held_stride = held.element_count() == size_t(size) ? 0 : size;
  work.key[0] = c[0], work.key[1] = c[1], work.first = c[2], work.last = c[3], work.direct = c[4];
  work.chains = v.dimensions()[0], work.size = size, work.values = values, work.all_rounds = all_rounds, work.drawn = drawn->typed_data();
  const long rows = size * values, stride = kernels().stride(rows);
  const Scratch<float> padded = scratch<float>(rows * stride);
  const Scratch<int32_t> occupied = scratch<int32_t>(rows * (1 + stride / kernels().lanes));
  work.rows = padded.get(), work.occupied = occupied.get();
  in_chunks(pool, rows, TRANSPOSE_CHUNK, [&](long from, long to) { kernels().neighbours(work, from, to); });
  const auto sweep = fields.dimensions().size() == 1 ? kernels().ising : kernels().potts;
  in_chunks(pool, work.chains, SITES_CHUNK, [&](long from, long to) { sweep(work, from, to); });
  return ffi::Error::Success();
}

using Exact = ffi::Buffer<ffi::F64>;

ffi::Error expectations(ffi::ThreadPool pool, Exact low, Exact high, Exact p, ffi::ResultBuffer<ffi::F64> by_high,
                        ffi::ResultBuffer<ffi::F64> by_low) {
  const long units = low.dimensions()[0], lows = low.dimensions()[1], highs = high.dimensions()[1];
  if (units % 16 || lows % 16 || p.dimensions()[0] != highs || p.dimensions()[1] != lows) return wrong("expectations: shapes do not fit");
  const mpf::Enumeration work = {low.typed_data(), high.typed_data(), p.typed_data(), units, lows, highs,
                                 by_high->typed_data(), by_low->typed_data()};
  in_chunks(pool, units / 4, 4, [&](long from, long to) { kernels().expectations(work, from, to); });
  return ffi::Error::Success();
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" const char* mpf_instructions() { return kernels().name; }

#define HANDLER(name, function, ...) \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, function, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>() __VA_ARGS__)

HANDLER(mpf_product, product, .Arg<Numbers>().Arg<Numbers>().Ret<Numbers>());
HANDLER(mpf_outer, outer, .Arg<Numbers>().Arg<Numbers>().Ret<Numbers>());
HANDLER(mpf_contrast, contrast, .Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Ret<Numbers>());
HANDLER(mpf_gibbs, gibbs,
        .Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Words>().Attr<bool>("all_rounds").Ret<Numbers>());
HANDLER(mpf_anneal, anneal,
        .Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Words>()
            .Attr<bool>("all_rounds").Ret<Numbers>().Ret<Numbers>());
HANDLER(mpf_sweeps, sweeps,
        .Arg<Numbers>().Arg<Numbers>().Arg<Numbers>().Arg<Flags>().Arg<Words>().Attr<bool>("all_rounds").Ret<Numbers>());
HANDLER(mpf_expectations, expectations, .Arg<Exact>().Arg<Exact>().Arg<Exact>().Ret<Exact>().Ret<Exact>());

#pragma GCC visibility pop
