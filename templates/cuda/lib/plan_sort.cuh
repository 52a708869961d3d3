/* plan_sort.cuh -- the index sorted by group, stable, when the call does not come in order.
 *
 * To PLAN_CHUNK rows: one block sorts and makes the tiles, in one launch. More: plan_begin counts the digits of all passes, and
 * each launch of plan_pass places the rows by the next digit, from the least. A chunk's rows of a digit go behind those of the
 * chunks before it, which look_back adds up. Keys are groups; a row without one has the key k.groups.
 */

struct sort_space { /* shared */
  u32 counts[PLAN_WARPS][PLAN_DIGITS];
  u32 keys[PLAN_CHUNK], rows[PLAN_CHUNK];
  u32 offset[PLAN_DIGITS]; /* of a digit: from a place in the chunk to the position */
  u32 sums[PLAN_WARPS], ticket;
};

struct sort_items { /* of a thread: those of its warp at 32 steps apart, so that a warp's are in order */
  u32 key[PLAN_ITEMS], row[PLAN_ITEMS];
};

DEV u32 key_of(const rgt_kargs &k, i64 row, bool count) {
  const i64 group = group_of(k, row, count);
  return group >= 0 ? (u32)group : (u32)k.groups;
}

/* The place in a chunk of a thread's item i: a warp takes steps * 32 rows in turn. */
DEV u32 item_place(int i, int steps) { return (threadIdx.x / 32 * steps + i) * 32 + threadIdx.x % 32; }
DEV int item_steps(u32 n) { return (n + PLAN_THREADS - 1) / PLAN_THREADS; }

/* The rows of a chunk put in order of a digit, in s.keys and s.rows. Thread d gets how many have the digit d, and where they
 * begin in the chunk. */
DEV void sort_chunk(sort_space &s, const sort_items &items, u32 n, int shift, u32 *n_digit, u32 *begin) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, steps = item_steps(n);
  u32 rank[PLAN_ITEMS], sum = 0, total;
#pragma unroll
  for (int d = lane; d < PLAN_DIGITS; d += 32) s.counts[warp][d] = 0;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < PLAN_ITEMS; i++) {
    if (i >= steps) break;
    const bool in = item_place(i, steps) < n;
    const u32 digit = items.key[i] >> shift & (PLAN_DIGITS - 1);
    const u32 peers = __match_any_sync(0xffffffffu, in ? digit : PLAN_DIGITS);
    const u32 before = s.counts[warp][digit];
    rank[i] = before + __popc(peers & lanes_below());
    __syncwarp();
    if (in && (peers & lanes_below()) == 0) s.counts[warp][digit] = before + __popc(peers);
    __syncwarp();
  }
  __syncthreads();
#pragma unroll
  for (int w = 0; w < PLAN_WARPS; w++) sum += s.counts[w][threadIdx.x];
  *n_digit = sum;
  *begin = block_scan(sum, s.sums, &total);
  sum = *begin;
#pragma unroll
  for (int w = 0; w < PLAN_WARPS; w++) {
    const u32 own = s.counts[w][threadIdx.x];
    s.counts[w][threadIdx.x] = sum;
    sum += own;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < PLAN_ITEMS; i++) {
    if (i >= steps || item_place(i, steps) >= n) break;
    const u32 at = s.counts[warp][items.key[i] >> shift & (PLAN_DIGITS - 1)] + rank[i];
    s.keys[at] = items.key[i];
    s.rows[at] = items.row[i];
  }
  __syncthreads();
}

/* One block, all passes, and the tiles. */
DEV void plan_in_block(const rgt_kargs &k, void *workspace, sort_space &s, tiles_space &tiles) {
  const u32 n = (u32)k.rows;
  const int steps = item_steps(n), passes = plan_passes(k);
  sort_items items;
#pragma unroll
  for (int i = 0; i < PLAN_ITEMS; i++) {
    const u32 at = item_place(i, steps);
    const bool in = i < steps && at < n;
    items.key[i] = in ? key_of(k, at, true) : 0;
    items.row[i] = at;
  }
#pragma unroll 1
  for (int pass = 0; pass < passes; pass++) {
    u32 n_digit, begin;
    if (pass > 0) {
#pragma unroll
      for (int i = 0; i < PLAN_ITEMS; i++) {
        const u32 at = item_place(i, steps);
        if (i < steps && at < n) items.key[i] = s.keys[at], items.row[i] = s.rows[at];
      }
      __syncthreads();
    }
    sort_chunk(s, items, n, 8 * pass, &n_digit, &begin);
  }
  u32 *rows = plan_rows(k, workspace);
#pragma unroll 1
  for (u32 at = threadIdx.x; at < n; at += PLAN_THREADS) rows[at] = s.rows[at];
  make_tiles<PLAN_ITEMS>(k, workspace, tiles, sorted_in_block{s.keys, s.rows}, 0, n, 0, 1);
}

/* How many rows have each digit, of every pass; and the passes' states emptied. */
DEV void count_digits(const rgt_kargs &k, void *workspace, u32 (*counts)[PLAN_DIGITS]) {
  const int passes = plan_passes(k);
  const i64 first = (i64)blockIdx.x * PLAN_CHUNK;
#pragma unroll
  for (int pass = 0; pass < PLAN_PASSES; pass++) counts[pass][threadIdx.x] = 0;
  plan_states(k, workspace)[(i64)blockIdx.x * PLAN_DIGITS + threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < PLAN_ITEMS; i++) {
    const i64 row = first + i * PLAN_THREADS + threadIdx.x;
    if (row >= k.rows) break;
    const u32 key = key_of(k, row, true);
#pragma unroll
    for (int pass = 0; pass < PLAN_PASSES; pass++)
      if (pass < passes) atomicAdd(&counts[pass][key >> 8 * pass & (PLAN_DIGITS - 1)], 1u);
  }
  __syncthreads();
#pragma unroll
  for (int pass = 0; pass < PLAN_PASSES; pass++)
    if (counts[pass][threadIdx.x] > 0)
      atomicAdd(&plan_header_of(workspace)->digits[pass][threadIdx.x], counts[pass][threadIdx.x]);
}

ENTRY __launch_bounds__(PLAN_THREADS, 1) KERNEL(plan_begin)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ sort_space s;
  __shared__ tiles_space tiles;
  if (k.rows <= PLAN_CHUNK)
    plan_in_block(k, workspace, s, tiles);
  else
    count_digits(k, workspace, s.counts);
}

/* The pass follows from the ticket: every launch takes as many as it has blocks. */
ENTRY __launch_bounds__(PLAN_THREADS, 1) KERNEL(plan_pass)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ sort_space s;
  const u32 ticket = take_ticket(&plan_header_of(workspace)->pass_ticket, &s.ticket);
  const int pass = (int)(ticket / gridDim.x);
  const i64 chunk = ticket % gridDim.x, first = chunk * PLAN_CHUNK;
  const u32 n = (u32)(k.rows - first < PLAN_CHUNK ? k.rows - first : PLAN_CHUNK);
  const int steps = item_steps(n);
  const u32 *keys = plan_list(k, workspace, pass == 2 ? 2 : 0) + first, *rows = plan_list(k, workspace, pass == 2 ? 3 : 1) + first;
  sort_items items;
#pragma unroll
  for (int i = 0; i < PLAN_ITEMS; i++) {
    const u32 at = item_place(i, steps);
    items.key[i] = 0;
    items.row[i] = (u32)first + at;
    if (i >= steps || at >= n) continue;
    if (pass == 0) {
      items.key[i] = key_of(k, first + at, false);
    } else {
      sorted_by_plan before = {keys, rows};
      items.key[i] = before.key(k, at);
      items.row[i] = (u32)before.row(at);
    }
  }
  u32 n_digit, begin, total;
  sort_chunk(s, items, n, 8 * pass, &n_digit, &begin);
  u32 position = block_scan(plan_header_of(workspace)->digits[pass][threadIdx.x], s.sums, &total); /* of the digit's first row */
  position += look_back(plan_states(k, workspace) + chunk * PLAN_DIGITS + threadIdx.x, chunk, PLAN_DIGITS, 2 * pass + 1, n_digit);
  s.offset[threadIdx.x] = position - begin;
  __syncthreads();
  u32 *to_keys = plan_list(k, workspace, pass == 1 ? 2 : 0), *to_rows = plan_list(k, workspace, pass == 1 ? 3 : 1);
#pragma unroll 1
  for (u32 at = threadIdx.x; at < n; at += PLAN_THREADS) {
    const u32 key = s.keys[at], to = at + s.offset[key >> 8 * pass & (PLAN_DIGITS - 1)];
    to_keys[to] = key;
    to_rows[to] = s.rows[at];
  }
}
