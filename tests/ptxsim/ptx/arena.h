/* arena.h -- memory that lives as long as a module, and growing arrays. Without host memory the process ends with a message. */
#ifndef PTXSIM_ARENA_H
#define PTXSIM_ARENA_H

#include <stddef.h>

typedef struct sim_arena {
  struct sim_arena_chunk *chunks;
} sim_arena;

void *sim__arena_alloc(sim_arena *arena, size_t bytes); /* zeroed, 16-byte aligned */
char *sim__arena_text(sim_arena *arena, const char *text, size_t length);
void sim__arena_clear(sim_arena *arena);

void *sim__alloc(size_t bytes);             /* zeroed, 64-byte aligned; for free() */
void *sim__resize(void *old, size_t bytes); /* realloc that does not fail */
/* Room for one more element in an array of *room elements: the array, moved if need be. */
void *sim__grow(void *array, size_t n, size_t *room, size_t element_bytes);

#endif
