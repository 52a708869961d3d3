/* status.c -- the statuses' names and texts, from the one list in ragtune.h. */
#include "runtime/ragtune.h"

static const char *const names[] = {
#define NAME(name, text) #name,
    RGT_STATUS_LIST(NAME)
#undef NAME
};

static const char *const texts[] = {
#define TEXT(name, text) text,
    RGT_STATUS_LIST(TEXT)
#undef TEXT
};

/* A value from a newer library, or none of ours: still a text, since callers print it without asking. */
static int known(rgt_status status) {
  return (unsigned)status < RGT_N_STATUSES;
}

const char *rgt_status_name(rgt_status status) {
  return known(status) ? names[status] : "RGT_?";
}

const char *rgt_status_text(rgt_status status) {
  return known(status) ? texts[status] : "a status that this version does not know";
}
