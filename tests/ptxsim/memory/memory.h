/* memory.h -- what the executing half sees of a context's memory: host bytes and shadows behind each range. */
#ifndef PTXSIM_MEMORY_H
#define PTXSIM_MEMORY_H

#include "sim.h"

/* Who touched a granule of 1 to 16 bytes, the narrowest access, in this launch; 0: nobody. time << 32 | stamp << 24 | block. */
typedef struct sim_touch {
  uint64_t writer, reader;
} sim_touch;

enum { SIM_TOUCH_BLOCK = 0xFFFFFF, SIM_TOUCH_MANY = 0xFFFFFF };

typedef struct sim_range {
  sim_allocation a;
  unsigned char *data;      /* host bytes */
  unsigned char *undefined; /* one for each byte: 0xFF undefined, 0 defined; NULL: all are defined */
  int mapped;               /* data belongs to the caller */
  sim_touch *touch;         /* one for each granule; NULL until a launch looks at conflicts */
  int touch_shift;          /* log2 of the granule */
  uint64_t touch_serial;    /* of the launch for which the oldest stamps in it hold */
  unsigned char *sectors;   /* a bit for each 32 bytes: touched in the launch `sectors_serial` */
  uint64_t sectors_serial;
} sim_range;

struct sim_memory {
  sim_range **ranges; /* by base address; freed ones stay */
  size_t n, room;
  uint64_t next, limit, used;
  uint64_t launches; /* how many began */
};

/* The range that holds the address, live or freed, or NULL. */
sim_range *sim__memory_range(const sim_memory *memory, uint64_t address);
/* The touches of a range, ready for the launch `serial` and accesses of `bytes`. */
void sim__range_touches(sim_range *range, uint64_t serial, unsigned bytes);
void sim__range_sectors(sim_range *range, uint64_t serial);

#endif
