/* lua_table.h -- reading a table that somebody wrote in Lua: known fields, types, ranges, and errors that name file, line and
 * field. */
#ifndef RGT_GENERATOR_LUA_TABLE_H
#define RGT_GENERATOR_LUA_TABLE_H

#include <lua.h>

#include "runtime/base/error.h"

typedef struct rgt__table_reader {
  lua_State *L;
  const char *file; /* as messages name it */
  const char *text; /* of the file: where fields are looked for, so that messages can name a line */
  rgt__error *err;
} rgt__table_reader;

/* All may raise Lua errors: inside rgt__lua_protect only. `label` names the table in messages: "params: threads".
 *
 * rgt__table_fail -- RGT_ETEMPLATE "file:line: what", the line being where `word` stands in the text. */
rgt_status rgt__table_fail(const rgt__table_reader *r, const char *word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* rgt__table_line -- first line where word is assigned to, else where it stands at all, else 1. */
int rgt__table_line(const char *text, const char *word);

/* rgt__table_known -- every text key is in `known` (NULL-ended), and positions are 1 .. n_positions. */
rgt_status rgt__table_known(const rgt__table_reader *r, int index, const char *label, const char *const *known,
                            int n_positions);
/* rgt__table_keys -- pushes a new list of the table's text keys, sorted; another kind of key is an error. */
rgt_status rgt__table_keys(const rgt__table_reader *r, int index, const char *label);
/* rgt__table_push -- pushes the field's value (views thawed), nil if absent. Returns its type. */
int rgt__table_push(const rgt__table_reader *r, int index, const char *field);
int rgt__table_push_at(const rgt__table_reader *r, int index, int64_t position);

/* Fields: absent with `required` 0 leaves *out as it is. Texts are borrowed from the table. */
rgt_status rgt__table_text(const rgt__table_reader *r, int index, const char *label, const char *field, int required,
                           const char **out);
rgt_status rgt__table_int(const rgt__table_reader *r, int index, const char *label, const char *field, int required,
                          int64_t least, int64_t most, int64_t *out);
rgt_status rgt__table_number(const rgt__table_reader *r, int index, const char *label, const char *field, int required,
                             double least, double most, double *out);
rgt_status rgt__table_flag(const rgt__table_reader *r, int index, const char *label, const char *field, int *out);
/* rgt__table_is_name -- a lower-case letter, then lower-case letters, digits and '_', shorter than `most`. */
int rgt__table_is_name(const char *text, size_t most);

#endif
