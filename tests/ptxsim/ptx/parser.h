/* parser.h -- the state that the parser's files share. */
#ifndef PTXSIM_PARSER_H
#define PTXSIM_PARSER_H

#include "ptx/lexer.h"
#include "ptx/syntax.h"

typedef struct ptx_parser {
  ptx_module *module;
  ptx_lexer lexer;
  ptx_token token, ahead; /* the one to look at, and the one behind it */
  int has_ahead;
  ptx_function *function; /* the one whose body is read */
  ptx_scope *scope;
  int source_line, source_file;
} ptx_parser;

void ptx__next(ptx_parser *p);
ptx_token *ptx__peek(ptx_parser *p); /* behind the token */
int ptx__is(const ptx_parser *p, char punct);
int ptx__is_word(const ptx_parser *p, const char *word);
int ptx__expect(ptx_parser *p, char punct); /* takes it, or -1 */
int ptx__accept(ptx_parser *p, char punct); /* 1: taken */
int ptx__expect_int(ptx_parser *p, int64_t *value);
int ptx__fail(ptx_parser *p, const char *why); /* at the token's line; -1 */

/* names.c */
ptx_scope *ptx__scope_new(ptx_parser *p, ptx_scope *outer);
int ptx__declare_regs(ptx_parser *p);              /* behind ".reg" */
int ptx__declare_var(ptx_parser *p, ptx_var *var); /* into the scope */
ptx_reg *ptx__find_reg(const ptx_scope *scope, const char *name);
ptx_var *ptx__find_scoped_var(const ptx_scope *scope, const char *name);
int ptx__is_special(const char *name);

/* vars.c: ".align 8 .b8 name[216] = {...}" behind the state space; `list`: parameters, which end at ',' or ')' */
ptx_var *ptx__parse_var(ptx_parser *p, ptx_space space, int list);

/* body.c: behind the opening brace, to the closing one */
int ptx__parse_body(ptx_parser *p);
/* operand.c */
int ptx__parse_operand(ptx_parser *p, ptx_operand *out);

#endif
