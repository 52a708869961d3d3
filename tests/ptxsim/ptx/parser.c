/* parser.c -- a module: its directives, variables and functions. */
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

void ptx__next(ptx_parser *p) {
  if (p->has_ahead) {
    p->token = p->ahead;
    p->has_ahead = 0;
  } else {
    p->token = ptx__lexer_next(&p->lexer);
  }
}

ptx_token *ptx__peek(ptx_parser *p) {
  if (!p->has_ahead) p->ahead = ptx__lexer_next(&p->lexer);
  p->has_ahead = 1;
  return &p->ahead;
}

int ptx__is(const ptx_parser *p, char punct) {
  return p->token.kind == PTX_PUNCT && p->token.punct == punct;
}
int ptx__is_word(const ptx_parser *p, const char *word) {
  return p->token.kind == PTX_WORD && strcmp(p->token.text, word) == 0;
}

int ptx__fail(ptx_parser *p, const char *why) {
  return ptx__error(p->module, p->token.line, "%s", p->token.kind == PTX_BAD ? p->token.text : why);
}

int ptx__accept(ptx_parser *p, char punct) {
  if (!ptx__is(p, punct)) return 0;
  ptx__next(p);
  return 1;
}

int ptx__expect(ptx_parser *p, char punct) {
  char why[] = "'x' is missing";
  why[1] = punct;
  return ptx__accept(p, punct) ? 0 : ptx__fail(p, why);
}

int ptx__expect_int(ptx_parser *p, int64_t *value) {
  *value = 0;
  const int minus = ptx__accept(p, '-');
  if (p->token.kind != PTX_INT) return ptx__fail(p, "a number is missing");
  *value = minus ? -(int64_t)p->token.value : (int64_t)p->token.value;
  ptx__next(p);
  return 0;
}

static int parse_version(ptx_parser *p) {
  if (p->token.kind != PTX_FLOAT && p->token.kind != PTX_INT) return ptx__fail(p, ".version needs a number such as 9.0");
  double v = (double)p->token.value;
  if (p->token.kind == PTX_FLOAT) memcpy(&v, &p->token.value, 8);
  p->module->version = (int)(v * 10 + 0.5);
  ptx__next(p);
  return 0;
}

static int parse_target(ptx_parser *p) {
  if (p->token.kind != PTX_WORD || strncmp(p->token.text, "sm_", 3) != 0) return ptx__fail(p, ".target needs sm_NN");
  char *end;
  p->module->target = (int)strtol(p->token.text + 3, &end, 10);
  p->module->suffix = *end;
  ptx__next(p);
  while (ptx__accept(p, ',')) ptx__next(p); /* debug, texmode_independent */
  return 0;
}

static int parse_file(ptx_parser *p) {
  int64_t index;
  if (ptx__expect_int(p, &index) != 0) return -1;
  if (p->token.kind != PTX_STRING) return ptx__fail(p, ".file needs a name");
  ptx_source_file *file = sim__arena_alloc(&p->module->arena, sizeof *file);
  *file = (ptx_source_file){.index = (int)index, .name = p->token.text, .next = p->module->files};
  p->module->files = file;
  ptx__next(p);
  while (ptx__accept(p, ',')) ptx__next(p);
  return 0;
}

static int parse_section(ptx_parser *p) {
  while (!ptx__is(p, '{'))
    if (p->token.kind == PTX_END)
      return ptx__fail(p, ".section without a body");
    else
      ptx__next(p);
  int depth = 0;
  do {
    if (ptx__is(p, '{')) depth++;
    if (ptx__is(p, '}')) depth--;
    if (p->token.kind == PTX_END) return ptx__fail(p, ".section without an end");
    ptx__next(p);
  } while (depth > 0);
  return 0;
}

static int parse_vars(ptx_parser *p, ptx_space space, int external) {
  ptx_module *m = p->module;
  do {
    ptx_var *v = ptx__parse_var(p, space, 0);
    if (!v) return -1;
    v->external |= external;
    if (external && space != PTX_SHARED)
      return ptx__error(m, v->line, "%s: a variable of another module cannot be linked here", v->name);
    if (ptx__declare_var(p, v) != 0) return -1;
    if (space != PTX_SHARED) {
      v->next = m->vars;
      m->vars = v;
    }
  } while (ptx__accept(p, ','));
  return ptx__expect(p, ';');
}

/* A list of parameters in brackets; the entry's lie in parameter space, a function's in its frame. */
static int parse_params(ptx_parser *p, ptx_var **list, int *count) {
  ptx_function *f = p->function;
  ptx_var **tail = list;
  if (ptx__expect(p, '(') != 0) return -1;
  while (!ptx__is(p, ')')) {
    const int reg = ptx__is_word(p, ".reg");
    if (!reg && !ptx__is_word(p, ".param")) return ptx__fail(p, ".param is missing");
    if (reg) return ptx__fail(p, "a parameter in a register is not known here");
    ptx__next(p);
    ptx_var *v = ptx__parse_var(p, PTX_PARAM, 1);
    if (!v || ptx__declare_var(p, v) != 0) return -1;
    v->of_kernel = f->is_entry;
    uint32_t *end = f->is_entry ? &f->param_bytes : &f->local_bytes;
    *end = (*end + v->align - 1) / v->align * v->align;
    v->offset = *end;
    if (v->bytes > 65536) return ptx__error(p->module, v->line, "a parameter of more than 64 KiB");
    *end += (uint32_t)v->bytes;
    *tail = v;
    tail = &v->next;
    (*count)++;
    if (!ptx__accept(p, ',')) break;
  }
  return ptx__expect(p, ')');
}

static int three(ptx_parser *p, int out[3]) {
  for (int i = 0; i < 3; i++) out[i] = 1;
  for (int i = 0; i < 3; i++) {
    int64_t n;
    if (ptx__expect_int(p, &n) != 0) return -1;
    if (n < 1 || n > 65536) return ptx__fail(p, "a number of threads outside 1 .. 65536");
    out[i] = (int)n;
    if (!ptx__accept(p, ',')) break;
  }
  return 0;
}

static int parse_tuning(ptx_parser *p) {
  ptx_function *f = p->function;
  while (p->token.kind == PTX_WORD && p->token.text[0] == '.') {
    const char *word = p->token.text;
    int64_t n;
    ptx__next(p);
    if (strcmp(word, ".maxntid") == 0) {
      if (three(p, f->maxntid) != 0) return -1;
    } else if (strcmp(word, ".reqntid") == 0) {
      if (three(p, f->reqntid) != 0) return -1;
    } else if (strcmp(word, ".minnctapersm") == 0 || strcmp(word, ".maxnreg") == 0) {
      if (ptx__expect_int(p, &n) != 0) return -1;
      if (word[2] == 'i')
        f->minnctapersm = (int)n;
      else
        f->maxnreg = (int)n;
    } else if (strcmp(word, ".noreturn") == 0 || strcmp(word, ".explicitcluster") == 0) {
      continue;
    } else if (strcmp(word, ".reqnctapercluster") == 0 || strcmp(word, ".maxclusterrank") == 0) {
      return ptx__error(p->module, p->token.line, "clusters are not known here (%s)", word);
    } else if (strcmp(word, ".pragma") == 0) {
      while (p->token.kind == PTX_STRING || ptx__is(p, ',')) ptx__next(p);
      ptx__accept(p, ';');
    } else {
      return ptx__error(p->module, p->token.line, "the directive %s is not known on a function", word);
    }
  }
  return 0;
}

static int parse_function(ptx_parser *p, int is_entry) {
  ptx_module *m = p->module;
  ptx_function *f = sim__arena_alloc(&m->arena, sizeof *f);
  f->is_entry = is_entry;
  f->line = p->token.line;
  f->dynamic_align = 1;
  p->function = f;
  p->source_line = p->source_file = 0;
  p->scope = f->scope = ptx__scope_new(p, m->scope);
  if (m->last_function)
    m->last_function->next = f;
  else
    m->functions = f;
  m->last_function = f;
  if (!is_entry && ptx__is(p, '(') && parse_params(p, &f->results, &f->n_results) != 0) return -1;
  if (p->token.kind != PTX_WORD) return ptx__fail(p, "a function's name is missing");
  f->name = p->token.text;
  ptx__next(p);
  if (ptx__is(p, '(') && parse_params(p, &f->params, &f->n_params) != 0) return -1;
  if (parse_tuning(p) != 0) return -1;
  if (ptx__accept(p, ';')) {
    f->has_body = 0;
  } else {
    const ptx_function *old = ptx__find_function(m, f->name);
    if (old && old != f && old->has_body) return ptx__error(m, f->line, "%s is defined twice", f->name);
    if (ptx__expect(p, '{') != 0) return -1;
    f->has_body = 1;
    if (ptx__parse_body(p) != 0) return -1;
  }
  p->scope = m->scope;
  p->function = NULL;
  return 0;
}

static int parse_top(ptx_parser *p) {
  int external = 0;
  if (p->token.kind != PTX_WORD) return ptx__fail(p, "a directive is missing");
  while (ptx__is_word(p, ".visible") || ptx__is_word(p, ".weak") || ptx__is_word(p, ".extern") || ptx__is_word(p, ".common")) {
    external |= ptx__is_word(p, ".extern");
    ptx__next(p);
  }
  const char *word = p->token.kind == PTX_WORD ? p->token.text : "";
  const int line = p->token.line;
  int64_t n;
  ptx__next(p);
  if (strcmp(word, ".version") == 0) return parse_version(p);
  if (strcmp(word, ".target") == 0) return parse_target(p);
  if (strcmp(word, ".address_size") == 0) {
    if (ptx__expect_int(p, &n) != 0) return -1;
    return n == 64 ? 0 : ptx__error(p->module, line, "addresses of 64 bits only");
  }
  if (strcmp(word, ".file") == 0) return parse_file(p);
  if (strcmp(word, ".section") == 0) return parse_section(p);
  if (strcmp(word, ".pragma") == 0) {
    while (p->token.kind == PTX_STRING || ptx__is(p, ',')) ptx__next(p);
    return ptx__expect(p, ';');
  }
  if (strcmp(word, ".entry") == 0) return parse_function(p, 1);
  if (strcmp(word, ".func") == 0) return parse_function(p, 0);
  if (strcmp(word, ".global") == 0) return parse_vars(p, PTX_GLOBAL, external);
  if (strcmp(word, ".const") == 0) return parse_vars(p, PTX_CONST, external);
  if (strcmp(word, ".shared") == 0) return parse_vars(p, PTX_SHARED, external);
  return ptx__error(p->module, line, "the directive %s is not known", *word ? word : "(none)");
}

int ptx__parse(ptx_module *module) {
  ptx_parser p = {.module = module};
  ptx__lexer_start(&p.lexer, &module->arena, module->text, module->text_bytes);
  p.scope = module->scope = ptx__scope_new(&p, NULL);
  ptx__next(&p);
  while (p.token.kind != PTX_END)
    if (parse_top(&p) != 0) return -1;
  if (module->version == 0 || module->target == 0) return ptx__error(module, 1, ".version or .target is missing");
  return 0;
}
