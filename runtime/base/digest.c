/* digest.c -- SHA-256 over length-prefixed fields, so that ("ab", "c") and ("a", "bc") differ. */
#include "runtime/base/digest.h"

#include <string.h>

void rgt__hash_init(rgt__hash *h) {
  SHA256Init(&h->sha);
}

static void little_endian(uint64_t v, uint8_t out[8]) {
  for (int i = 0; i < 8; i++) out[i] = (uint8_t)(v >> (8 * i));
}

void rgt__hash_bytes(rgt__hash *h, const void *p, size_t n) {
  uint8_t length[8];
  little_endian(n, length);
  SHA256Update(&h->sha, length, sizeof length);
  if (n) SHA256Update(&h->sha, p, n);
}

void rgt__hash_text(rgt__hash *h, const char *text) {
  rgt__hash_bytes(h, text, strlen(text));
}

void rgt__hash_int(rgt__hash *h, int64_t v) {
  uint8_t bytes[8];
  little_endian((uint64_t)v, bytes);
  rgt__hash_bytes(h, bytes, sizeof bytes);
}

void rgt__hash_end(rgt__hash *h, rgt__digest *out) {
  SHA256Final(out->bytes, &h->sha);
}

void rgt__digest_of(const void *p, size_t n, rgt__digest *out) {
  SHA2_CTX sha;
  SHA256Init(&sha);
  if (n) SHA256Update(&sha, p, n);
  SHA256Final(out->bytes, &sha);
}

void rgt__digest_hex(const rgt__digest *d, char hex[RGT_DIGEST_HEX_MAX]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < sizeof d->bytes; i++) {
    hex[2 * i] = digits[d->bytes[i] >> 4];
    hex[2 * i + 1] = digits[d->bytes[i] & 15];
  }
  hex[2 * sizeof d->bytes] = 0;
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int rgt__digest_parse(const char *hex, rgt__digest *out) {
  rgt__digest d;
  for (size_t i = 0; i < sizeof d.bytes; i++) {
    int high = hex_value(hex[2 * i]);
    int low = high < 0 ? -1 : hex_value(hex[2 * i + 1]);
    if (low < 0) return 0;
    d.bytes[i] = (uint8_t)(high << 4 | low);
  }
  if (hex[2 * sizeof d.bytes]) return 0;
  *out = d;
  return 1;
}

int rgt__digest_equal(const rgt__digest *a, const rgt__digest *b) {
  return !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}
