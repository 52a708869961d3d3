/* mma.cuh -- the PTX of whole warps: tensor core products, blocks between registers and shared memory, copies that do not wait.
 *
 * A lane is g = lane >> 2, t = lane & 3. All of them are volatile: the compiler must not move them to where only some lanes of
 * the warp are. Sums are f32: c is (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) of 16 x 8. */

/* c += a * b, (16 x 16) (16 x 8). a: rows g (words 0, 2) and g + 8 (words 1, 3), b: column g; words 0, 1 of a and 0 of b hold k
 * 2t and 2t + 1, the others k 2t + 8 and 2t + 9. */
DEV void mma_f16(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEV void mma_bf16(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The first half of that: (16 x 8) (8 x 8), k 2t and 2t + 1. */
DEV void mma_f16_k8(float (&c)[4], const u32 (&a)[2], u32 b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}
DEV void mma_bf16_k8(float (&c)[4], const u32 (&a)[2], u32 b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
}

/* (16 x 8) (8 x 8) of f32 whose low 13 bits are 0. a: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4); b: (t, g), (t + 4, g). */
DEV void mma_tf32(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(bits_of_f32(a[0])), "r"(bits_of_f32(a[1])), "r"(bits_of_f32(a[2])), "r"(bits_of_f32(a[3])), "r"(bits_of_f32(b[0])),
        "r"(bits_of_f32(b[1])));
}

/* An 8 x 8 block of 16-bit values, turned: lane (g, t) gives (g, 2t) and (g, 2t + 1), and gets (2t, g) and (2t + 1, g). */
DEV u32 movmatrix(u32 w) {
  u32 r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(w));
  return r;
}

/* N blocks of 8 x 8 16-bit values from shared memory, word i of block i: (g, 2t) and (g, 2t + 1); turned, (2t, g) and
 * (2t + 1, g). Lane 8i + r names the 16 bytes of row r of block i, at a multiple of 16; those of lanes past 8N do not matter.
 */
template <int N, bool TURNED> DEV void ldmatrix(const void *row, u32 (&w)[N]) {
  const u32 at = shared_address(row);
  static_assert(N == 1 || N == 2 || N == 4, "blocks that one instruction takes");
  if constexpr (N == 1 && !TURNED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(w[0]) : "r"(at) : "memory");
  else if constexpr (N == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(w[0]) : "r"(at) : "memory");
  else if constexpr (N == 2 && !TURNED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(at) : "memory");
  else if constexpr (N == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(w[0]), "=r"(w[1])
                 : "r"(at)
                 : "memory");
  else if constexpr (!TURNED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(at)
                 : "memory");
}

/* Starts a copy of BYTES from global to shared memory, both at a multiple of BYTES; where !ok, zeros, from no memory. */
template <int BYTES> DEV void copy_async(void *to, const void *from, bool ok) {
  const u32 at = shared_address(to);
  const int bytes = ok ? BYTES : 0;
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "sizes of cp.async");
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(global_address(from)), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(global_address(from)), "n"(BYTES), "r"(bytes)
                 : "memory");
}
/* What this thread has started since the last call becomes a group; waiting leaves the GROUPS youngest of them on their way.
 * Others see what arrived after a barrier. */
DEV void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int GROUPS> DEV void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}
