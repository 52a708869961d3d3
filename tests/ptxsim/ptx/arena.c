/* arena.c -- memory that lives as long as a module. */
#include "ptx/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };

typedef struct sim_arena_chunk {
  struct sim_arena_chunk *next;
  size_t used, bytes;
  _Alignas(16) char data[];
} sim_arena_chunk;

static void *not_null(void *p) {
  if (p) return p;
  fprintf(stderr, "ptxsim: out of host memory\n");
  abort();
}

void *sim__arena_alloc(sim_arena *arena, size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  sim_arena_chunk *chunk = arena->chunks;
  if (!chunk || chunk->bytes - chunk->used < bytes) {
    const size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    chunk = not_null(calloc(1, sizeof *chunk + room));
    chunk->bytes = room;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
  }
  void *p = chunk->data + chunk->used;
  chunk->used += bytes;
  return p;
}

char *sim__arena_text(sim_arena *arena, const char *text, size_t length) {
  char *copy = sim__arena_alloc(arena, length + 1);
  memcpy(copy, text, length);
  return copy;
}

void sim__arena_clear(sim_arena *arena) {
  while (arena->chunks) {
    sim_arena_chunk *next = arena->chunks->next;
    free(arena->chunks);
    arena->chunks = next;
  }
}

void *sim__alloc(size_t bytes) {
  const size_t room = (bytes + 127) / 64 * 64;
  return memset(not_null(aligned_alloc(64, room)), 0, room);
}

void *sim__resize(void *old, size_t bytes) {
  return not_null(realloc(old, bytes ? bytes : 1));
}

void *sim__grow(void *array, size_t n, size_t *room, size_t element_bytes) {
  if (n < *room) return array;
  *room = *room ? 2 * *room : 16;
  return sim__resize(array, *room * element_bytes);
}
