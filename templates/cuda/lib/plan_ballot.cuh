/* plan_ballot.cuh -- tiles without a plan, for small problems: a warp looks through the index for the rows of one bucket.
 *
 * A bucket is a group, or, numbered `groups`, the rows that have none: masked ones, and those whose index is out of range. Rows
 * come in rising order, in tiles of HEIGHT; the last may be shorter. Nothing is written to memory but errors of the index,
 * which are counted where `count` is set: for one warp that looks for the last bucket.
 *
 * body(i64 group, int n, u32 row): a tile of n rows; group is -1 for the last bucket; `row` is the tile's row with the number
 * of the lane, and its last one in lanes beyond. Called by whole warps; the warp's `room` may be overwritten only after it. Of
 * a bucket's tiles those whose number is `part` modulo `parts` are made. Rows must fit 32 bits. Before it come rows.cuh's. */
enum : int { BALLOT_STEP = 4 }; /* rows of a lane that are looked at together */

template <int HEIGHT> struct ballot_room { u32 row[HEIGHT + 32 * BALLOT_STEP]; };

DEV i64 ballot_clamp(i64 v, i64 low, i64 high) {
  return v < low ? low : v > high ? high : v;
}

/* The rows that may lie in the bucket. Of offsets, those between the group's own two; which are its rows, group_of says. A call
 * without rows has no offsets. */
DEV void ballot_range(const rgt_kargs &k, i64 bucket, i64 &from, i64 &to) {
  from = 0;
  to = k.rows;
  if constexpr (ORDER == ORDER_OFFSETS)
    if (bucket < k.groups && k.rows > 0) {
      from = ballot_clamp(index_value(k, bucket), 0, k.rows);
      to = ballot_clamp(index_value(k, bucket + 1), from, k.rows);
    }
}

DEV bool ballot_in(const rgt_kargs &k, i64 row, i64 bucket, bool count) {
  if (bucket == k.groups) return group_of(k, row, count) < 0;
  if constexpr (ORDER == ORDER_OFFSETS) return group_of(k, row, false) == bucket;
  return index_value(k, row) == bucket;
}

/* Rows of the bucket from `at` on, to the end of room. */
template <int HEIGHT>
DEV int ballot_look(const rgt_kargs &k, ballot_room<HEIGHT> &room, int have, i64 bucket, i64 at, i64 to, bool count) {
  const int lane = (int)threadIdx.x & 31;
  bool in[BALLOT_STEP];
#pragma unroll
  for (int i = 0; i < BALLOT_STEP; i++) {
    const i64 row = at + 32 * i + lane;
    if (i > 0 && at + 32 * i >= to) break;
    in[i] = row < to && ballot_in(k, row, bucket, count);
  }
#pragma unroll
  for (int i = 0; i < BALLOT_STEP; i++) {
    if (i > 0 && at + 32 * i >= to) break;
    const u32 mask = __ballot_sync(0xffffffffu, in[i]);
    if (in[i]) room.row[have + __popc(mask & ((1u << lane) - 1))] = (u32)(at + 32 * i + lane);
    have += __popc(mask);
  }
  __syncwarp();
  return have;
}

template <int HEIGHT, class BODY>
DEV void ballot_tiles(const rgt_kargs &k, ballot_room<HEIGHT> &room, i64 bucket, int part, int parts, bool count,
                      const BODY &body) {
  static_assert(HEIGHT <= 32, "a lane for each row of a tile");
  const int lane = (int)threadIdx.x & 31;
  int have = 0, number = 0;
  i64 at, to;
  ballot_range(k, bucket, at, to);
#pragma unroll 1
  for (bool more = true; more; at += 32 * BALLOT_STEP) {
    int begin = 0;
    more = at < to;
    if (more) have = ballot_look(k, room, have, bucket, at, to, count);
#pragma unroll 1
    while (have - begin >= HEIGHT || (!more && have > begin)) {
      const int n = have - begin < HEIGHT ? have - begin : HEIGHT;
      if (number++ % parts == part) body(bucket < k.groups ? bucket : -1, n, room.row[begin + (lane < n ? lane : n - 1)]);
      begin += n;
    }
    have -= begin; /* fewer than a tile are left: to the front with them */
    const u32 row = begin > 0 && lane < have ? room.row[begin + lane] : 0;
    __syncwarp();
    if (begin > 0 && lane < have) room.row[lane] = row;
    __syncwarp();
  }
}
