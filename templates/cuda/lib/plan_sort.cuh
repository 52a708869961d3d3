/* plan_sort.cuh -- the index sorted by group, stable, when the call does not come in order.
 *
 * To PLAN_CHUNK rows: one block sorts and makes the tiles, in one launch. More: plan_count counts the digits of all passes, and
 * each launch of plan_sort places the rows by the next digit, from the least; the launch after them makes the tiles. A chunk's
 * rows of a digit go behind those of the chunks before it, which look_back adds up. Keys are plan_key's.
 */

struct keyed_rows {
  u32 keys[PLAN_CHUNK], rows[PLAN_CHUNK];
};
struct sort_space { /* shared */
  __align__(16) u16 counts[PLAN_WARPS][PLAN_DIGITS];
  keyed_rows in[2]; /* a chunk, and the same sorted */
  u32 offset[PLAN_DIGITS]; /* of a digit: from a place in the chunk to the position */
  u32 sums[PLAN_WARPS], ticket;
};

/* The rows of a warp in a chunk: `steps` times 32, in turn. f(place, digit, there is such a row, lanes of the same digit). */
template <class F> DEV void each_step(const keyed_rows &from, u32 n, int shift, F f) {
  const int steps = (int)((n + PLAN_THREADS - 1) / PLAN_THREADS);
  u32 at = threadIdx.x / 32 * steps * 32 + threadIdx.x % 32;
#pragma unroll 1
  for (int i = 0; i < steps; i++, at += 32) {
    const bool in = at < n;
    const u32 digit = in ? from.keys[at] >> shift & (PLAN_DIGITS - 1) : PLAN_DIGITS;
    f(at, digit, in, __match_any_sync(0xffffffffu, digit));
  }
}

/* How many rows of a chunk have the digit d, for thread d; and of each warp, in s.counts. */
DEV u32 count_chunk(sort_space &s, const keyed_rows &from, u32 n, int shift) {
  u16(&mine)[PLAN_DIGITS] = s.counts[threadIdx.x / 32];
  u32 sum = 0;
  *(uint4 *)&mine[threadIdx.x % 32 * 8] = make_uint4(0, 0, 0, 0);
  __syncwarp();
  each_step(from, n, shift, [&](u32, u32 digit, bool in, u32 peers) {
    if (in && (peers & lanes_below()) == 0) mine[digit] = (u16)(mine[digit] + __popc(peers));
    __syncwarp();
  });
  __syncthreads();
  if (threadIdx.x < PLAN_DIGITS) {
#pragma unroll
    for (int w = 0; w < PLAN_WARPS; w++) sum += s.counts[w][threadIdx.x];
  }
  return sum;
}

/* The chunk put in order of the digit, from one place to another; s.counts turn from how many a warp has to where they go.
 * Returns where the rows of digit d begin in the chunk, for thread d. */
DEV u32 sort_chunk(sort_space &s, const keyed_rows &from, keyed_rows &to, u32 n, int shift, u32 n_digit) {
  u16(&mine)[PLAN_DIGITS] = s.counts[threadIdx.x / 32];
  u32 total;
  const u32 begin = block_scan(n_digit, s.sums, &total);
  u32 sum = begin;
  if (threadIdx.x < PLAN_DIGITS) {
#pragma unroll
    for (int w = 0; w < PLAN_WARPS; w++) {
      const u32 own = s.counts[w][threadIdx.x];
      s.counts[w][threadIdx.x] = (u16)sum;
      sum += own;
    }
  }
  __syncthreads();
  each_step(from, n, shift, [&](u32 at, u32 digit, bool in, u32 peers) {
    const u32 first = in ? mine[digit] : 0, place = first + __popc(peers & lanes_below());
    __syncwarp();
    if (in) {
      to.keys[place] = from.keys[at];
      to.rows[place] = from.rows[at];
      if ((peers & lanes_below()) == 0) mine[digit] = (u16)(first + __popc(peers));
    }
    __syncwarp();
  });
  __syncthreads();
  return begin;
}

/* How many rows have each digit, of every pass; and the passes' states emptied. */
ENTRY __launch_bounds__(PLAN_THREADS, 1) KERNEL(plan_count)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ u32 counts[PLAN_PASSES][PLAN_DIGITS];
  const int passes = plan_passes(k);
  const i64 first = (i64)blockIdx.x * PLAN_CHUNK, end = first + PLAN_CHUNK < k.rows ? first + PLAN_CHUNK : k.rows;
  if (threadIdx.x < PLAN_DIGITS) {
#pragma unroll
    for (int pass = 0; pass < PLAN_PASSES; pass++) counts[pass][threadIdx.x] = 0;
    plan_states(k, workspace)[(i64)blockIdx.x * PLAN_DIGITS + threadIdx.x] = 0;
  }
  __syncthreads();
#pragma unroll 1
  for (i64 row = first + threadIdx.x; row < end; row += PLAN_THREADS) {
    const u32 key = plan_key(k, group_of(k, row, true));
#pragma unroll 1
    for (int pass = 0; pass < passes; pass++) atomicAdd(&counts[pass][key >> 8 * pass & (PLAN_DIGITS - 1)], 1u);
  }
  __syncthreads();
#pragma unroll 1
  for (int pass = 0; pass < passes; pass++)
    if (threadIdx.x < PLAN_DIGITS && counts[pass][threadIdx.x] > 0)
      atomicAdd(&plan_header_of(workspace)->digits[pass][threadIdx.x], counts[pass][threadIdx.x]);
}

/* A chunk as the pass before left it; the first takes it from the index. */
DEV void load_chunk(const rgt_kargs &k, void *workspace, const plan_work &work, keyed_rows &to) {
  const int from = work.launch == 2 ? 2 : 0;
  const u32 *keys = plan_list(k, workspace, from), *rows = plan_list(k, workspace, from + 1);
#pragma unroll 1
  for (u32 at = threadIdx.x; at < work.n; at += PLAN_THREADS) {
    const i64 p = work.first + at;
    u32 key[1], row[1] = {(u32)p};
    if (work.launch == 0) {
      key[0] = plan_key(k, group_of(k, p, k.rows <= PLAN_CHUNK)); /* else plan_count has counted what is wrong */
    } else {
      load_words<1>(keys + p, key);
      load_words<1>(rows + p, row);
    }
    to.keys[at] = key[0];
    to.rows[at] = row[0];
  }
  __syncthreads();
}

/* A sorted chunk to where its rows come among those of all chunks. `position` is where thread d's digit begins among them. */
DEV void place_chunk(const rgt_kargs &k, void *workspace, sort_space &s, const keyed_rows &from, const plan_work &work,
                     u32 position, u32 begin) {
  const int to = work.launch == 1 ? 2 : 0, shift = 8 * work.launch;
  if (threadIdx.x < PLAN_DIGITS) s.offset[threadIdx.x] = position - begin;
  __syncthreads();
  u32 *keys = plan_list(k, workspace, to), *rows = plan_list(k, workspace, to + 1);
#pragma unroll 1
  for (u32 at = threadIdx.x; at < work.n; at += PLAN_THREADS) {
    const u32 key = from.keys[at], p = at + s.offset[key >> shift & (PLAN_DIGITS - 1)];
    keys[p] = key;
    rows[p] = from.rows[at];
  }
}

ENTRY __launch_bounds__(PLAN_THREADS, 1) KERNEL(plan_sort)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ sort_space s;
  __shared__ tiles_space tiles;
  const bool alone = k.rows <= PLAN_CHUNK;
  const plan_work work = take_work(k, workspace, &s.ticket);
  const int passes = plan_passes(k);
  int at = 0;
  load_chunk(k, workspace, work, s.in[0]);
#pragma unroll 1
  for (int pass = work.launch; pass < passes; pass++, at ^= 1) {
    const u32 n_digit = count_chunk(s, s.in[at], work.n, 8 * pass), tag = 2 * pass + 1;
    u64 *state = plan_states(k, workspace) + work.chunk * PLAN_DIGITS + threadIdx.x;
    const bool digit = threadIdx.x < PLAN_DIGITS && !alone;
    if (digit) publish(state, work.chunk, tag, n_digit);
    const u32 begin = sort_chunk(s, s.in[at], s.in[at ^ 1], work.n, 8 * pass, n_digit);
    if (alone) continue;
    u32 total;
    u32 position = block_scan(digit ? plan_header_of(workspace)->digits[pass][threadIdx.x] : 0, s.sums, &total);
    if (digit) position += look_back(state, work.chunk, PLAN_DIGITS, tag, n_digit);
    place_chunk(k, workspace, s, s.in[at ^ 1], work, position, begin);
    return;
  }
  const keyed_rows &sorted = s.in[at];
  u32 *rows = plan_rows(k, workspace);
#pragma unroll 1
  for (u32 i = threadIdx.x; alone && i < work.n; i += PLAN_THREADS) rows[i] = sorted.rows[i];
  make_tiles(k, workspace, tiles, {sorted.keys, sorted.rows, work.first}, work.n, work.chunk);
}
