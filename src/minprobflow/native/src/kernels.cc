// The table of kernels, compiled once for each instruction set with MPF_TABLE naming it (see lanes.h).
//
// States are bits: a product of bits with a matrix is a sum of a few of its rows, and after a sampling step the next product is the last
// one corrected by the rows of the units that flipped.

#include "kernels.h"

#include "exact.h"
#include "gibbs.h"
#include "products.h"
#include "sites.h"

namespace {

long stride(long n) { return padded(n); }

const mpf::Kernels TABLE = {MPF_NAME, LANES, product, outer, transpose, stride, gibbs, expectations, neighbours, ising, potts};

}  // namespace

namespace mpf {
const Kernels* MPF_TABLE() { return &TABLE; }
}  // namespace mpf
