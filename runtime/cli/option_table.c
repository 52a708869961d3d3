/* option_table.c -- every option of every verb: what it takes, where it goes, what it means. */
#include "option_table.h"

#define BIT(verb) (1U << RGT_VERB_##verb)
#define OP (BIT(TUNE) | BIT(RUN) | BIT(VERIFY) | BIT(COMPILE) | BIT(SHOW) | BIT(WHY))
#define OPS (OP | BIT(DB)) /* verbs that name an op */
#define LOOKUP (BIT(TUNE) | BIT(SHOW) | BIT(WHY) | BIT(DB)) /* verbs that name a signature */
#define DATA (BIT(RUN) | BIT(VERIFY))
#define SOME (BIT(VERIFY) | BIT(COMPILE))
#define ALL (OP | BIT(DB) | BIT(ENV))
#define AT(field) offsetof(rgt__options, field)
#define TEXT_MAX 4096

/* clang-format off */
const rgt__verb_entry rgt__verb_table[RGT_N_VERBS] = {
  [RGT_VERB_TUNE]    = {"tune", "[tune] (OP | --config FILE.lua) [--rows LIST] [options]", "search for the fastest variant of an op, and remember it"},
  [RGT_VERB_RUN]     = {"run", "run (OP --x F --index F --w1 F [--b1 F --w2 F --b2 F] | --case DIR) --y OUT.npy", "compute y from .npy files"},
  [RGT_VERB_VERIFY]  = {"verify", "verify (OP | --case DIR) [options]", "compare variants with the float64 reference"},
  [RGT_VERB_COMPILE] = {"compile", "compile OP (--target TARGET | -o DIR) [options]", "compile variants and report their registers, shared bytes and spills; write a bundle of code"},
  [RGT_VERB_SHOW]    = {"show", "show OP [--rows N | --variant TEXT] [--emit KIND] [-o FILE]", "print the source or the code of one variant"},
  [RGT_VERB_WHY]     = {"why", "why OP --rows N [options]", "what dispatch would run, and why"},
  [RGT_VERB_DB]      = {"db", "db list|misses|check|rebuild|export|import|merge|gc|pin|ban [FILE...] [--dry-run] [OP --rows N] [--variant TEXT] [--db FILE]", "the tuned database, and the code cache"},
  [RGT_VERB_ENV]     = {"env", "env [--db FILE]", "devices, compilers, versions, files, environment variables"},
};

const char *const rgt__exit_table[RGT_N_EXITS] = {
  [RGT_EXIT_DONE]         = "done",
  [RGT_EXIT_NO]           = "the answer is no (a variant is wrong, nothing is feasible), or the search was interrupted",
  [RGT_EXIT_USAGE]        = "usage",
  [RGT_EXIT_SURROUNDINGS] = "the surroundings (no device, no compiler, a file)",
};

const rgt__option rgt__option_table[] = {
  {"--in", "N", "features of x", RGT_OPTION_INTEGER, OPS, AT(n_in), 1, RGT_DIM_MAX, "The op"},
  {"--hidden", "N", "features between the two layers of an MLP; without it: one linear layer", RGT_OPTION_INTEGER, OPS, AT(n_hidden), 1, RGT_DIM_MAX, NULL},
  {"--out", "N", "features of y (default with --hidden: as --in)", RGT_OPTION_INTEGER, OPS, AT(n_out), 1, RGT_DIM_MAX, NULL},
  {"--groups", "N", "groups, each with its own weights", RGT_OPTION_INTEGER, OPS, AT(groups), 1, RGT_COUNT_MAX, NULL},
  {"--dtype", "f32|f16|bf16", "storage type of x, weights, biases and y (default: f32)", RGT_OPTION_WORD, OPS, AT(dtype), RGT_F32, 0, NULL},
  {"--act", "none|relu|gelu|gelu_tanh|silu|tanh", "activation (default: relu for an MLP, none for a linear layer)", RGT_OPTION_WORD, OPS, AT(act), RGT_ACT_NONE, 0, NULL},
  {"--bias", "b0|b1|b2|b12", "biases: none, of layer 1, of layer 2, of both (default: all the op can have)", RGT_OPTION_WORD, OPS, AT(bias), 0, 0, NULL},
  {"--layout", "nk|kn", "weights as [groups, out, in] or [groups, in, out] (default: nk)", RGT_OPTION_WORD, OPS, AT(layout), RGT_NK, 0, NULL},
  {"--index-type", "i32|i64", "type of the index (default: i64)", RGT_OPTION_WORD, OPS, AT(index_type), RGT_I32, 0, NULL},
  {"--op", "TEXT", "all of the above as one text, such as mlp:10-20-5:g3:f32:relu:b12:nk:i64", RGT_OPTION_TEXT, OPS, AT(op), 1, RGT_OP_TEXT_MAX - 1, NULL},

  {"--rows", "LIST", "row counts, separated by commas (default: 8,64,512,4096,32768)", RGT_OPTION_LIST, BIT(TUNE), AT(row_list), 1, RGT_COUNT_MAX, "The calls"},
  {"--rows", "N", "rows of the call", RGT_OPTION_INTEGER, BIT(SHOW) | BIT(WHY) | BIT(DB), AT(rows), 1, RGT_COUNT_MAX, "The calls"},
  {"--skew", "uniform|zipf|one", "how rows spread over groups: alike, exponent 1.1, all in one (default when tuning: uniform)", RGT_OPTION_WORD, LOOKUP | BIT(RUN), AT(skew), RGT_SKEW_UNIFORM, 0, NULL},
  {"--index", "FILE.npy", "a real index to tune with, in place of --rows and --skew", RGT_OPTION_TEXT, BIT(TUNE), AT(index), 1, TEXT_MAX, NULL},
  {"--weights", "stacked|pointers", "one array of weights, or a pointer for each group (default: stacked)", RGT_OPTION_WORD, LOOKUP | BIT(COMPILE), AT(weights), RGT_STACKED, 0, NULL},
  {"--align", "N", "bytes that every address and stride is promised to be a multiple of (default: the element's size)", RGT_OPTION_POWER, LOOKUP | BIT(COMPILE), AT(align), 1, 16, NULL},
  {"--order", "raw|sorted|offsets", "how rows come: as they are, by group with masked rows last, or so with offsets in place of an index (default: raw)", RGT_OPTION_WORD, LOOKUP | DATA | BIT(COMPILE), AT(order), RGT_ORDER_RAW, 0, NULL},
  {"--max-error", "E", "admit variants that err up to E relative to their terms", RGT_OPTION_REAL, LOOKUP | DATA | BIT(COMPILE), AT(max_error), 1, 1, NULL},
  {"--batch-invariant", NULL, "the same bits for a row whatever the number of rows", RGT_OPTION_FLAG, LOOKUP | DATA | BIT(COMPILE), AT(batch_invariant), 0, 0, NULL},

  {"--x", "F.npy", "[rows, in]", RGT_OPTION_TEXT, BIT(RUN), AT(x), 1, TEXT_MAX, "Files"},
  {"--index", "F.npy", "[rows]: the group of each row, -1 for a masked one; with --order offsets [groups + 1]: where each group's rows begin", RGT_OPTION_TEXT, BIT(RUN), AT(index), 1, TEXT_MAX, NULL},
  {"--w1", "F.npy", "weights of layer 1", RGT_OPTION_TEXT, BIT(RUN), AT(w1), 1, TEXT_MAX, NULL},
  {"--b1", "F.npy", "[groups, features]: bias of layer 1", RGT_OPTION_TEXT, BIT(RUN), AT(b1), 1, TEXT_MAX, NULL},
  {"--w2", "F.npy", "weights of layer 2", RGT_OPTION_TEXT, BIT(RUN), AT(w2), 1, TEXT_MAX, NULL},
  {"--b2", "F.npy", "[groups, out]: bias of layer 2", RGT_OPTION_TEXT, BIT(RUN), AT(b2), 1, TEXT_MAX, NULL},
  {"--case", "DIR", "a folder of problem.txt and x, index, w1, b1, w2, b2, y as .npy; --dtype rounds its f32 arrays", RGT_OPTION_TEXT, DATA, AT(case_dir), 1, TEXT_MAX, NULL},
  {"--y", "OUT.npy", "where y goes: [rows, out]; bf16 as <u2", RGT_OPTION_TEXT, BIT(RUN), AT(y), 1, TEXT_MAX, NULL},

  {"--variant", "TEXT", "this variant: family:param=value,param=value", RGT_OPTION_TEXT, DATA | BIT(COMPILE) | BIT(SHOW) | BIT(DB), AT(variant), 1, RGT_VARIANT_TEXT_MAX - 1, "Variants"},
  {"--reason", "TEXT", "why it is pinned or banned: one line to remember", RGT_OPTION_TEXT, BIT(DB), AT(reason), 1, 1000, NULL},
  {"--list", NULL, "db pin, db ban: what is pinned or banned", RGT_OPTION_FLAG, BIT(DB), AT(list), 0, 0, NULL},
  {"--remove", NULL, "db pin, db ban: take it back", RGT_OPTION_FLAG, BIT(DB), AT(remove), 0, 0, NULL},
  {"--sample", "N", "so many variants, drawn from all", RGT_OPTION_INTEGER, SOME, AT(sample), 1, 2147483647, NULL},
  {"--seed", "S", "of the draw and of the data (default: 0)", RGT_OPTION_INTEGER, SOME, AT(seed), 0, INT64_MAX, NULL},
  {"--target", "TARGET", "what to compile for: cpu, or an architecture such as sm_90", RGT_OPTION_TEXT, BIT(COMPILE) | BIT(SHOW), AT(target), 1, 32, NULL},
  {"--emit", "source|ptx|cubin|asm", "what to print (default: source)", RGT_OPTION_WORD, BIT(SHOW), AT(emit), RGT_EMIT_SOURCE, 0, NULL},
  {"-o", "FILE", "write to FILE instead of standard output", RGT_OPTION_TEXT, BIT(SHOW), AT(output), 1, TEXT_MAX, NULL},
  {"-o", "DIR", "write a bundle, for machines without a compiler: the default variant, and what is stored as best for this op here (with --variant or --sample: those instead); to a new folder or a bundle", RGT_OPTION_TEXT, BIT(COMPILE), AT(output), 1, TEXT_MAX, NULL},

  {"--policy", "warm|cold|graph", "how calls are timed (default: warm)", RGT_OPTION_WORD, BIT(TUNE), AT(policy), RGT_POLICY_WARM, 0, "The search"},
  {"--budget", "SECONDS", "time for the whole search (default: 60; with --config: 60 for each op and skew)", RGT_OPTION_REAL, BIT(TUNE), AT(budget), 0, 10000000, NULL},
  {"--space", "FILE.lua", "narrows the space of variants", RGT_OPTION_TEXT, BIT(TUNE), AT(space), 1, TEXT_MAX, NULL},
  {"--config", "FILE.lua", "many ops, rows and skews; --rows, --skew, --device and --budget go before the file's", RGT_OPTION_TEXT, BIT(TUNE), AT(config), 1, TEXT_MAX, NULL},
  {"--shard", "I/N", "with --config: tune only part I of N, counted from 1, of its signatures; `db merge` joins the parts' databases", RGT_OPTION_TEXT, BIT(TUNE), AT(shard), 1, 64, NULL},
  {"--force", NULL, "tune again although a result is stored", RGT_OPTION_FLAG, BIT(TUNE), AT(force), 0, 0, NULL},
  {"--dry-run", NULL, "gc: tell what would be removed, and remove nothing", RGT_OPTION_FLAG, BIT(DB), AT(dry_run), 0, 0, NULL},
  {"--exhaustive", NULL, "try every variant of a large space, not a fifth", RGT_OPTION_FLAG, BIT(TUNE), AT(exhaustive), 0, 0, NULL},
  {"--quiet", NULL, "print results only", RGT_OPTION_FLAG, BIT(TUNE), AT(quiet), 0, 0, NULL},

  {"--device", "auto|cpu|cuda[:N]", "where it runs (default: auto)", RGT_OPTION_DEVICE, OPS & ~BIT(COMPILE), AT(device), 0, 0, "General"},
  {"--threads", "N", "CPU threads a call may use (default: all allowed)", RGT_OPTION_INTEGER, OP & ~BIT(COMPILE), AT(threads), 1, 4096, NULL},
  {"--bundle", "DIR", "take code from this bundle where the cache has none (default: RAGTUNE_BUNDLE)", RGT_OPTION_TEXT, BIT(RUN) | BIT(SHOW) | BIT(WHY), AT(bundle), 1, TEXT_MAX, NULL},
  {"--db", "FILE", "the tuned database (default: RAGTUNE_DB, else the user's data folder)", RGT_OPTION_TEXT, LOOKUP | DATA | BIT(COMPILE) | BIT(ENV), AT(db), 1, TEXT_MAX, NULL},
  {"--json", NULL, "print one JSON object", RGT_OPTION_FLAG, ALL, AT(json), 0, 0, NULL},
  {"--help", NULL, "print this", RGT_OPTION_FLAG, ALL, AT(help), 0, 0, NULL},
};
/* clang-format on */

const size_t rgt__option_table_n = sizeof rgt__option_table / sizeof *rgt__option_table;
_Static_assert(sizeof rgt__option_table / sizeof *rgt__option_table <= RGT_OPTION_ENTRIES_MAX,
               "more options than there is room for");
