/* digest.h -- SHA-256 (libmd) over length-prefixed fields: every key of the project. */
#ifndef RGT_BASE_DIGEST_H
#define RGT_BASE_DIGEST_H

#include <sha2.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rgt__digest {
  uint8_t bytes[32];
} rgt__digest;

#define RGT_DIGEST_HEX_MAX 65

typedef struct rgt__hash {
  SHA2_CTX sha;
} rgt__hash;

void rgt__hash_init(rgt__hash *h);
void rgt__hash_bytes(rgt__hash *h, const void *p, size_t n); /* one field: 8 bytes of length, little endian, then the bytes */
void rgt__hash_text(rgt__hash *h, const char *text);         /* rgt__hash_bytes of its characters */
void rgt__hash_int(rgt__hash *h, int64_t v);                 /* rgt__hash_bytes of 8 little-endian bytes */
void rgt__hash_end(rgt__hash *h, rgt__digest *out);
void rgt__digest_of(const void *p, size_t n, rgt__digest *out); /* plain SHA-256 of the bytes, no prefix */
void rgt__digest_hex(const rgt__digest *d, char hex[RGT_DIGEST_HEX_MAX]);
int rgt__digest_parse(const char *hex, rgt__digest *out); /* 1 if 64 hex digits */
int rgt__digest_equal(const rgt__digest *a, const rgt__digest *b);

#endif
