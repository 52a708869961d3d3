/* sim.h -- ptxsim's two halves meet here: what executes PTX (ptx/, exec/, memory/) and what looks like a driver (driver/).
 *
 * Addresses are simulated 64-bit numbers, never host pointers. Nothing here is thread-safe: the driver half holds its own lock.
 * A launch runs to its end on the calling thread; its order of warps and blocks follows from its seed. */
#ifndef PTXSIM_SIM_H
#define PTXSIM_SIM_H

#include <stddef.h>
#include <stdint.h>

/* ---- profiles: the driver half fills them, the executing half only reads ---- */

typedef struct sim_profile {
  const char *name; /* "sm_80" */
  int cc_major, cc_minor, sm_count, warp_size;
  int max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
  int registers_per_block, registers_per_sm;
  int64_t shared_static_max, shared_optin_max, shared_per_sm, shared_reserved_per_block;
  int64_t max_grid[3];
  int max_block[3], max_param_bytes;
  int64_t l2_bytes, global_bytes;
  int clock_khz, memory_clock_khz, bus_bits;
} sim_profile;

/* ---- memory of one context ---- */

typedef struct sim_memory sim_memory;

typedef enum sim_allocation_state { SIM_LIVE, SIM_FREED } sim_allocation_state;

/* What is known of a range. */
typedef struct sim_allocation {
  uint64_t base, bytes;
  sim_allocation_state state;
  int read_only;    /* .const variables of a module */
  const char *name; /* a module's variable, or NULL */
} sim_allocation;

/* NULL: no host memory. `limit_bytes` is what the device has. */
sim_memory *sim_memory_new(int64_t limit_bytes);
void sim_memory_free(sim_memory *memory);

/* A range of fresh bytes, all 0xFF and undefined; 256-byte aligned, apart from its neighbours. 0: no room. */
uint64_t sim_memory_alloc(sim_memory *memory, uint64_t bytes);
/* 0; -1: no allocation begins there; -2: it was freed before. The range stays unmapped for good. */
int sim_memory_release(sim_memory *memory, uint64_t address);
/* Makes `bytes` of the caller's memory visible at the address that the host has for it (pinned memory). 0; -1: no host memory;
 * -2: the range touches another. Ended by sim_memory_release; the caller keeps `host` alive until then. */
int sim_memory_map(sim_memory *memory, void *host, uint64_t bytes);

/* The live or freed range that holds the address, or NULL. Borrowed until the next alloc, map or release. */
const sim_allocation *sim_memory_find(const sim_memory *memory, uint64_t address);
/* The range nearest to the address (within it, or the one that ends before it or begins behind it at the least distance), or
 * NULL. */
const sim_allocation *sim_memory_nearest(const sim_memory *memory, uint64_t address);
/* How many bytes are allocated now. */
uint64_t sim_memory_used(const sim_memory *memory);

/* Host access: 0, or -1 when not all of the bytes lie within one live allocation (then nothing is done). */
int sim_memory_write(sim_memory *memory, uint64_t to, const void *from, uint64_t bytes); /* marks them defined */
int sim_memory_read(const sim_memory *memory, void *to, uint64_t from, uint64_t bytes);  /* undefined bytes read as they are */
int sim_memory_fill(sim_memory *memory, uint64_t to, const void *unit, int unit_bytes,
                    uint64_t units);                                                 /* 1, 2 or 4 bytes a unit */
int sim_memory_copy(sim_memory *memory, uint64_t to, uint64_t from, uint64_t bytes); /* definedness travels; may overlap */
/* The first undefined byte in the range, or UINT64_MAX: for the report of outputs that were never written. */
uint64_t sim_memory_first_undefined(const sim_memory *memory, uint64_t from, uint64_t bytes);

/* ---- modules ---- */

typedef struct sim_module sim_module;
typedef struct sim_function sim_function;

/* Parses and decodes PTX (need not end in NUL). 0; -1: `log` names the line, quotes it and says what is wrong with it. */
int sim_module_parse(const char *ptx, size_t bytes, sim_module **out, char *log, size_t log_bytes);
void sim_module_free(sim_module *module);
/* Gives the module's .global and .const variables a place in the memory, with their initial values: once, before the first
 * launch. 0; -1: no room. sim_module_free does not release them: call sim_module_remove first where the memory lives on. */
int sim_module_place(sim_module *module, sim_memory *memory);
void sim_module_remove(sim_module *module, sim_memory *memory);

/* A kernel by its name, or NULL. */
const sim_function *sim_module_function(const sim_module *module, const char *name);
int sim_module_function_count(const sim_module *module);
const sim_function *sim_module_function_at(const sim_module *module, int i);
/* Where a variable lies: 0 and its address and bytes; -1: no such variable (or the module has no place yet). */
int sim_module_global(const sim_module *module, const char *name, uint64_t *address, uint64_t *bytes);
/* Of .target and .version: 80 and 'a', 'f' or 0; 90 for version 9.0. */
int sim_module_target(const sim_module *module, int *suffix);
int sim_module_version(const sim_module *module);

typedef struct sim_function_facts {
  const char *name;
  int n_params;
  uint32_t param_bytes;                      /* end of the last parameter */
  const uint32_t *param_offset, *param_size; /* n_params each */
  uint32_t static_shared_bytes;              /* with those that it calls; dynamic shared memory begins behind them */
  uint32_t dynamic_shared_align;             /* of .extern .shared; 1 where there is none */
  uint32_t local_bytes;                      /* per thread, of the kernel itself */
  int maxntid[3], reqntid[3];                /* 0 0 0 where the PTX says nothing */
  int minnctapersm, maxnreg;                 /* 0 where the PTX says nothing */
  int uses_mma, uses_cp_async, barriers;     /* barriers: 16 where an id is known at run time only */
  int virtual_registers;                     /* most 32-bit registers alive at once: a lower estimate of the hardware's count */
} sim_function_facts;
const sim_function_facts *sim_function_get_facts(const sim_function *function);

/* ---- faults ---- */

#define SIM_FAULTS(X)                                                                  \
  X(NONE, "no fault")                                                                  \
  X(BOUNDS, "access out of bounds")                                                    \
  X(FREED, "access to freed memory")                                                   \
  X(MISALIGNED, "misaligned access")                                                   \
  X(READ_ONLY, "write to read-only memory")                                            \
  X(UNDEFINED_STORE, "undefined value stored to global memory")                        \
  X(UNDEFINED_ADDRESS, "undefined value used as an address")                           \
  X(UNDEFINED_BRANCH, "undefined value decides a branch")                              \
  X(GLOBAL_WRITE_WRITE, "two blocks write the same global bytes")                      \
  X(GLOBAL_READ_WRITE, "one block reads global bytes that another writes")             \
  X(SHARED_RACE, "shared memory accessed by two threads without a barrier between")    \
  X(ASYNC_IN_FLIGHT, "bytes of a cp.async touched before they were waited for")        \
  X(DIVERGED, "not every named lane reaches a .sync or .aligned instruction")          \
  X(EXITED_LANE, "a lane that a whole-warp instruction needs has exited or never was") \
  X(BAD_MASK, "a lane executes a .sync instruction whose mask does not name it")       \
  X(BARRIER, "misuse of a barrier")                                                    \
  X(DEADLOCK, "every warp of a block waits")                                           \
  X(TIME_LIMIT, "instruction limit reached")                                           \
  X(TRAP, "trap")                                                                      \
  X(STACK, "calls nested too deeply")                                                  \
  X(BAD_CALL, "indirect call or branch to what is not there")                          \
  X(LAUNCH, "launch out of the function's or the device's limits")                     \
  X(NO_MEMORY, "the simulator is out of host memory")

typedef enum sim_fault_kind {
#define X(name, text) SIM_FAULT_##name,
  SIM_FAULTS(X)
#undef X
      SIM_FAULT_KINDS
} sim_fault_kind;

const char *sim_fault_name(sim_fault_kind kind); /* "BOUNDS" */
const char *sim_fault_text(sim_fault_kind kind); /* "access out of bounds" */

typedef struct sim_fault {
  sim_fault_kind kind;
  char kernel[256];
  int ptx_line;       /* from 1; 0: no line */
  char ptx_text[256]; /* that line, without blanks around it */
  int source_line;    /* from .loc; 0: none */
  char source_file[256];
  unsigned block[3], thread[3];
  int warp, lane; /* -1: not of one */
  int has_address;
  uint64_t address, bytes; /* of a shared, local or parameter access: the offset there */
  char space[8];           /* "global", "shared", "local", "param", "const" */
  int has_nearest;
  sim_allocation nearest; /* its name is not set */
  int64_t nearest_offset; /* of the address from its base */
  int other_ptx_line;     /* races: the earlier access; else 0 */
  char detail[512];       /* what more is known: the other block, the counts of a barrier ... */
  char text[2048];        /* all of it, formatted over a few lines */
} sim_fault;

/* ---- counters ---- */

/* Of one launch, named after what a profiler calls them. "thread": lanes that were active and not predicated off. */
#define SIM_COUNTERS(X)                                                                                         \
  X(inst_executed, "warp instructions")                                                                         \
  X(thread_inst_executed, "thread instructions")                                                                \
  X(inst_integer, "warp instructions: integer, bits, predicates, moves")                                        \
  X(inst_fp32, "warp instructions: f32")                                                                        \
  X(inst_fp16, "warp instructions: f16 and bf16, not mma")                                                      \
  X(inst_fp64, "warp instructions: f64")                                                                        \
  X(inst_special, "warp instructions: approximations (rcp, rsqrt, ex2, lg2, sin, cos, tanh)")                   \
  X(inst_convert, "warp instructions: conversions")                                                             \
  X(inst_load_store, "warp instructions: ld, st, cp.async, ldmatrix, stmatrix")                                 \
  X(inst_atomic, "warp instructions: atom, red")                                                                \
  X(inst_exchange, "warp instructions: shfl, vote, match, redux, movmatrix")                                    \
  X(inst_control, "warp instructions: branches, calls, exits")                                                  \
  X(inst_barrier, "warp instructions: barriers, fences, waits")                                                 \
  X(inst_mma, "warp instructions: mma")                                                                         \
  X(thread_inst_fp32, "thread instructions: f32")                                                               \
  X(thread_inst_integer, "thread instructions: integer")                                                        \
  X(flop_fp32, "f32 operations; a fused multiply-add counts two")                                               \
  X(flop_fp16, "f16 and bf16 operations outside of mma")                                                        \
  X(flop_fp64, "f64 operations")                                                                                \
  X(flop_mma, "operations within mma")                                                                          \
  X(branches, "branches")                                                                                       \
  X(branches_divergent, "branches that split a warp")                                                           \
  X(calls, "calls of device functions")                                                                         \
  X(barriers, "block-wide and named barriers, a warp each")                                                     \
  X(warp_syncs, "bar.warp.sync")                                                                                \
  X(global_load_requests, "warp instructions that load global memory")                                          \
  X(global_store_requests, "warp instructions that store to global memory")                                     \
  X(global_load_sectors, "32-byte sectors asked for by loads, once for each warp instruction that touches one") \
  X(global_store_sectors, "32-byte sectors asked for by stores")                                                \
  X(global_load_bytes, "bytes asked for by loads of global memory")                                             \
  X(global_store_bytes, "bytes stored to global memory")                                                        \
  X(global_atomic_sectors, "32-byte sectors touched by atomics")                                                \
  X(global_unique_sectors, "distinct 32-byte sectors that the launch touched")                                  \
  X(l2_hit_sectors, "sectors found in the modelled L2")                                                         \
  X(l2_miss_sectors, "sectors not found in it")                                                                 \
  X(dram_read_bytes, "bytes read from DRAM under an LRU L2 of the profile's size, empty at the start")          \
  X(dram_write_bytes, "bytes written to DRAM, with what is still dirty at the end")                             \
  X(local_load_requests, "warp instructions that load local memory")                                            \
  X(local_store_requests, "warp instructions that store to local memory")                                       \
  X(shared_load_requests, "warp instructions that load shared memory")                                          \
  X(shared_store_requests, "warp instructions that store to shared memory")                                     \
  X(shared_passes, "passes over the shared memory's 32 banks, conflicts and all")                               \
  X(shared_passes_least, "passes that the same bytes need without conflicts")                                   \
  X(cp_async_requests, "warp instructions cp.async")                                                            \
  X(blocks, "blocks that ran")                                                                                  \
  X(warps, "warps that ran")                                                                                    \
  X(block_least_inst, "warp instructions of the block with the fewest")                                          \
  X(block_most_inst, "warp instructions of the busiest block")

typedef struct sim_counters {
#define X(name, text) uint64_t name;
  SIM_COUNTERS(X)
#undef X
} sim_counters;

/* ---- a launch ---- */

/* Bounds, freed ranges, alignment, masks, barriers, traps and the limit are always looked at; these cost something. */
enum {
  SIM_CHECK_DEFINED = 1 << 0, /* undefined values that reach a global store, an address or a branch */
  SIM_CHECK_GLOBAL = 1 << 1,  /* conflicts between blocks */
  SIM_CHECK_SHARED = 1 << 2,  /* races between the lanes of a block */
  SIM_CHECK_ASYNC = 1 << 3,   /* bytes of a cp.async in flight */
  SIM_COUNT_CACHE = 1 << 4,   /* unique sectors, L2, DRAM bytes (0 without it) */
  SIM_COUNT_BANKS = 1 << 5,   /* passes over the shared memory's banks, sectors asked for (0 without it) */
  SIM_CHECK_ALL = (1 << 6) - 1
};

typedef struct sim_launch {
  const sim_function *function;
  const sim_profile *profile;
  sim_memory *memory;
  unsigned grid[3], block[3], cluster[3]; /* cluster: 0 0 0 or 1 1 1: none */
  uint32_t dynamic_shared;
  const void *params; /* laid out as param_offset says */
  size_t param_bytes;
  int registers;       /* from the cubin; 0: unknown */
  int resident_blocks; /* at once on the whole device; 0: as many as there are SMs */
  uint64_t seed;
  unsigned checks;
  uint64_t instruction_limit; /* warp instructions; 0: 4e9 */
  uint64_t *block_inst;       /* NULL, or room for a count of warp instructions of each block, x fastest */
} sim_launch;

/* 0; -1: a fault, filled in. Counters are those until then. Memory keeps what was written. */
int sim_launch_run(const sim_launch *launch, sim_counters *counters, sim_fault *fault);

#endif
