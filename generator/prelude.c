/* prelude.c -- the comment and the constants above a rendered template. */
#include "generator/prelude.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/number.h"
#include "templates/lib/kargs.h"

/* op_text -- the op's text form without its groups, which never reach source: "mlp:10-20-5:f32:relu:b12:nk:i64". */
static rgt_status op_text(const rgt_op_desc *op, char text[RGT_OP_TEXT_MAX], rgt__error *err) {
  rgt_op_desc any = *op;
  any.groups = 1;
  rgt_status status = rgt__op_format(&any, text, err);
  if (status != RGT_OK) return status;
  char *groups = strstr(text, ":g1:");
  if (!groups) return rgt__error_set(err, RGT_EINTERNAL, "op \"%s\": its text has no groups", text);
  memmove(groups, groups + 3, strlen(groups + 3) + 1);
  return RGT_OK;
}

rgt_status rgt__prelude_digest(const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                               const rgt__render_facts *facts, char hex[RGT_ENTRY_DIGEST_MAX], rgt__error *err) {
  char text[RGT_OP_TEXT_MAX], params[RGT_VARIANT_TEXT_MAX], all[RGT_DIGEST_HEX_MAX];
  rgt_status status = op_text(op, text, err);
  if (status != RGT_OK) return status;
  rgt__variant_params_format(v, params);
  rgt__hash h;
  rgt__digest d;
  rgt__hash_init(&h);
  rgt__hash_text(&h, v->family->name);
  rgt__hash_int(&h, v->family->revision);
  rgt__hash_text(&h, params);
  rgt__hash_text(&h, text);
  rgt__hash_text(&h, rgt__op_form_word(facts->form));
  rgt__hash_int(&h, facts->align_bytes);
  rgt__hash_text(&h, rgt__op_order_word(facts->order));
  rgt__hash_text(&h, target->device);
  rgt__hash_text(&h, target->name);
  for (int i = 0; i < target->n_facts; i++) {
    rgt__hash_text(&h, target->facts[i].name);
    rgt__hash_int(&h, target->facts[i].value);
  }
  rgt__hash_bytes(&h, v->family->template_digest.bytes, sizeof v->family->template_digest.bytes);
  rgt__hash_int(&h, RGT_KARGS_VERSION);
  rgt__hash_end(&h, &d);
  rgt__digest_hex(&d, all);
  memcpy(hex, all, RGT_ENTRY_DIGEST_MAX - 1);
  hex[RGT_ENTRY_DIGEST_MAX - 1] = '\0';
  return RGT_OK;
}

static void define(rgt__buffer *out, const char *start, const char *name, int64_t v) {
  char upper[RGT_NAME_MAX];
  size_t i = 0;
  for (; name[i] && i + 1 < sizeof upper; i++) upper[i] = (char)toupper((unsigned char)name[i]);
  upper[i] = '\0';
  rgt__buffer_format(out, v < 0 ? "#define %s%s (%" PRId64 ")\n" : "#define %s%s %" PRId64 "\n", start, upper, v);
}

/* choice -- names for every value of a choice, and the one that was made: ACT_NONE 0, ACT_RELU 1 ..., ACT 1. */
#define CHOICE(out, NAME, type, word, n, v)                                       \
  do {                                                                            \
    for (int i_ = 0; i_ < (n); i_++) define((out), NAME "_", word((type)i_), i_); \
    define((out), "", NAME, (int64_t)(v));                                        \
  } while (0)

static void write_constants(const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                            const rgt__render_facts *facts, rgt__buffer *out) {
  define(out, "", "n_in", op->n_in);
  define(out, "", "n_hidden", op->n_hidden);
  define(out, "", "n_out", op->n_out);
  define(out, "", "is_mlp", op->kind == RGT_MLP);
  define(out, "", "bias1", (op->bias & RGT_BIAS_1) != 0);
  define(out, "", "bias2", (op->bias & RGT_BIAS_2) != 0);
  define(out, "", "elem_bytes", (int64_t)rgt__number_bytes(op->dtype));
  define(out, "", "index_bits", op->index_type == RGT_I64 ? 64 : 32);
  define(out, "", "align_bytes", facts->align_bytes);
  CHOICE(out, "DTYPE", rgt_dtype, rgt__op_dtype_word, 3, op->dtype);
  CHOICE(out, "ACT", rgt_act, rgt__op_act_word, 6, op->act);
  CHOICE(out, "LAYOUT", rgt_layout, rgt__op_layout_word, 2, op->layout);
  CHOICE(out, "WEIGHTS", rgt_weight_form, rgt__op_form_word, 2, facts->form);
  CHOICE(out, "ORDER", rgt_order, rgt__op_order_word, 3, facts->order);
  for (int i = 0; i < v->family->n_params; i++)
    define(out, "", v->family->params[i].name, v->family->params[i].values[v->value[i]]);
  for (int i = 0; i < target->n_facts; i++) define(out, "DEVICE_", target->facts[i].name, target->facts[i].value);
}

/* compile_line -- how to compile the file by hand; the options of the CPU's feature sets are those that their names stand for.
 */
static void compile_line(const rgt__target *target, rgt__buffer *out) {
  if (strcmp(target->device, "cuda") == 0) {
    rgt__buffer_format(out, "nvcc -arch=%s -cubin -o variant.cubin variant.cu", target->name);
    return;
  }
  const char *features = "";
  if (strcmp(target->name, "x86-64-avx2") == 0) features = " -mavx2 -mfma -mf16c";
  if (strcmp(target->name, "x86-64-avx512") == 0) features = " -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c";
  rgt__buffer_format(out, "cc -O3 -std=gnu11 -ffp-contract=off -fno-math-errno -fPIC -shared%s -o variant.so variant.c",
                     features);
}

rgt_status rgt__prelude_write(const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                              const rgt__render_facts *facts, const char *digest, rgt__buffer *out, rgt__error *err) {
  char text[RGT_OP_TEXT_MAX], variant[RGT_VARIANT_TEXT_MAX];
  rgt_status status = op_text(op, text, err);
  if (status != RGT_OK) return status;
  rgt__variant_format(v, variant);
  rgt__buffer_text(out, "/* Generated by RagTune: one variant of one op, complete in this file.\n");
  rgt__buffer_format(out, " *   op       %s, weights %s, rows %s, addresses and strides multiples of %d bytes\n", text,
                     rgt__op_form_word(facts->form), rgt__op_order_word(facts->order), facts->align_bytes);
  rgt__buffer_format(out, " *   variant  %s (revision %d)\n", variant, v->family->revision);
  rgt__buffer_format(out, " *   target   %s %s\n *   compile  ", target->device, target->name);
  compile_line(target, out);
  rgt__buffer_text(out, "\n */\n");
  write_constants(v, op, target, facts, out);
  rgt__buffer_format(
      out, "#define RGT_JOIN_(a, b) a##b\n#define RGT_JOIN(a, b) RGT_JOIN_(a, b)\n#define KERNEL(name) RGT_JOIN(name, _%s)\n",
      digest);
  return RGT_OK;
}
