/* base.cuh -- what every CUDA template starts from: integer names, DEV, the storage type, the kernels' argument struct. */
//% include("lib/kargs.h")

typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(i64) == 8, "integer sizes");

#define DEV static __device__ __forceinline__
#define ENTRY extern "C" __global__ void

template <int D> struct storage_of { typedef u16 type; };
template <> struct storage_of<DTYPE_F32> { typedef float type; };
typedef storage_of<DTYPE>::type elem; /* x, w, b and y in memory: float, or the 16 bits of f16 or bf16 */

/* What every base address and stride in bytes is a multiple of: the caller's promise, or the element's own size. */
enum : int { ALIGNED = ALIGN_BYTES > (int)sizeof(elem) ? (ALIGN_BYTES < 16 ? ALIGN_BYTES : 16) : (int)sizeof(elem) };

template <int A, int B> struct least { enum : int { value = A < B ? A : B }; };
template <int N> struct power_of_two_in { /* largest that divides N, up to 16 */
  enum : int { value = N % 16 == 0 ? 16 : N % 8 == 0 ? 8 : N % 4 == 0 ? 4 : N % 2 == 0 ? 2 : 1 };
};
