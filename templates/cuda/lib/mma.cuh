/* mma.cuh -- the PTX of whole warps: tensor core products, transposing 8 x 8 blocks. A lane is g = lane >> 2, t = lane & 3.
 *
 * All of them are volatile: the compiler must not move them to where only some lanes of the warp are. */

/* c += a * b, 16 x 8 += (16 x 16) (16 x 8), of bf16 or f16 with f32 sums. a: rows g (words 0, 2) and g + 8 (words 1, 3), b:
 * column g; a word is two neighbouring k. c: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). */
DEV void mma_bf16(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEV void mma_f16(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* An 8 x 8 block of 16-bit values, turned: lane (g, t) gives (g, 2t) and (g, 2t + 1), and gets (2t, g) and (2t + 1, g). */
DEV u32 movmatrix(u32 w) {
  u32 r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(w));
  return r;
}
