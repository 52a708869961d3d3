/* json_out.h -- small steps towards one JSON object on stdout. */
#ifndef RGT_CLI_JSON_OUT_H
#define RGT_CLI_JSON_OUT_H

#include "message.h"

#include <jansson.h>

void rgt__json_text(json_t *object, const char *key, const char *value); /* NULL and what is no UTF-8: null */
void rgt__json_int(json_t *object, const char *key, int64_t value);
void rgt__json_real(json_t *object, const char *key, double value); /* not finite: null */
void rgt__json_bool(json_t *object, const char *key, int value);
/* rgt__json_array -- a new array under key, borrowed. */
json_t *rgt__json_array(json_t *object, const char *key);
/* rgt__json_child -- a new object under key, borrowed. */
json_t *rgt__json_child(json_t *object, const char *key);
/* rgt__json_append -- value, which is taken over, to the end of array. */
void rgt__json_append(json_t *array, json_t *value);
/* rgt__json_object -- {"verb": verb, "version": ...}, owned. */
json_t *rgt__json_object(const char *verb);
/* rgt__json_print -- prints and frees it. RGT_ENOMEM where it could not be made. */
rgt_status rgt__json_print(json_t *object, rgt__message *m);

#endif
