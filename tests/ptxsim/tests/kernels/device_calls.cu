// Calls that stay calls: several arguments, a struct by value, recursion, local arrays by pointer, a pointer to a function.
struct pair {
  double a;
  int b;
};

__device__ __noinline__ int collatz(long long n, int *peak) {
  int steps = 0;
  long long most = n;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    most = n > most ? n : most;
    steps++;
  }
  *peak = (int)(most % 1000003);
  return steps;
}

__device__ __noinline__ pair combine(pair p, float x) {
  pair q;
  q.a = p.a * (double)x + p.b;
  q.b = p.b + (int)x;
  return q;
}

__device__ __noinline__ int depth(int n) { return n <= 1 ? n : depth(n - 1) + depth(n - 2); }

__device__ __noinline__ int add_one(int x) { return x + 1; }
__device__ __noinline__ int times_three(int x) { return x * 3; }
typedef int (*step)(int);

extern "C" __global__ void device_calls(const int *x, int *steps, int *peaks, double *sums, int *fibonacci, int *chained, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int peak = 0;
  steps[i] = collatz(x[i], &peak);
  peaks[i] = peak;
  pair p = {1.5, i};
  for (int k = 0; k < 3; k++) p = combine(p, (float)(x[i] % 7) * 0.5f);
  sums[i] = p.a + p.b;
  fibonacci[i] = depth(x[i] % 8);
  step f = i % 3 == 0 ? add_one : times_three;
  chained[i] = f(f(x[i]));
}
