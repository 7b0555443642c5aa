/* gemm.cpp: products through a function like cuBLAS's. */
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime.h"

namespace hostcuda
{
/* Numbers of cublasStatus_t, cublasOperation_t, cudaDataType_t and cublasComputeType_t. */
enum { NOT_INITIALIZED = 1, INVALID = 7, NOT_SUPPORTED = 15 };
enum { NO_TRANSPOSE = 0, TRANSPOSE = 1, CONJUGATE = 2 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70 };

struct Matrix {
    char *data;
    int type, leading;
    bool transposed;
};

struct Product {
    int m, n, k;
    double alpha, beta;
    Matrix a, b, c;
};

static float upper_half(std::uint16_t half)
{
    const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

static std::uint16_t rounded_upper_half(float value)
{
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (value != value)
        return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16; /* to nearest, ties to even */
}

static std::int64_t offset(const Matrix &matrix, int row, int column)
{
    if (matrix.transposed)
        std::swap(row, column);
    return row + static_cast<std::int64_t>(column) * matrix.leading;
}

template <class Real> static Real get(const Matrix &matrix, int row, int column)
{
    const std::int64_t at = offset(matrix, row, column);
    switch (matrix.type) {
    case R_32F: return reinterpret_cast<float *>(matrix.data)[at];
    case R_16F: return static_cast<float>(reinterpret_cast<_Float16 *>(matrix.data)[at]);
    case R_16BF: return upper_half(reinterpret_cast<std::uint16_t *>(matrix.data)[at]);
    default: return static_cast<Real>(reinterpret_cast<double *>(matrix.data)[at]);
    }
}

template <class Real> static void put(const Matrix &matrix, int row, int column, Real value)
{
    const std::int64_t at = offset(matrix, row, column);
    const float single = static_cast<float>(value);
    switch (matrix.type) {
    case R_32F: reinterpret_cast<float *>(matrix.data)[at] = single; break;
    case R_16F:
        reinterpret_cast<_Float16 *>(matrix.data)[at] = static_cast<_Float16>(single);
        break;
    case R_16BF:
        reinterpret_cast<std::uint16_t *>(matrix.data)[at] = rounded_upper_half(single);
        break;
    default: reinterpret_cast<double *>(matrix.data)[at] = value;
    }
}

/* Rows of the left factor and columns of the right one that are multiplied at once: as many as the
 * registers of any processor hold the sums of. */
template <class Real> constexpr int ROWS = 32 / sizeof(Real);
constexpr int COLUMNS = 4;

/* Element p * width + i of a panel is that of inner index p in row first + i of the left factor,
 * or column first + i of the right one; zero beyond `count` of them. */
template <class Real, int width>
static void pack(Real *panel, const Matrix &matrix, bool left, int first, int count, int k)
{
    std::fill(panel, panel + static_cast<std::size_t>(k) * width, 0);
    for (int p = 0; p < k; p++)
        for (int i = 0; i < std::min(width, count); i++)
            panel[static_cast<std::size_t>(p) * width + i] =
                left ? get<Real>(matrix, first + i, p) : get<Real>(matrix, p, first + i);
}

/* sum[column][row] over all p, in order. */
template <class Real>
static void multiply_panels(Real sum[COLUMNS][ROWS<Real>], const Real *left, const Real *right,
                            int k)
{
    typedef Real Vector __attribute__((vector_size(sizeof(Real) * ROWS<Real>)));
    Vector total[COLUMNS] = {}, rows;
    for (int p = 0; p < k; p++) {
        std::memcpy(&rows, left, sizeof(rows));
        for (int column = 0; column < COLUMNS; column++)
            total[column] += rows * right[column];
        left += ROWS<Real>;
        right += COLUMNS;
    }
    std::memcpy(sum, total, sizeof(total));
}

/* c = alpha sum + beta c from (row, column) on. */
template <class Real>
static void store(const Product &product, const Real sum[COLUMNS][ROWS<Real>], int row, int column)
{
    const int rows = std::min(ROWS<Real>, product.m - row);
    const int columns = std::min(COLUMNS, product.n - column);
    const Real alpha = static_cast<Real>(product.alpha), beta = static_cast<Real>(product.beta);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            Real value = alpha * sum[j][i];
            if (beta != 0) /* what is not asked for is not read: it may be NaN */
                value += beta * get<Real>(product.c, row + i, column + j);
            put<Real>(product.c, row + i, column + j, value);
        }
}

template <class Real> static int multiply(const Product &product)
{
    const int k = product.alpha == 0 ? 0 : product.k; /* then a and b are not read either */
    const int panels = (product.n + COLUMNS - 1) / COLUMNS;
    const std::size_t panel_size = static_cast<std::size_t>(k) * COLUMNS;
    std::vector<Real> left(static_cast<std::size_t>(k) * ROWS<Real>), right(panels * panel_size);
    Real sum[COLUMNS][ROWS<Real>];
    for (int n = 0; n < panels; n++)
        pack<Real, COLUMNS>(right.data() + n * panel_size, product.b, false, n * COLUMNS,
                            product.n - n * COLUMNS, k);
    for (int row = 0; row < product.m; row += ROWS<Real>) {
        pack<Real, ROWS<Real>>(left.data(), product.a, true, row, product.m - row, k);
        for (int n = 0; n < panels; n++) {
            multiply_panels(sum, left.data(), right.data() + n * panel_size, k);
            store(product, sum, row, n * COLUMNS);
        }
    }
    return SUCCESS;
}

static bool is_operation(int op) { return NO_TRANSPOSE <= op && op <= CONJUGATE; }

static bool has_rows(const Matrix &matrix, int rows, int columns)
{
    return matrix.leading >= std::max(1, matrix.transposed ? columns : rows);
}

/* The combinations that cuBLAS lists for these two kinds of computing. */
static bool is_supported(const Product &product, int compute)
{
    const int type = product.a.type;
    if (product.b.type != type)
        return false;
    if (compute == COMPUTE_64F)
        return type == R_64F && product.c.type == R_64F;
    if (compute != COMPUTE_32F || (type != R_32F && type != R_16F && type != R_16BF))
        return false;
    return product.c.type == type || product.c.type == R_32F;
}

/* From where elements of its type can be read. A device faults elsewhere, or cuBLAS refuses. */
static bool is_aligned(const Matrix &matrix)
{
    const std::uintptr_t itemsize = matrix.type == R_64F ? 8 : matrix.type == R_32F ? 4 : 2;
    return reinterpret_cast<std::uintptr_t>(matrix.data) % itemsize == 0;
}

static double scalar(const void *value, int compute)
{
    return compute == COMPUTE_64F ? *static_cast<const double *>(value)
                                  : *static_cast<const float *>(value);
}

static int check(const Product &product, const void *alpha, const void *beta)
{
    const bool empty = product.m == 0 || product.n == 0;
    if (product.m < 0 || product.n < 0 || product.k < 0 || !alpha || !beta)
        return INVALID;
    if (!has_rows(product.a, product.m, product.k) || !has_rows(product.b, product.k, product.n) ||
        !has_rows(product.c, product.m, product.n))
        return INVALID;
    if (!empty && (!product.c.data || (product.k && (!product.a.data || !product.b.data))))
        return INVALID;
    return SUCCESS;
}

/* What stands for a cublasHandle_t: the stream of its products. */
struct Blas {
    void *stream;
};

PUBLIC Blas *hostcuda_create_blas() { return new Blas{nullptr}; }
PUBLIC void hostcuda_free_blas(Blas *blas) { delete blas; }
PUBLIC void hostcuda_set_stream(Blas *blas, void *stream) { blas->stream = stream; }

/* As cublasGemmEx with scalars on the host; any algorithm. */
PUBLIC int hostcuda_gemm(void *blas, int op_a, int op_b, int m, int n, int k, const void *alpha,
                         const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                         const void *beta, void *c, int c_type, int ldc, int compute, int)
{
    if (!blas)
        return NOT_INITIALIZED;
    if (!is_operation(op_a) || !is_operation(op_b))
        return INVALID;
    char *left = static_cast<char *>(const_cast<void *>(a));
    char *right = static_cast<char *>(const_cast<void *>(b));
    Product product = {m,
                       n,
                       k,
                       0,
                       0,
                       {left, a_type, lda, op_a != NO_TRANSPOSE},
                       {right, b_type, ldb, op_b != NO_TRANSPOSE},
                       {static_cast<char *>(c), c_type, ldc, false}};
    if (const int refusal = check(product, alpha, beta))
        return refusal;
    if (!is_supported(product, compute))
        return NOT_SUPPORTED;
    if (!is_aligned(product.a) || !is_aligned(product.b) || !is_aligned(product.c))
        return NOT_SUPPORTED;
    product.alpha = scalar(alpha, compute);
    product.beta = scalar(beta, compute);
    std::lock_guard<std::mutex> lock(device);
    return submit(static_cast<Blas *>(blas)->stream, [=] {
        return compute == COMPUTE_64F ? multiply<double>(product) : multiply<float>(product);
    });
}
} // namespace hostcuda
