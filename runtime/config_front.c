/* config_front.c -- the front door of config files: what to tune, for ragtune.h. */
#include <string.h>

#include "generator/config.h"
#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/context.h"

enum { CONFIG_FILE_MAX = 1 << 20 };

struct rgt_config {
  rgt__config read;
};

/* line_of -- of the first place of a word in the text; a comment that holds it too costs a less exact line only. */
static int line_of(const char *text, const char *word) {
  const char *found = strstr(text, word);
  int line = 1;
  for (const char *p = text; found && p < found; p++) line += *p == '\n';
  return line;
}

/* "auto", "cpu", "cuda", "cuda:N" with N below 1024, as rgt_open takes them */
static int is_device(const char *word) {
  if (strcmp(word, "auto") == 0 || strcmp(word, "cpu") == 0 || strcmp(word, "cuda") == 0) return 1;
  if (strncmp(word, "cuda:", 5) != 0) return 0;
  size_t digits = strspn(word + 5, "0123456789");
  if (digits == 0 || digits > 4 || word[5 + digits]) return 0;
  int n = 0;
  for (const char *p = word + 5; *p; p++) n = 10 * n + (*p - '0');
  return n < 1024;
}

/* The reader knows texts that end in NUL: a file that holds one would be cut there in silence. */
static rgt_status read_text(const char *text, size_t size, const char *path, rgt__config *out, rgt__error *err) {
  size_t length = strlen(text);
  if (length < size) {
    int line = 1;
    for (size_t i = 0; i < length; i++) line += text[i] == '\n';
    return rgt__error_set(err, RGT_ETEMPLATE, "%s:%d: a byte that is 0; a config file is text", path, line);
  }
  rgt_status status = rgt__config_read(text, path, out, err);
  if (status == RGT_OK && !is_device(out->device)) {
    status = rgt__error_set(err, RGT_ETEMPLATE, "%s:%d: config: device is \"%s\"; it can be auto, cpu, cuda or cuda:N", path,
                            line_of(text, "device"), out->device);
    rgt__config_free(out);
  }
  return status;
}

rgt_status rgt_config_open(rgt_ctx *ctx, const char *path, rgt_config **out) {
  rgt__buffer text = {0};
  if (!path || !out) return rgt__error_null(&ctx->error, path ? "config" : "path");
  rgt_config *config = rgt__alloc_zero(1, sizeof *config);
  if (!config) return rgt__error_nomem(&ctx->error, sizeof *config);
  rgt_status status = rgt__file_read(path, CONFIG_FILE_MAX, &text, &ctx->error);
  if (status == RGT_OK) status = read_text(text.data ? text.data : "", text.size, path, &config->read, &ctx->error);
  rgt__buffer_free(&text);
  if (status != RGT_OK) {
    rgt__free(config);
    return status;
  }
  *out = config;
  return RGT_OK;
}

void rgt_config_free(rgt_config *config) {
  if (!config) return;
  rgt__config_free(&config->read);
  rgt__free(config);
}

int rgt_config_count(const rgt_config *config) {
  return config->read.n_ops;
}

rgt_status rgt_config_op(const rgt_config *config, int i, rgt_op_desc *desc) {
  if (i < 0 || i >= config->read.n_ops) return RGT_EINVAL;
  *desc = config->read.ops[i];
  return RGT_OK;
}

const int64_t *rgt_config_rows(const rgt_config *config, int *n) {
  *n = config->read.n_rows;
  return config->read.rows;
}

const rgt_skew *rgt_config_skews(const rgt_config *config, int *n) {
  *n = config->read.n_skews;
  return config->read.skews;
}

const char *rgt_config_device(const rgt_config *config) {
  return config->read.device;
}

double rgt_config_budget_s(const rgt_config *config) {
  return config->read.budget_s;
}
