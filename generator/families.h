/* families.h -- what the files about families share among themselves: the Lua state, each family's files, the facts in Lua. */
#ifndef RGT_GENERATOR_FAMILIES_H
#define RGT_GENERATOR_FAMILIES_H

#include "generator/lua_host.h"
#include "generator/lua_table.h"
#include "generator/spec.h"

#define RGT_TEMPLATE_ROOT "templates/" /* before a source's name in messages and #line */
#define RGT_SHOWN_NAME_MAX 128
#define RGT_SHARED_DEPTH_MAX 8

typedef struct rgt__family_entry {
  rgt__family family; /* first: a rgt__family that came from rgt__families_at is one of these */
  const rgt__source_file *spec, *body;
  const rgt__source_file **files; /* every file that the family may use, spec and body first; owned */
  int n_files;
} rgt__family_entry;

typedef struct rgt__family_fault {
  char device[8], name[RGT_NAME_MAX];
  char text[700];
} rgt__family_fault;

struct rgt__families {
  const rgt__sources *sources;
  rgt__lua *lua;
  int n;
  rgt__family_entry *entries;
  rgt__family_fault *faults; /* one for each source at most */
  int n_faults;
  const rgt__family_entry *current;                      /* whose Lua runs: shared and include look among its files */
  const rgt__source_file *running[RGT_SHARED_DEPTH_MAX]; /* shared files that are being run, one inside the other */
  int n_running;
};

static inline const rgt__family_entry *rgt__families_entry(const rgt__family *family) {
  return (const rgt__family_entry *)family;
}

/* rgt__families_protect -- rgt__lua_protect for work on one family. */
rgt_status rgt__families_protect(rgt__families *f, const rgt__family *family, rgt__lua_fn fn, void *user, rgt__error *err);

/* rgt__family_files_find -- fills e->files (spec and body set) with what they name in include("...") and shared "...", directly
 * or through others, and family.template_digest. RGT_ENOMEM. */
rgt_status rgt__family_files_find(const rgt__sources *sources, rgt__family_entry *e, rgt__error *err);
/* rgt__family_files_get -- the file if the family may use it; NULL and a reason without it. */
const rgt__source_file *rgt__family_files_get(const rgt__families *f, const char *name, const char **reason);
/* rgt__family_files_shared -- the answer to `shared "name"`; a lua_CFunction, its user data is the rgt__families. */
int rgt__family_files_shared(lua_State *L);

/* The rest may raise Lua errors: inside rgt__lua_protect only. */

/* rgt__spec_read -- the table on top of the stack into e->family; the table is kept as family.lua_ref. */
rgt_status rgt__spec_read(lua_State *L, rgt__family_entry *e, rgt__error *err);
/* rgt__spec_push -- a field of the spec; a function is called with op (order: its word, or NULL where it is not known), p (v)
 * and device (target), those that are given, and its result pushed. Returns the type of what was pushed. Views are thawed. */
int rgt__spec_push(lua_State *L, const rgt__family *family, const char *field, const rgt_op_desc *op, const char *order,
                   const rgt__variant *v, const rgt__target *target);
void rgt__spec_reader(lua_State *L, const rgt__family *family, char shown[RGT_SHOWN_NAME_MAX], rgt__table_reader *r,
                      rgt__error *err);
/* rgt__spec_formula -- the formula text or whole number on top of the stack (popped); nil gives `absent`. */
rgt_status rgt__spec_formula(const rgt__table_reader *r, const char *label, const char *absent, const rgt__constant *constants,
                             int n_constants, rgt__formula *out);

#define RGT_CONSTANTS_MAX (RGT_PARAMS_MAX + RGT_FACTS_MAX + 4)
/* rgt__facts_constants -- what formulas may name: n_in n_hidden n_out elem_bytes, params (v), device facts (target). Returns
 * how many; names are borrowed. */
int rgt__facts_constants(const rgt_op_desc *op, const rgt__variant *v, const rgt__target *target,
                         rgt__constant out[RGT_CONSTANTS_MAX]);
/* op; without groups, which never reach source; without order, its word, where that is NULL */
void rgt__facts_push_op(lua_State *L, const rgt_op_desc *op, const char *order);
/* rgt__facts_push_environment -- for templates: the names that formulas have are names there too. */
void rgt__facts_push_environment(lua_State *L, const rgt_op_desc *op, const rgt__variant *v, const rgt__target *target);
void rgt__facts_push_params(lua_State *L, const rgt__variant *v);     /* p */
void rgt__facts_push_device(lua_State *L, const rgt__target *target); /* device */
/* rgt__facts_taken -- is the word one that formulas or the prelude give a meaning, so that no param may have it? */
int rgt__facts_taken(const char *word);

#endif
