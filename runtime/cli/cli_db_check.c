/* cli_db_check.c -- ragtune db check, rebuild: is it sound, and winners from trials. */
#include "cli_db.h"

rgt_status rgt__db_check(rgt__db_work *w, rgt__message *m) {
  rgt_status s = rgt_db_check(w->session.ctx);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = rgt__db_is_used(w, m)) != RGT_OK) return s;
  if (w->object)
    rgt__json_bool(w->object, "sound", 1);
  else
    printf("%s is sound\n", rgt_db_path(w->session.ctx));
  return RGT_OK;
}

rgt_status rgt__db_rebuild(rgt__db_work *w, rgt__message *m) {
  rgt_status s = rgt_db_rebuild(w->session.ctx);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = rgt__db_is_used(w, m)) != RGT_OK) return s;
  if (w->object)
    rgt__json_bool(w->object, "rebuilt", 1);
  else
    printf("the winners in %s were derived again from its trials\n", rgt_db_path(w->session.ctx));
  return RGT_OK;
}
