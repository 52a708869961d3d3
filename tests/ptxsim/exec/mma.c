/* mma.c -- mma.sync: D = A B + C for a warp, m16n8 with k 4 to 32.
 *
 * With g = lane / 4 and t = lane % 4, a lane holds of D and C (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1); of A, for each 8
 * (16-bit), 4 (tf32) or 16 (8-bit) columns, a register of row g and one of row g+8; of B a register for the same k's of column
 * g. Products are exact and are added in f32; the order is this file's own, since tensor cores document none. */
#include "exec/mma_rows.h"

enum { ROWS = SIM_MMA_ROWS, COLUMNS = SIM_MMA_COLUMNS, MOST_K = 32 };

/* k of element e of register j of A's and B's lane t; `per` elements in a register. Registers of A alternate rows g and g + 8.
 */
static inline uint32_t k_of(uint32_t t, uint32_t group, uint32_t e, uint32_t per) {
  return group * 4 * per + per * t + e;
}

/* f16 and bf16: k = 8 j + 2 t + half. */
static void load_halves(const sim_warp *w, const sim_insn *i, sim_tile *x) {
  const uint32_t n = i->n_elements / 8, *src = i->o + i->n_dst;
  for (uint32_t j = 0; j < n; j++) {
    uint32_t rows[4][ROWS];
    float pair[2][ROWS];
    sim__rows_of(sim__u32(w, src[2 * j]), sim__u32(w, src[2 * j + 1]), rows);
    for (uint32_t t = 0; t < 4; t++) sim__halves(rows[t], i->type, x->a[8 * j + 2 * t], x->a[8 * j + 2 * t + 1]);
    const uint32_t *b = sim__u32(w, src[2 * n + j]);
    for (uint32_t from = 0; from < SIM_LANES; from += 16) {
      sim__halves(b + from, i->type, pair[0], pair[1]);
      for (uint32_t l = 0; l < 16; l++) {
        const uint32_t t = l % 4, column = (from + l) / 4;
        x->b[8 * j + 2 * t][column] = pair[0][l];
        x->b[8 * j + 2 * t + 1][column] = pair[1][l];
      }
    }
  }
}

/* tf32: k = 4 j + t; the low bits are not looked at. */
static void load_tf32(const sim_warp *w, const sim_insn *i, sim_tile *x) {
  const uint32_t n = i->n_elements / 4, *src = i->o + i->n_dst;
  for (uint32_t j = 0; j < n; j++) {
    uint32_t rows[4][ROWS];
    sim__rows_of(sim__u32(w, src[2 * j]), sim__u32(w, src[2 * j + 1]), rows);
    for (uint32_t t = 0; t < 4; t++)
      for (uint32_t m = 0; m < ROWS; m++) x->a[4 * j + t][m] = sim__f32_of_bits(rows[t][m] & ~0x1FFFu);
    const uint32_t *b = sim__u32(w, src[2 * n + j]);
    for (uint32_t l = 0; l < SIM_LANES; l++) x->b[4 * j + l % 4][l / 4] = sim__f32_of_bits(b[l] & ~0x1FFFu);
  }
}

/* Columns 2t and 2t + 1; in f16 they are the halves of one register. */
static void load_c(const sim_warp *w, const sim_insn *i, uint32_t first, sim_tile *x) {
  uint32_t rows[4][ROWS];
  if (i->op) {
    sim__rows_of(sim__u32(w, i->o[first]), sim__u32(w, i->o[first + 1]), rows);
    for (uint32_t t = 0; t < 4; t++) sim__halves(rows[t], SIM_MMA_F16, x->d[2 * t], x->d[2 * t + 1]);
    return;
  }
  for (uint32_t h = 0; h < 2; h++) {
    sim__rows_of(sim__u32(w, i->o[first + h]), sim__u32(w, i->o[first + 2 + h]), rows);
    for (uint32_t t = 0; t < 4; t++) memcpy(x->d[2 * t + h], rows[t], sizeof rows[t]);
  }
}

static void store_d(sim_warp *w, const sim_insn *i, const sim_tile *x) {
  uint32_t rows[4][ROWS];
  if (i->op) {
    for (uint32_t t = 0; t < 4; t++)
      for (uint32_t m = 0; m < ROWS; m++)
        rows[t][m] = sim__f32_to_f16(x->d[2 * t][m]) | (uint32_t)sim__f32_to_f16(x->d[2 * t + 1][m]) << 16;
    sim__rows_to(rows, sim__u32(w, i->o[0]), sim__u32(w, i->o[1]));
    return;
  }
  for (uint32_t h = 0; h < 2; h++) {
    for (uint32_t t = 0; t < 4; t++)
      for (uint32_t m = 0; m < ROWS; m++) rows[t][m] = sim__bits_of_f32(sim__canonical_f32(x->d[2 * t + h][m]));
    sim__rows_to(rows, sim__u32(w, i->o[h]), sim__u32(w, i->o[2 + h]));
  }
}

/* ---- bytes
 * ------------------------------------------------------------------------------------------------------------------------------
 */

static void whole(sim_warp *w, const sim_insn *i) {
  int32_t a[ROWS][MOST_K], b[COLUMNS][MOST_K];
  int64_t d[ROWS][COLUMNS];
  const uint32_t n = i->n_elements / 16, *src = i->o + i->n_dst;
  const int is_signed = i->type == SIM_MMA_S8;
#define PART(u, e) (is_signed ? (int32_t)(int8_t)((u) >> (8 * (e))) : (int32_t)(uint8_t)((u) >> (8 * (e))))
  for (uint32_t j = 0; j < n; j++)
    for (uint32_t l = 0; l < SIM_LANES; l++)
      for (uint32_t e = 0; e < 4; e++) {
        const uint32_t k = k_of(l % 4, j, e, 4);
        a[l / 4][k] = PART(sim__u32(w, src[2 * j])[l], e);
        a[l / 4 + 8][k] = PART(sim__u32(w, src[2 * j + 1])[l], e);
        b[l / 4][k] = PART(sim__u32(w, src[2 * n + j])[l], e);
      }
  for (uint32_t l = 0; l < SIM_LANES; l++)
    for (uint32_t r = 0; r < 4; r++) d[l / 4 + 8 * (r / 2)][2 * (l % 4) + r % 2] = (int32_t)sim__u32(w, src[3 * n + r])[l];
  for (uint32_t m = 0; m < ROWS; m++)
    for (uint32_t c = 0; c < COLUMNS; c++) {
      for (uint32_t k = 0; k < i->n_elements; k++) d[m][c] += a[m][k] * b[c][k];
      if (i->sign) d[m][c] = d[m][c] > INT32_MAX ? INT32_MAX : d[m][c] < INT32_MIN ? INT32_MIN : d[m][c];
    }
  for (uint32_t l = 0; l < SIM_LANES; l++)
    for (uint32_t r = 0; r < 4; r++) sim__u32(w, i->o[r])[l] = (uint32_t)d[l / 4 + 8 * (r / 2)][2 * (l % 4) + r % 2];
}

/* ---- definedness: an element of D is undefined where its row of A, its column of B or its C is
 * -------------------------------------------- */

static void flow(sim_warp *w, const sim_insn *i) {
  const uint32_t n = (uint32_t)(i->n_src - i->n_dst) / 3, *src = i->o + i->n_dst; /* groups of k: A has 2n registers, B n */
  uint32_t rows = 0, columns = 0, any = 0;
  for (uint32_t k = 0; k < i->n_src; k++) any |= w->undef[src[k] / SIM_SLOT];
  if (!any) {
    for (uint32_t r = 0; r < i->n_dst; r++) w->undef[i->o[r] / SIM_SLOT] = 0;
    return;
  }
  for (uint32_t j = 0; j < n; j++)
    for (uint32_t l = 0; l < SIM_LANES; l++) {
      rows |= (w->undef[src[2 * j] / SIM_SLOT] >> l & 1) << (l / 4);
      rows |= (w->undef[src[2 * j + 1] / SIM_SLOT] >> l & 1) << (l / 4 + 8);
      columns |= (w->undef[src[2 * n + j] / SIM_SLOT] >> l & 1) << (l / 4);
    }
  uint64_t c_bits[4][SIM_LANES];
  for (uint32_t r = 0; r < i->n_dst; r++) {
    for (int l = 0; l < SIM_LANES; l++) c_bits[r][l] = sim__undefined_bits(w, src[3 * n + r], 0, l);
  }
  for (uint32_t r = 0; r < i->n_dst; r++)
    for (uint32_t l = 0; l < SIM_LANES; l++) {
      const uint32_t high = i->op ? r : r / 2, row = l / 4 + 8 * high;
      uint64_t bits = 0;
      for (uint32_t h = 0; h < 2; h++) {
        const uint32_t mask = i->op ? 0xFFFFu << (16 * h) : 0xFFFFFFFF;
        if (!i->op && h != r % 2) continue;
        const int bad = (rows >> row & 1) || (columns >> (2 * (l % 4) + h) & 1) || (c_bits[r][l] & mask);
        bits |= bad ? mask : 0;
      }
      sim__set_undefined_bits(w, i->o[r], 0, (int)l, bits);
    }
}

sim_step sim__step_mma(sim_warp *w, const sim_insn *i, uint32_t mask) {
  sim_tile x;
  (void)mask;
  if (w->undef) flow(w, i);
  w->machine->counters->flop_mma += 2ull * ROWS * COLUMNS * i->n_elements;
  if (i->type >= SIM_MMA_S8) {
    whole(w, i);
    return SIM_NEXT;
  }
  if (i->type == SIM_MMA_TF32)
    load_tf32(w, i, &x);
  else
    load_halves(w, i, &x);
  load_c(w, i, i->n_src, &x); /* the last n_dst sources */
  sim__multiply(&x, i->n_elements);
  store_d(w, i, &x);
  return SIM_NEXT;
}
