/* syntax.h -- what the parser makes of PTX text: functions, variables, statements with resolved names. */
#ifndef PTXSIM_SYNTAX_H
#define PTXSIM_SYNTAX_H

#include "ptx/arena.h"
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_space {
  PTX_SPACE_NONE,
  PTX_REG,
  PTX_GLOBAL,
  PTX_CONST,
  PTX_SHARED,
  PTX_LOCAL,
  PTX_PARAM,
  PTX_GENERIC
} ptx_space;

typedef enum ptx_base { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_REAL, PTX_BFLOAT, PTX_TF32, PTX_PRED } ptx_base;

/* A type: its base, its bits, and 2 for a pair (f16x2: 32 bits in all). bits 0: no type. */
typedef struct ptx_type {
  ptx_base base;
  int bits, pair;
} ptx_type;

/* ".f32" or "f32" -> the type; bits 0 for anything else. */
ptx_type ptx__type_of(const char *word);

typedef struct ptx_reg {
  const char *name;
  ptx_type type;
  int id;    /* within its function */
  int upper; /* of 128 bits: the id of the upper 64, which the decoder gives */
} ptx_reg;

/* A variable of a state space, a parameter, or a function's own local or shared array. */
typedef struct ptx_var {
  const char *name;
  ptx_space space;
  uint32_t align;
  uint64_t bytes, offset; /* offset: in the function's parameters, frame or shared memory */
  int external;           /* .extern .shared */
  int of_kernel;          /* a parameter of an entry */
  int line;
  unsigned char *initial; /* bytes, or NULL: zeros */
  struct ptx_patch {
    uint64_t at;
    int bytes;
    const char *name;
    int64_t add;
    struct ptx_patch *next;
  } * patches;      /* addresses within it */
  uint64_t address; /* of global and const ones once placed */
  struct ptx_function *owner;
  struct ptx_var *next;
} ptx_var;

typedef struct ptx_label {
  const char *name;
  int statement;        /* index of the statement behind it; -1: not seen yet */
  const char **targets; /* of .branchtargets and .calltargets, else NULL */
  int n_targets;
  struct ptx_prototype *prototype;
  struct ptx_label *next;
} ptx_label;

typedef struct ptx_scope {
  struct ptx_scope *outer;
  ptx_label *labels;
  struct ptx_name {
    const char *name;
    int count;
    ptx_reg *regs;
    ptx_var *var;
    struct ptx_name *next;
  } * names[16];
} ptx_scope;

typedef enum ptx_operand_kind {
  PTX_O_REG,
  PTX_O_INT,
  PTX_O_FLOAT,
  PTX_O_VAR,     /* address of a variable (+ offset) */
  PTX_O_SPECIAL, /* %tid.x ... in name */
  PTX_O_NAME,    /* label, function or table, resolved by who knows which */
  PTX_O_VECTOR,  /* {a, b} */
  PTX_O_LIST,    /* (a, b) */
  PTX_O_PAIR,    /* a|b */
  PTX_O_MEMORY,  /* [a + offset]: elements[0] */
  PTX_O_SINK     /* _ */
} ptx_operand_kind;

typedef struct ptx_operand {
  ptx_operand_kind kind;
  int negated; /* !p or -x */
  ptx_reg *reg;
  ptx_var *var;
  const char *name;
  uint64_t value; /* INT, FLOAT */
  int float_bits;
  int64_t offset; /* VAR, MEMORY */
  struct ptx_operand *elements;
  int n_elements;
} ptx_operand;

enum { PTX_MAX_MODIFIERS = 16, PTX_MAX_OPERANDS = 10 };

typedef struct ptx_statement {
  int line, source_line, source_file;
  ptx_reg *guard;
  int guard_negated;
  const char *opcode, *text; /* "ld" and "ld.global.u32" */
  const char *modifiers[PTX_MAX_MODIFIERS];
  int n_modifiers, n_operands;
  ptx_operand operands[PTX_MAX_OPERANDS];
  ptx_scope *scope;
} ptx_statement;

typedef struct ptx_function {
  const char *name;
  int is_entry, has_body, line;
  ptx_var *params, *results; /* in order */
  int n_params, n_results;
  int maxntid[3], reqntid[3], minnctapersm, maxnreg;
  ptx_scope *scope;
  ptx_statement *statements;
  size_t n_statements, room;
  size_t n_regs, regs_room;
  ptx_reg **regs;
  uint32_t local_bytes, shared_bytes, dynamic_align, param_bytes;
  struct ptx_function *next;
} ptx_function;

typedef struct ptx_source_file {
  int index;
  const char *name;
  struct ptx_source_file *next;
} ptx_source_file;

typedef struct ptx_module {
  sim_arena arena;
  const char *text; /* a copy, for quoting */
  size_t text_bytes;
  int version, target, suffix;
  ptx_function *functions, *last_function; /* in the order of the text */
  ptx_var *vars;                           /* .global and .const, in order */
  ptx_scope *scope;
  ptx_source_file *files;
  uint32_t shared_bytes, dynamic_align; /* of module-scope .shared */
  char *log;
  size_t log_bytes;
} ptx_module;

/* 0; -1: the module's log says why. */
int ptx__parse(ptx_module *module);
/* Writes "line N: `text`: why" to the log; returns -1. */
int ptx__error(ptx_module *module, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The line's text without blanks around it. */
void ptx__quote(const char *text, size_t bytes, int line, char *out, size_t room);
ptx_label *ptx__find_label(const ptx_scope *scope, const char *name);
ptx_function *ptx__find_function(const ptx_module *module, const char *name);
ptx_var *ptx__find_var(const ptx_module *module, const char *name);

#endif
