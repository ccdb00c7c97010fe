// Compares what cuda/internal says of NVIDIA's libraries with NVIDIA's own
// headers: compiling it is the check. bench/cudawheels.py does so, with macros:
// OURS, a file that includes every table of cuda/internal/native inside namespace
// ours, ABI, the preprocessed cuda.h of cuda/internal/abi, and CHECKS, the
// assertions that it wrote for each function and constant that it found there.

// cublas_api.h and nccl.h include these for types that they only name.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
#define __CUDA_FP8_H__
struct __half;
struct __nv_bfloat16;
#define __CUDA_API_VERSION_INTERNAL // old versions of the driver's functions too

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cuComplex.h>
#include <library_types.h>
#undef __cplusplus // else there are overloads of cublasGemmEx for older programs
#include <cublas_v2.h>
#define __cplusplus 201703L
#include <cublasLt.h>
#include <cudnn.h>
#include <nccl.h>

namespace ours {
#include OURS
}

namespace abi {
#include ABI
}

template <class T, class = void> struct complete : std::false_type {};
template <class T> struct complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

// Whether a value of one type is passed as one of the other is. To our void * any
// pointer will do; what else is pointed to has one size and kind.
template <class Real, class Our> constexpr bool passes() {
    if constexpr (std::is_pointer_v<Real> && std::is_pointer_v<Our>) {
        using R = std::remove_cv_t<std::remove_pointer_t<Real>>;
        using O = std::remove_cv_t<std::remove_pointer_t<Our>>;
        if constexpr (std::is_void_v<O>) return true;
        else if constexpr (std::is_function_v<R> || std::is_function_v<O>) return std::is_function_v<R> && std::is_function_v<O>;
        else if constexpr (std::is_class_v<R> && std::is_class_v<O> && !(complete<R>::value && complete<O>::value)) return complete<R>::value == complete<O>::value;
        else if constexpr (std::is_void_v<R>) return false;
        else return passes<R, O>();
    } else if constexpr (std::is_void_v<Real> || std::is_void_v<Our>) {
        return std::is_void_v<Real> && std::is_void_v<Our>;
    } else {
        constexpr bool whole = (std::is_integral_v<Real> || std::is_enum_v<Real>) && (std::is_integral_v<Our> || std::is_enum_v<Our>);
        constexpr bool kind = whole || (std::is_floating_point_v<Real> && std::is_floating_point_v<Our>) || (std::is_class_v<Real> && std::is_class_v<Our>);
        return kind && sizeof(Real) == sizeof(Our);
    }
}

template <class Real, class Our> struct calls : std::false_type {};
template <class R, class... A, class S, class... B> struct calls<R(A...), S(B...)> {
    static constexpr bool arguments() {
        if constexpr (sizeof...(A) == sizeof...(B)) return (passes<A, B>() && ...);
        else return false;
    }
    static constexpr bool value = passes<R, S>() && arguments();
};

// The check itself is checked.
static_assert(calls<int(void *, cublasOperation_t, const float *), int(void *, int, const float *)>::value, "an enumeration is passed as an int");
static_assert(!calls<int(void *, size_t), int(void *, int)>::value, "a size_t is not passed as an int");
static_assert(!calls<int(void *, float), int(void *, int)>::value, "nor is a float");
static_assert(!calls<int(void *), int(void *, int)>::value, "the number of arguments counts");
static_assert(!calls<int(size_t *), int(int *)>::value, "what is pointed to counts");

#define FUNCTION(result, name, arguments) static_assert(calls<decltype(::name), result arguments>::value, "the signature of " #name);
#define EQUAL(our, real) static_assert((long long)(ours::our) == (long long)(real), "the value of " #our);
#define OWN(our) static_assert((long long)(ours::our) || true, ""); // no constant of NVIDIA's
#define FIELD(our, member, real, theirs)                                                               \
    static_assert(offsetof(our, member) == offsetof(real, theirs), "the place of " #our "." #member);  \
    static_assert(passes<decltype(real::theirs), decltype(our::member)>(), "the type of " #our "." #member);

namespace ours {
#include CHECKS
}

namespace abi {
#include ABI_CHECKS
}

EQUAL(CUBLAS_N, CUBLAS_OP_N)
EQUAL(CUBLAS_T, CUBLAS_OP_T)
EQUAL(CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT)
EQUAL(CUBLAS_32F, CUBLAS_COMPUTE_32F)
EQUAL(CUBLAS_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32)
EQUAL(CUDA_32F, CUDA_R_32F)
EQUAL(CUDA_16BF, CUDA_R_16BF)
EQUAL(PROPERTY_MAJOR, MAJOR_VERSION)
EQUAL(PROPERTY_MINOR, MINOR_VERSION)
EQUAL(PROPERTY_PATCH, PATCH_LEVEL)

EQUAL(LT_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA)
EQUAL(LT_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB)
EQUAL(LT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE)
EQUAL(LT_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER)
EQUAL(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS)
EQUAL(LT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADB)
EQUAL(LT_MAX_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
EQUAL(LT_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
EQUAL(LT_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
OWN(LT_ALIGNMENT)
EQUAL(LT_NO_ALGORITHM, CUBLAS_STATUS_NOT_SUPPORTED)
static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES == 6 && CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES == 7, "the alignments of A to D follow each other");

static_assert(sizeof(ours::lt_result) == sizeof(cublasLtMatmulHeuristicResult_t), "the size of lt_result");
static_assert(sizeof(ours::lt_plan::algo) == sizeof(cublasLtMatmulAlgo_t), "the size of lt_plan.algo");
static_assert(offsetof(ours::lt_result, algo) == offsetof(cublasLtMatmulHeuristicResult_t, algo), "the place of lt_result.algo");
FIELD(ours::lt_result, workspace, cublasLtMatmulHeuristicResult_t, workspaceSize)
FIELD(ours::lt_result, state, cublasLtMatmulHeuristicResult_t, state)
FIELD(ours::lt_result, waves, cublasLtMatmulHeuristicResult_t, wavesCount)

EQUAL(CUDNN_NHWC, CUDNN_TENSOR_NHWC)
EQUAL(CUDNN_FLOAT, CUDNN_DATA_FLOAT)
EQUAL(CUDNN_BFLOAT16, CUDNN_DATA_BFLOAT16)
EQUAL(CUDNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION)
EQUAL(CUDNN_DEFAULT_MATH, CUDNN_DEFAULT_MATH)
EQUAL(CUDNN_TENSOR_OP_MATH, CUDNN_TENSOR_OP_MATH)
EQUAL(CUDNN_FMA_MATH, CUDNN_FMA_MATH)
EQUAL(CUDNN_DETERMINISTIC, CUDNN_DETERMINISTIC)
OWN(CUDNN_ALGORITHMS)
// What cudnn_linux.go takes for "not supported".
static_assert(CUDNN_STATUS_NOT_SUPPORTED == (CUDNN_MAJOR >= 9 ? 3000 : 9), "the status for what is not supported");

#define PERF(real)                                                                      \
    static_assert(sizeof(ours::cudnn_perf) == sizeof(real), "the size of cudnn_perf");  \
    FIELD(ours::cudnn_perf, algorithm, real, algo)                                      \
    FIELD(ours::cudnn_perf, status, real, status)                                       \
    FIELD(ours::cudnn_perf, millis, real, time)                                         \
    FIELD(ours::cudnn_perf, memory, real, memory)                                       \
    FIELD(ours::cudnn_perf, deterministic, real, determinism)                           \
    FIELD(ours::cudnn_perf, math, real, mathType)
PERF(cudnnConvolutionFwdAlgoPerf_t)
PERF(cudnnConvolutionBwdDataAlgoPerf_t)
PERF(cudnnConvolutionBwdFilterAlgoPerf_t)

EQUAL(ATTRIBUTE_PROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
EQUAL(ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
EQUAL(ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
EQUAL(ATTRIBUTE_PCI_BUS, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
EQUAL(ATTRIBUTE_PCI_DEVICE, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)
EQUAL(ATTRIBUTE_PCI_DOMAIN, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)
EQUAL(NCCL_FLOAT32, ncclFloat32)
EQUAL(NCCL_SUM, ncclSum)
EQUAL(NCCL_IN_PROGRESS, ncclInProgress)
static_assert(sizeof(ours::nccl_id) == sizeof(ncclUniqueId), "the size of nccl_id");
EQUAL(CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
EQUAL(JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER)
EQUAL(JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
