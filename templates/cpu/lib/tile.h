/* tile.h -- what both kinds of register tile share. Needs vec.h and act.h. */

/* act of n sums (n a constant): in registers where that is one instruction, else one at a time through memory, so that a long
 * activation is compiled once and not n times. */
VEC_INLINE void tile_act(int act, vf *sum, int n) {
  if (act == ACT_NONE) return;
  if (act == ACT_RELU) {
    UNROLL
    for (int i = 0; i < n; i++) sum[i] = act_select(act, sum[i]);
    return;
  }
  vf z[TILE_SUMS];
  UNROLL
  for (int i = 0; i < n; i++) z[i] = sum[i];
  NO_UNROLL
  for (int i = 0; i < n; i++) z[i] = act_select(act, z[i]);
  UNROLL
  for (int i = 0; i < n; i++) sum[i] = z[i];
}
