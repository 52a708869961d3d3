/* machine.h -- a launch while it runs: blocks, warps, fragments of warps, frames.
 *
 * A warp that a branch split is several fragments: lanes with one pc. A join waits where a branch's fragments meet again; joins
 * form a tree, and any fragment may run, so that one that spins does not keep its siblings from running. */
#ifndef PTXSIM_MACHINE_H
#define PTXSIM_MACHINE_H

#include "exec/insn.h"
#include "exec/steps.h"
#include "memory/memory.h"
#include "ptx/arena.h"
#include <string.h>

#define SIM_ALL 0xFFFFFFFFu

enum { SIM_MAX_WARPS = 32, SIM_BARRIERS = 16, SIM_MAX_DEPTH = 64, SIM_SYNC_HISTORY = 32 };

typedef struct sim_frame {
  char *regs;      /* n_slots slots */
  char *shadow;    /* the same layout: undefined bits, where `undef` says that there are any; NULL: not looked at */
  uint32_t *undef; /* for each slot, the lanes with undefined bits */
  const sim_routine *routine;
  struct sim_frame *caller, *next_made; /* caller: of a free frame the next free one */
  const sim_insn *call;                 /* that made it */
  uint32_t local_base;                  /* where its local memory begins within a lane's */
  int depth;
} sim_frame;

typedef struct sim_join {
  struct sim_join *parent;
  uint32_t expected, arrived, pc;
  uint64_t since;    /* when the first lanes arrived, in the warp's instructions */
  sim_frame *frame;  /* in which the lanes go on */
  sim_frame *callee; /* of a call: what ends with it */
} sim_join;

typedef enum sim_state { SIM_RUNS, SIM_AT_SYNC, SIM_AT_BARRIER } sim_state;

typedef struct sim_fragment {
  uint32_t pc, mask;
  sim_state state;
  uint32_t here;   /* lanes whose guard holds at the .sync or barrier it waits for */
  uint32_t wanted; /* and those that it waits for */
  sim_join *join;
  sim_frame *frame;
} sim_fragment;

typedef struct sim_copy { /* a cp.async of a warp that was not waited for yet */
  struct sim_copy *next;
  const sim_insn *insn;
  uint32_t mask, group[SIM_LANES], to[SIM_LANES], bytes[SIM_LANES]; /* bytes: what is read; the rest is zeros */
  uint64_t from[SIM_LANES];
} sim_copy;

typedef struct sim_sync { /* lanes that bar.warp.sync or a barrier put in order, and when */
  uint32_t time, mask;
} sim_sync;

struct sim_warp {
  /* the fragment that runs */
  char *regs;
  char *shadow;
  uint32_t *undef;
  sim_fragment *fragment;
  struct sim_block *block;
  struct sim_machine *machine;
  uint32_t number; /* within its block */
  sim_frame *kernel_frame;
  uint32_t made, live; /* lanes that began; that have not exited */
  sim_fragment fragments[SIM_LANES];
  int n_fragments;
  uint64_t executed;
  /* order of shared accesses */
  uint32_t clock;               /* accesses carry it; it moves on at every barrier and bar.warp.sync */
  uint32_t full_sync;           /* the last clock at which all lanes were put in order */
  uint32_t seen[SIM_MAX_WARPS]; /* of other warps: accesses up to that clock lie before us */
  sim_sync history[SIM_SYNC_HISTORY];
  uint32_t n_history;
  /* local memory: lane after lane */
  unsigned char *local, *local_undefined;
  uint32_t local_bytes;
  /* cp.async */
  sim_copy *copies, **copies_end;
  uint32_t committed[SIM_LANES];
  uint8_t at_barrier[SIM_LANES]; /* the one that a lane waits at */
  int finished;
};

typedef struct sim_barrier {
  int active, counted, op;
  uint32_t want, arrived;       /* threads; want 0: all that live */
  uint32_t waiting;             /* warps that go on when it is complete */
  uint32_t most[SIM_MAX_WARPS]; /* how far the clocks of those that arrived had come */
  uint32_t popc, all, any;
  const sim_insn *insn;
} sim_barrier;

/* Who touched a granule of shared memory last; who: atomic << 31 | (pc + 1) << 10 | thread, 0: nobody. */
typedef struct sim_shared_touch {
  uint32_t write_time, writer;
  uint32_t read_time, reader, read_lanes; /* the last warp to read it since it was written, and which of its lanes */
  uint32_t other_time, other_reader;      /* the last of another warp */
  uint32_t pad;
} sim_shared_touch;

typedef struct sim_release { /* what the block did before `fence` is seen by whoever acquires after `at` */
  uint32_t block, fence, at; /* block: its number + 1, as in sim_touch */
} sim_release;

enum { SIM_RELEASE_BUCKETS = 256 };
typedef struct sim_releases {
  sim_release *all;
  size_t n, room;
} sim_releases;

typedef struct sim_block {
  struct sim_machine *machine;
  uint64_t linear;
  uint32_t index[3];
  int n_warps, n_done, slot;
  sim_warp *warps;
  unsigned char *shared, *shared_undefined, *in_flight; /* in_flight: copies on their way, for each 4 bytes */
  sim_shared_touch *touches;
  uint32_t n_in_flight;
  sim_barrier barriers[SIM_BARRIERS];
  uint32_t live_threads;
  uint64_t executed;
  /* order between blocks */
  uint32_t fence, seen, acquired, released; /* released: the fence that was published last */
  int next_warp;
  struct sim_block *next_free, *next_made;
} sim_block;

typedef struct sim_cache sim_cache;

typedef struct sim_machine {
  const sim_launch *launch;
  const sim_function *function;
  const sim_insn *code;
  sim_memory *memory;
  sim_counters *counters;
  sim_fault *fault;
  unsigned checks;
  uint64_t serial; /* of the launch, for stamps */
  uint64_t executed, limit;
  uint64_t random;
  uint32_t time; /* moves on at fences, releases and acquires between blocks */
  uint32_t shared_bytes;
  uint32_t threads, n_warps; /* of a block */
  sim_arena arena;           /* of joins and copies */
  char **templates;          /* for each routine: its slots with constants filled in */
  sim_frame *free_frames, *all_frames;
  sim_join *free_joins;
  sim_copy *free_copies;
  sim_block *free_blocks, *all_blocks;
  sim_cache *cache;
  sim_releases releases[SIM_RELEASE_BUCKETS]; /* by block */
  sim_range *last_range;
  uint64_t class_count[SIM_CLASSES], class_threads[SIM_CLASSES], class_flop[SIM_CLASSES];
} sim_machine;

/* ---- operands
 * ----------------------------------------------------------------------------------------------------------------------- */

static inline uint32_t *sim__u32(const sim_warp *w, uint32_t offset) {
  return (uint32_t *)(void *)(w->regs + offset);
}
static inline uint64_t *sim__u64(const sim_warp *w, uint32_t offset) {
  return (uint64_t *)(void *)(w->regs + offset);
}
static inline uint32_t *sim__shadow32(const sim_warp *w, uint32_t offset) {
  return (uint32_t *)(void *)(w->shadow + offset);
}
static inline uint64_t *sim__shadow64(const sim_warp *w, uint32_t offset) {
  return (uint64_t *)(void *)(w->shadow + offset);
}
static inline uint32_t sim__bits(const sim_warp *w, uint32_t offset) {
  return *(uint32_t *)(void *)(w->regs + offset);
}
static inline void sim__set_bits(sim_warp *w, uint32_t offset, uint32_t mask, uint32_t value) {
  uint32_t *p = (uint32_t *)(void *)(w->regs + offset);
  *p = (*p & ~mask) | (value & mask);
}
static inline int sim__checks_defined(const sim_warp *w) {
  return w->undef != NULL;
}
/* Lanes of the mask in which the register has undefined bits. */
static inline uint32_t sim__undefined(const sim_warp *w, uint32_t offset, uint32_t mask) {
  return w->undef ? w->undef[offset / SIM_SLOT] & mask : 0;
}
/* The whole of a register is defined, or not, in these lanes. */
static inline void sim__mark_defined(sim_warp *w, uint32_t offset, uint32_t mask) {
  if (w->undef) w->undef[offset / SIM_SLOT] &= ~mask;
}
void sim__mark_undefined(sim_warp *w, uint32_t offset, int wide, uint32_t mask);
/* Undefined bits of a lane's register: 0 where it is defined. */
static inline uint64_t sim__undefined_bits(const sim_warp *w, uint32_t offset, int wide, int lane) {
  if (!w->undef || !(w->undef[offset / SIM_SLOT] >> lane & 1)) return 0;
  return wide ? sim__shadow64(w, offset)[lane] : sim__shadow32(w, offset)[lane];
}
void sim__set_undefined_bits(sim_warp *w, uint32_t offset, int wide, int lane, uint64_t bits);

#define SIM_EACH_LANE(lane, mask)                                                                                 \
  for (uint32_t lane##_left_ = (mask), lane; lane##_left_ && ((lane = (uint32_t)__builtin_ctz(lane##_left_)), 1); \
       lane##_left_ &= lane##_left_ - 1)

/* ---- warp.c: fragments and joins
 * --------------------------------------------------------------------------------------------------------- */

typedef enum sim_outcome { SIM_O_FINISHED, SIM_O_BLOCKED, SIM_O_BUDGET, SIM_O_FAULT } sim_outcome;
/* Runs the warp for at most `budget` instructions. */
sim_outcome sim__warp_run(sim_warp *w, uint64_t budget);
void sim__warp_begin(sim_warp *w, uint32_t lanes, sim_frame *frame);
/* After exits: whoever waited for the lanes that are gone looks at its instruction once more. */
void sim__warp_look_again(sim_warp *w);
void sim__warp_select(sim_warp *w, sim_fragment *f);
sim_fragment *sim__fragment_add(sim_warp *w, uint32_t pc, uint32_t mask, sim_join *join, sim_frame *frame);
void sim__fragment_drop(sim_warp *w, sim_fragment *f);
sim_join *sim__join_new(sim_machine *m, sim_join *parent, uint32_t pc, uint32_t expected, sim_frame *frame);
/* Lanes reached a join: they wait there, or all go on in a new fragment. */
void sim__join_arrive(sim_warp *w, sim_join *join, uint32_t lanes);
/* Lanes left for good: no join waits for them. */
void sim__join_leave(sim_warp *w, sim_join *join, uint32_t lanes);

/* ---- frame.c
 * ------------------------------------------------------------------------------------------------------------------------------
 */
sim_frame *sim__frame_new(sim_warp *w, int routine, sim_frame *caller);
void sim__frame_free(sim_machine *m, sim_frame *f);
void sim__templates_make(sim_machine *m);
void sim__templates_free(sim_machine *m);
int sim__local_room(sim_warp *w, uint32_t bytes); /* per lane */

/* ---- shadow.c
 * ------------------------------------------------------------------------------------------------------------------------------
 */
/* Before a lane-by-lane instruction with undefined sources: sets the destination's undefined bits. */
void sim__flow(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t lanes);

/* ---- fault.c
 * -------------------------------------------------------------------------------------------------------------------------------
 */
sim_step sim__fault(sim_warp *w, const sim_insn *i, sim_fault_kind kind, int lane, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same with what was touched; space: PTX_GLOBAL ... */
sim_step sim__fault_at(sim_warp *w, const sim_insn *i, sim_fault_kind kind, int lane, int space, uint64_t address,
                       uint64_t bytes, const char *format, ...) __attribute__((format(printf, 8, 9)));
void sim__fault_other(sim_warp *w, uint32_t pc); /* the earlier access of a race */
void sim__fault_finish(sim_machine *m);

/* ---- block.c, order.c
 * ------------------------------------------------------------------------------------------------------------------------ */
void sim__threads_left(sim_warp *w, uint32_t lanes);                     /* exits: barriers may be complete */
void sim__order_warp(sim_warp *w, uint32_t lanes);                       /* bar.warp.sync and barriers within a warp */
void sim__order_arrive(const sim_warp *w, uint32_t most[SIM_MAX_WARPS]); /* what a warp knows joins what a barrier knows */
void sim__order_release(sim_warp *w, const uint32_t most[SIM_MAX_WARPS]);
int sim__ordered_lanes(const sim_warp *w, uint32_t time, uint32_t a, uint32_t b); /* did a sync put a's access before b now? */
void sim__fence(sim_block *b, int order);
void sim__strong_write(sim_block *b);
void sim__strong_read(sim_block *b);
int sim__ordered_blocks(const sim_block *now, uint64_t then, uint32_t time);
static inline uint32_t sim__block_name(const sim_block *b) {
  return (uint32_t)(b->linear % (SIM_TOUCH_MANY - 2) + 1);
}

/* ---- access.c: one warp instruction's bytes in memory
 * -------------------------------------------------------------------------------------------- */

/* Lanes whose bytes lie in one place: a range, the block's shared memory, the lanes' local memory or the parameters. */
typedef struct sim_access {
  uint64_t address[SIM_LANES]; /* as the lanes gave them (generic ones: within their window) */
  uint64_t offset[SIM_LANES];  /* from `data` */
  unsigned char *data;
  unsigned char *undefined; /* the same offsets; NULL: all is defined */
  uint32_t mask, bytes;     /* bytes: of a lane */
  int space;                /* PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM */
  sim_range *range;         /* of PTX_GLOBAL */
} sim_access;

enum { SIM_READS = 1, SIM_WRITES = 2, SIM_IS_ATOMIC = 4, SIM_IS_STRONG = 8, SIM_IS_COPY = 16 };
/* Addresses of an operand; 0, or -1 and a fault: one is undefined. */
int sim__access_addresses(sim_warp *w, const sim_insn *i, uint32_t mask, uint32_t ref, int kind, int64_t offset,
                          uint64_t *address);
/* The first of the lanes with all others that lie in the same place (a->mask): bounds, alignment, conflicts. 0, or -1 and a
 * fault. `address` and `space` are the instruction's. */
int sim__access_group(sim_warp *w, const sim_insn *i, sim_access *a, const uint64_t *address, uint32_t lanes, int space,
                      uint32_t bytes, int what);
/* Conflicts of a group whose values are known (stores): separate, since equal values written at once are no race. */
int sim__access_conflicts(sim_warp *w, const sim_insn *i, const sim_access *a, int what, const unsigned char *values);
int sim__access_in_flight(sim_warp *w, const sim_insn *i, const sim_access *a); /* shared bytes that a copy is on its way to */
int sim__shared_touch(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t at, uint32_t bytes, int what,
                      const unsigned char *values);
void sim__count_banks(sim_machine *m, const sim_access *a);
void sim__count_sectors(sim_machine *m, const sim_access *a, int what);

/* cache.c */
sim_cache *sim__cache_new(uint64_t bytes);
void sim__cache_free(sim_cache *c);
void sim__cache_sector(sim_machine *m, uint64_t sector, int write);
void sim__cache_flush(sim_machine *m);

/* async.c */
void sim__copies_drop(sim_warp *w);

/* block.c */
sim_block *sim__block_start(sim_machine *m, uint64_t linear);
void sim__block_end(sim_block *b);
void sim__blocks_free(sim_machine *m);
sim_outcome sim__block_run(sim_block *b, uint64_t budget); /* FINISHED, BUDGET or FAULT */

static inline uint64_t sim__random(uint64_t *state) { /* splitmix64 */
  uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

#endif
