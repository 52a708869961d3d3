/* clean.h -- texts that anybody may read: no control characters, nothing but UTF-8, and in free texts no paths. */
#ifndef RGT_TUNEDB_CLEAN_H
#define RGT_TUNEDB_CLEAN_H

#include <stddef.h>

/* rgt__clean_is -- 1 if text is UTF-8 without characters that steer a terminal or turn the direction of writing. */
int rgt__clean_is(const char *text);
/* rgt__clean_text -- a free text (a compiler's words) as it may be stored and passed on: what rgt__clean_is refuses becomes a
 * blank, "/a/path/to/x.c" becomes "x.c", and the rest is cut to size - 1 bytes between two characters. Cleaning twice is
 * cleaning once. Returns text itself where nothing is to be done, else room. */
const char *rgt__clean_text(const char *text, char *room, size_t size);

#endif
