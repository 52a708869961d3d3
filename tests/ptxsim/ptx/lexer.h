/* lexer.h -- PTX text as tokens. A word keeps its dots: "ld.global.v4.f32", "%tid.x", ".reg" are one token each. */
#ifndef PTXSIM_LEXER_H
#define PTXSIM_LEXER_H

#include "ptx/arena.h"
#include <stdint.h>

typedef enum ptx_token_kind {
  PTX_END,
  PTX_WORD,   /* text */
  PTX_INT,    /* value */
  PTX_FLOAT,  /* bits: 32 (0f...) or 64 (0d..., 1.5) in value */
  PTX_STRING, /* text without quotes */
  PTX_PUNCT,  /* punct */
  PTX_BAD     /* text says what is wrong */
} ptx_token_kind;

typedef struct ptx_token {
  ptx_token_kind kind;
  int line;
  char punct;
  int float_bits;
  uint64_t value;
  const char *text;
} ptx_token;

typedef struct ptx_lexer {
  const char *at, *end;
  int line;
  sim_arena *arena;
} ptx_lexer;

void ptx__lexer_start(ptx_lexer *lexer, sim_arena *arena, const char *text, size_t bytes);
ptx_token ptx__lexer_next(ptx_lexer *lexer);

#endif
