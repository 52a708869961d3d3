/* clean.c -- texts that anybody may read: no control characters, nothing but UTF-8, and in free texts no paths. */
#include "tunedb/clean.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the UTF-8 character at p, and the character; 0 if there is none. */
static size_t character(const unsigned char *p, uint32_t *out) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
  if (n == 0) return 0;
  uint32_t c = n == 1 ? p[0] : p[0] & (0x7FU >> n);
  for (size_t i = 1; i < n; i++) {
    if (p[i] >> 6 != 2) return 0; /* the final NUL too */
    c = c << 6 | (p[i] & 0x3F);
  }
  if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0;
  *out = c;
  return n;
}

/* C0, DEL, C1; separators of lines and paragraphs; marks, embeddings, overrides and isolates of direction; the byte order mark.
 */
static int steers(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

int rgt__clean_is(const char *text) {
  uint32_t c;
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    size_t n = character(p, &c);
    if (n == 0 || steers(c)) return 0;
    p += n;
  }
  return 1;
}

/* Where a word ends: paths with blanks in them cannot be told from words. */
static size_t word_length(const char *p) {
  return strcspn(p, " \"'`(),;=<>[]{}|");
}

static int alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* The length of what goes from the front of a word: a slash that nothing alphanumeric precedes (but an option's letter), up to
 * the last slash. */
static size_t path_part(const char *word, size_t length, size_t *from) {
  for (size_t i = 0; i < length; i++) {
    int in_option = i == 2 && word[0] == '-'; /* -I/usr/include */
    if (word[i] != '/' || (i > 0 && alphanumeric(word[i - 1]) && !in_option)) continue;
    size_t last = length;
    while (word[last - 1] != '/') last--;
    *from = i;
    return last - i;
  }
  return 0;
}

static size_t without_controls(const char *text, char *room, size_t size) {
  size_t n = 0;
  uint32_t c;
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    size_t bytes = character(p, &c);
    if (n + (bytes ? bytes : 1) >= size) break;
    if (bytes == 0 || steers(c))
      room[n++] = ' ';
    else
      for (size_t i = 0; i < bytes; i++) room[n++] = (char)p[i];
    p += bytes ? bytes : 1;
  }
  room[n] = 0;
  return n;
}

static void without_paths(char *text) {
  char *to = text;
  for (const char *from = text; *from;) {
    size_t length = word_length(from), at = 0, cut = path_part(from, length, &at);
    if (cut == 0) at = length;
    memmove(to, from, at);
    to += at;
    memmove(to, from + at + cut, length - at - cut);
    to += length - at - cut;
    from += length;
    if (*from) *to++ = *from++;
  }
  *to = 0;
}

static int has_path(const char *text) {
  size_t at;
  for (const char *p = text; *p;) {
    size_t length = word_length(p);
    if (path_part(p, length, &at)) return 1;
    p += length + (p[length] != 0);
  }
  return 0;
}

const char *rgt__clean_text(const char *text, char *room, size_t size) {
  if (strnlen(text, size) < size && rgt__clean_is(text) && !has_path(text)) return text;
  without_controls(text, room, size);
  without_paths(room);
  return room;
}
