/* body.c -- the statements of a function: scopes, declarations, labels, instructions. */
#include "ptx/parser.h"

#include <string.h>

static int parse_declared(ptx_parser *p, ptx_space space, int external) {
  ptx_function *f = p->function;
  do {
    ptx_var *v = ptx__parse_var(p, space, 0);
    if (!v || ptx__declare_var(p, v) != 0) return -1;
    v->external |= external;
    if (space == PTX_LOCAL || space == PTX_PARAM) { /* both lie in the frame */
      f->local_bytes = (f->local_bytes + v->align - 1) / v->align * v->align;
      v->offset = f->local_bytes;
      if (v->bytes > 512 * 1024 - f->local_bytes) return ptx__error(p->module, v->line, "more than 512 KiB of local memory");
      f->local_bytes += (uint32_t)v->bytes;
    } else if (space == PTX_GLOBAL || space == PTX_CONST) {
      v->next = p->module->vars;
      p->module->vars = v;
    }
  } while (ptx__accept(p, ','));
  return ptx__expect(p, ';');
}

static int parse_loc(ptx_parser *p) {
  int64_t file, line, column;
  if (ptx__expect_int(p, &file) != 0 || ptx__expect_int(p, &line) != 0 || ptx__expect_int(p, &column) != 0) return -1;
  p->source_file = (int)file;
  p->source_line = (int)line;
  while (ptx__accept(p, ',')) { /* function_name label[+n], inlined_at file line column */
    if (p->token.kind != PTX_WORD) return ptx__fail(p, ".loc: a word is missing");
    const int inlined = ptx__is_word(p, "inlined_at");
    ptx__next(p);
    if (inlined) {
      if (ptx__expect_int(p, &file) != 0 || ptx__expect_int(p, &line) != 0 || ptx__expect_int(p, &column) != 0) return -1;
    } else {
      ptx__next(p);
      if (ptx__accept(p, '+') && ptx__expect_int(p, &column) != 0) return -1;
    }
  }
  return 0;
}

static ptx_label *add_label(ptx_parser *p, const char *name) {
  for (ptx_label *l = p->scope->labels; l; l = l->next)
    if (strcmp(l->name, name) == 0) return ptx__fail(p, "a label that this scope has already"), NULL;
  ptx_label *label = sim__arena_alloc(&p->module->arena, sizeof *label);
  *label = (ptx_label){.name = name, .statement = (int)p->function->n_statements, .next = p->scope->labels};
  p->scope->labels = label;
  return label;
}

/* name: .branchtargets a, b;   name: .calltargets f, g;   name: .callprototype (...) _ (...); */
static int parse_table(ptx_parser *p, ptx_label *label) {
  const int prototype = ptx__is_word(p, ".callprototype");
  const char *names[1024];
  int n = 0;
  ptx__next(p);
  while (!ptx__is(p, ';')) {
    if (p->token.kind == PTX_END) return ptx__fail(p, "a table without an end");
    if (!prototype && p->token.kind == PTX_WORD) {
      if (n == 1024) return ptx__fail(p, "a table of more than 1024 names");
      names[n++] = p->token.text;
    }
    ptx__next(p);
  }
  label->statement = -2; /* no place to jump to */
  label->targets = sim__arena_alloc(&p->module->arena, (size_t)(n + 1) * sizeof *names);
  memcpy(label->targets, names, (size_t)n * sizeof *names);
  label->n_targets = n;
  return ptx__expect(p, ';');
}

/* "ld.global.v4.f32" -> opcode "ld", modifiers "global", "v4", "f32". */
static int split_opcode(ptx_parser *p, ptx_statement *s, const char *text) {
  s->text = text;
  const char *from = text;
  for (int i = 0;; i++) {
    const char *dot = strchr(from, '.');
    const char *part = sim__arena_text(&p->module->arena, from, dot ? (size_t)(dot - from) : strlen(from));
    if (i == 0)
      s->opcode = part;
    else if (s->n_modifiers == PTX_MAX_MODIFIERS)
      return ptx__fail(p, "too many modifiers");
    else
      s->modifiers[s->n_modifiers++] = part;
    if (!dot) return 0;
    from = dot + 1;
  }
}

static int parse_instruction(ptx_parser *p) {
  ptx_statement s = {.line = p->token.line, .source_line = p->source_line, .source_file = p->source_file, .scope = p->scope};
  if (ptx__accept(p, '@')) {
    s.guard_negated = ptx__accept(p, '!');
    if (p->token.kind != PTX_WORD || !(s.guard = ptx__find_reg(p->scope, p->token.text)) || s.guard->type.base != PTX_PRED)
      return ptx__fail(p, "a guard must be a declared predicate");
    ptx__next(p);
  }
  s.line = p->token.line;
  if (p->token.kind != PTX_WORD || p->token.text[0] == '.') return ptx__fail(p, "an instruction is missing or not known");
  if (split_opcode(p, &s, p->token.text) != 0) return -1;
  ptx__next(p);
  while (!ptx__is(p, ';')) {
    if (s.n_operands == PTX_MAX_OPERANDS) return ptx__fail(p, "too many operands");
    if (ptx__parse_operand(p, &s.operands[s.n_operands++]) != 0) return -1;
    if (!ptx__accept(p, ',')) break;
  }
  if (ptx__expect(p, ';') != 0) return -1;
  ptx_function *f = p->function;
  f->statements = sim__grow(f->statements, f->n_statements, &f->room, sizeof *f->statements);
  f->statements[f->n_statements++] = s;
  return 0;
}

static int skip_to(ptx_parser *p, char end) {
  while (!ptx__is(p, end)) {
    if (p->token.kind == PTX_END || p->token.kind == PTX_BAD) return ptx__fail(p, "a directive without an end");
    ptx__next(p);
  }
  return ptx__expect(p, end);
}

static int parse_directive(ptx_parser *p) {
  const char *word = p->token.text;
  int external = 0;
  if (strcmp(word, ".extern") == 0) {
    external = 1;
    ptx__next(p);
    word = p->token.kind == PTX_WORD ? p->token.text : "";
  }
  ptx__next(p);
  if (strcmp(word, ".reg") == 0) return ptx__declare_regs(p);
  if (strcmp(word, ".local") == 0) return parse_declared(p, PTX_LOCAL, 0);
  if (strcmp(word, ".param") == 0) return parse_declared(p, PTX_PARAM, 0);
  if (strcmp(word, ".shared") == 0) return parse_declared(p, PTX_SHARED, external);
  if (strcmp(word, ".global") == 0) return parse_declared(p, PTX_GLOBAL, external);
  if (strcmp(word, ".const") == 0) return parse_declared(p, PTX_CONST, external);
  if (strcmp(word, ".pragma") == 0) return skip_to(p, ';');
  if (strcmp(word, ".loc") == 0) return parse_loc(p);
  return ptx__error(p->module, p->token.line, "the directive %s is not known here", word);
}

int ptx__parse_body(ptx_parser *p) {
  int depth = 1;
  while (depth > 0) {
    if (p->token.kind == PTX_END) return ptx__fail(p, "a function without a closing brace");
    if (p->token.kind == PTX_BAD) return ptx__fail(p, p->token.text);
    if (ptx__accept(p, '{')) {
      p->scope = ptx__scope_new(p, p->scope);
      depth++;
    } else if (ptx__accept(p, '}')) {
      p->scope = p->scope->outer;
      depth--;
    } else if (ptx__accept(p, ';')) {
      continue;
    } else if (p->token.kind == PTX_WORD && p->token.text[0] == '.') {
      if (parse_directive(p) != 0) return -1;
    } else if (p->token.kind == PTX_WORD && ptx__peek(p)->kind == PTX_PUNCT && ptx__peek(p)->punct == ':') {
      ptx_label *label = add_label(p, p->token.text);
      if (!label) return -1;
      ptx__next(p);
      ptx__next(p);
      if (ptx__is_word(p, ".branchtargets") || ptx__is_word(p, ".calltargets") || ptx__is_word(p, ".callprototype"))
        if (parse_table(p, label) != 0) return -1;
    } else if (parse_instruction(p) != 0) {
      return -1;
    }
  }
  return 0;
}
