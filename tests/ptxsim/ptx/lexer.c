/* lexer.c -- PTX text as tokens. */
#include "ptx/lexer.h"

#include <stdlib.h>
#include <string.h>

void ptx__lexer_start(ptx_lexer *lexer, sim_arena *arena, const char *text, size_t bytes) {
  *lexer = (ptx_lexer){.at = text, .end = text + bytes, .line = 1, .arena = arena};
}

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}
static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Blanks and both kinds of comment. -1: a comment without an end. */
static int skip_blanks(ptx_lexer *x) {
  while (x->at < x->end) {
    const size_t left = (size_t)(x->end - x->at);
    if (*x->at == '\n') {
      x->line++;
      x->at++;
    } else if (*x->at == ' ' || *x->at == '\t' || *x->at == '\r' || *x->at == '\f') {
      x->at++;
    } else if (left >= 2 && x->at[0] == '/' && x->at[1] == '/') {
      while (x->at < x->end && *x->at != '\n') x->at++;
    } else if (left >= 2 && x->at[0] == '/' && x->at[1] == '*') {
      const int began = x->line;
      for (x->at += 2;; x->at++) {
        if (x->at + 1 >= x->end) {
          x->at = x->end;
          x->line = began;
          return -1;
        }
        if (*x->at == '\n') x->line++;
        if (x->at[0] == '*' && x->at[1] == '/') break;
      }
      x->at += 2;
    } else {
      break;
    }
  }
  return 0;
}

static ptx_token bad(const ptx_lexer *x, const char *why) {
  return (ptx_token){.kind = PTX_BAD, .line = x->line, .text = why};
}

/* 0f and 0d with exactly 8 or 16 hex digits: the bits themselves. */
static int take_bits(ptx_lexer *x, ptx_token *t) {
  if (x->end - x->at < 2 || x->at[0] != '0') return 0;
  const char c = x->at[1];
  const int digits = c == 'f' || c == 'F' ? 8 : c == 'd' || c == 'D' ? 16 : 0;
  if (!digits || x->end - x->at < 2 + digits) return 0;
  uint64_t value = 0;
  for (int i = 0; i < digits; i++) {
    const int h = hex_digit(x->at[2 + i]);
    if (h < 0) return 0;
    value = value << 4 | (uint64_t)h;
  }
  x->at += 2 + digits;
  *t = (ptx_token){.kind = PTX_FLOAT, .line = x->line, .float_bits = digits * 4, .value = value};
  return 1;
}

static ptx_token take_decimal_float(ptx_lexer *x, const char *from) {
  char text[64];
  size_t n = 0;
  const char *p = from;
  while (p < x->end && n + 1 < sizeof text && (is_digit(*p) || *p == '.')) text[n++] = *p++;
  if (p < x->end && (*p == 'e' || *p == 'E') && n + 1 < sizeof text) {
    text[n++] = *p++;
    if (p < x->end && (*p == '+' || *p == '-') && n + 1 < sizeof text) text[n++] = *p++;
    while (p < x->end && n + 1 < sizeof text && is_digit(*p)) text[n++] = *p++;
  }
  text[n] = 0;
  x->at = p;
  const double value = strtod(text, NULL);
  ptx_token t = {.kind = PTX_FLOAT, .line = x->line, .float_bits = 64};
  memcpy(&t.value, &value, 8);
  return t;
}

static ptx_token take_number(ptx_lexer *x) {
  ptx_token t;
  if (take_bits(x, &t)) return t;
  const char *from = x->at;
  int base = 10;
  if (x->end - x->at > 1 && *x->at == '0') {
    const char c = x->at[1];
    base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
    x->at += base == 8 ? 0 : 2;
  }
  uint64_t value = 0;
  int any = 0;
  for (; x->at < x->end; x->at++, any = 1) {
    const int h = hex_digit(*x->at);
    if (h < 0 || h >= (base == 8 ? 10 : base)) break;
    if (base == 8 && h >= 8) break;
    value = value * (uint64_t)base + (uint64_t)h;
  }
  if (x->at < x->end && base != 16 && (*x->at == '.' || *x->at == 'e' || *x->at == 'E') &&
      (*x->at != '.' || x->at + 1 == x->end || !is_letter(x->at[1])))
    return take_decimal_float(x, from);
  if (!any) return bad(x, "a number without digits");
  if (x->at < x->end && *x->at == 'U') x->at++;
  if (x->at < x->end && (is_letter(*x->at) || is_digit(*x->at))) return bad(x, "a number that runs into letters");
  return (ptx_token){.kind = PTX_INT, .line = x->line, .value = value};
}

/* Words begin with a letter or a dot before a letter. "::" joins parts, as in .shared::cta; ".reg.b16" is two directives. */
static ptx_token take_word(ptx_lexer *x) {
  const char *from = x->at;
  while (x->at < x->end) {
    const char c = *x->at;
    if (c == '.' && *from == '.' && x->at > from) break;
    if (c == ':' && x->at + 2 < x->end && x->at[1] == ':' && (is_letter(x->at[2]) || is_digit(x->at[2])))
      x->at += 2;
    else if (is_letter(c) || is_digit(c) || c == '.')
      x->at++;
    else
      break;
  }
  return (ptx_token){.kind = PTX_WORD, .line = x->line, .text = sim__arena_text(x->arena, from, (size_t)(x->at - from))};
}

static ptx_token take_string(ptx_lexer *x) {
  const char *from = ++x->at;
  while (x->at < x->end && *x->at != '"' && *x->at != '\n') x->at += *x->at == '\\' && x->at + 1 < x->end ? 2 : 1;
  if (x->at >= x->end || *x->at != '"') return bad(x, "a text without a closing quote");
  ptx_token t = {.kind = PTX_STRING, .line = x->line, .text = sim__arena_text(x->arena, from, (size_t)(x->at - from))};
  x->at++;
  return t;
}

ptx_token ptx__lexer_next(ptx_lexer *x) {
  if (skip_blanks(x) != 0) return bad(x, "a comment without an end");
  if (x->at >= x->end || *x->at == 0) return (ptx_token){.kind = PTX_END, .line = x->line};
  const char c = *x->at;
  if (is_digit(c)) return take_number(x);
  if (is_letter(c) || (c == '.' && x->at + 1 < x->end && is_letter(x->at[1]))) return take_word(x);
  if (c == '"') return take_string(x);
  if (!strchr("{}()[],;:|!@+-=<>*&", c)) return bad(x, "a character that PTX does not have");
  x->at++;
  return (ptx_token){.kind = PTX_PUNCT, .line = x->line, .punct = c};
}
