/* activation_check.c -- see activation_check.h. */
#include "activation_check.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 4096, MAX_FORMS = 8 };

#define FORM(name) void activation_form_##name(int act, const float *z, float *y, int n);
FORM(plain4)
FORM(plain16)
#if defined __x86_64__
FORM(fma4)
FORM(fma8)
FORM(fma16)
FORM(cuda)
#endif
#undef FORM

const activation_form *activation_forms(int *n) {
  static activation_form forms[MAX_FORMS];
#if defined __FMA__ || defined __aarch64__
  const int plain = WITH_FMA; /* the whole build has it */
#else
  const int plain = WITHOUT_FMA;
#endif
  int count = 0;
  forms[count++] = (activation_form){"C, no flags, 4 lanes", plain, activation_form_plain4};
  forms[count++] = (activation_form){"C, no flags, 16 lanes", plain, activation_form_plain16};
#if defined __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    forms[count++] = (activation_form){"C, AVX2 and FMA, 8 lanes", WITH_FMA, activation_form_fma8};
    forms[count++] = (activation_form){"C, AVX2 and FMA, 4 lanes", WITH_FMA, activation_form_fma4};
    forms[count++] = (activation_form){"CUDA text, FMA", WITH_FMA, activation_form_cuda};
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    forms[count++] = (activation_form){"C, AVX-512, 16 lanes", WITH_FMA, activation_form_fma16};
#endif
  *n = count;
  return forms;
}

const char *activation_name(int act) {
  static const char *const names[N_ACTIVATIONS] = {"none", "relu", "gelu", "gelu_tanh", "silu", "tanh"};
  return names[act];
}

double activation_reference(int act, double z) {
  if (act == RGT_ACT_RELU) return z < 0 ? 0 : z;
  if (act == RGT_ACT_TANH) return tanh(z);
  if (act == RGT_ACT_NONE) return z;
  if (z == -INFINITY) return 0;
  if (act == RGT_ACT_GELU) return z * (0.5 * erfc(-z * 0.70710678118654752440));
  if (act == RGT_ACT_SILU) return z / (1 + exp(-z));
  return z / (1 + exp(-2 * 0.79788456080286535588 * (z + 0.044715 * z * z * z)));
}

int activation_errors(activation_error errors[N_ACTIVATIONS], char message[256]) {
  lua_State *lua = luaL_newstate();
  int status = -1;
  snprintf(message, 256, "out of memory");
  if (!lua) return status;
  if (luaL_loadfile(lua, RGT_SOURCE_DIR "/templates/lib/act_error.lua") || lua_pcall(lua, 0, 1, 0)) {
    snprintf(message, 256, "%s", lua_tostring(lua, -1));
    goto done;
  }
  for (int act = 0; act < N_ACTIVATIONS; act++) {
    int is_alpha = 0, is_beta = 0;
    snprintf(message, 256, "act_error.lua: %s lacks alpha or beta", activation_name(act));
    if (!lua_istable(lua, -1) || lua_getfield(lua, -1, activation_name(act)) != LUA_TTABLE) goto done;
    lua_getfield(lua, -1, "alpha");
    lua_getfield(lua, -2, "beta");
    errors[act].alpha = lua_tonumberx(lua, -2, &is_alpha);
    errors[act].beta = lua_tonumberx(lua, -1, &is_beta);
    lua_pop(lua, 3);
    if (!is_alpha || !is_beta) goto done;
  }
  status = 0;
done:
  lua_close(lua);
  return status;
}

static uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* What is wrong with y = act(z) whatever the declared error; NULL if nothing is. */
static const char *plain_fault(int act, float z, float y) {
  if (isnan(z)) return isnan(y) ? NULL : "NaN is lost";
  if (isnan(y)) return "NaN is made";
  if (act == RGT_ACT_NONE && bits_of(y) != bits_of(z)) return "not the same bits";
  if (act == RGT_ACT_RELU && y != (z < 0 ? 0 : z)) return "not relu";
  if (act == RGT_ACT_NONE || act == RGT_ACT_RELU) return NULL;
  if (z > 0 ? y < 0 : y > 0) return "wrong sign";
  if (act == RGT_ACT_TANH) return fabsf(y) > 1 ? "passes 1" : NULL;
  if (z > 0 && y > z) return "above z";
  if (z == -INFINITY && y != 0) return "-Inf does not give 0";
  if (isinf(y) && !isinf(z)) return "Inf is made";
  return isinf(z) && z > 0 && !isinf(y) ? "Inf is lost" : NULL;
}

static void note_wrong(activation_result *result, const char *form, int act, float z, float y, double want, const char *what) {
  if (result->n_wrong++ == 0)
    snprintf(result->first_wrong, sizeof result->first_wrong, "%s of %a (%.9g): %s gives %a, float64 %.17g: %s",
             activation_name(act), (double)z, (double)z, form, (double)y, want, what);
}

static void measure(const activation_error *declared, float z, double want, double error, activation_worst *worst) {
  double size = fabs(want), z_size = fabs((double)z);
  error -= 0x1p-150;
  if (error <= 0) return;
  double share = error / (declared->alpha * size + declared->beta * z_size);
  if (share > worst->share) worst->share = share, worst->share_at = z;
  if (z > 0 && error > worst->alpha * size) worst->alpha = error / size, worst->alpha_at = z;
  double rest = error - declared->alpha * size;
  if (rest > worst->beta * z_size) worst->beta = rest / z_size, worst->beta_at = z;
}

static void check_value(const activation_form *form, int act, const activation_error *declared, float z, float y, double want,
                        activation_result *result) {
  const char *fault = plain_fault(act, z, y);
  if (!fault && isfinite(z)) {
    double error = fabs((double)y - want);
    if (error > declared->alpha * fabs(want) + declared->beta * fabs((double)z) + 0x1p-150) fault = "over the declared error";
    measure(declared, z, want, error, &result->worst[form->rounding]);
  } else if (!fault && act == RGT_ACT_TANH && isinf(z) && y != copysignf(1, z)) {
    fault = "not 1 at infinity";
  }
  if (fault) note_wrong(result, form->name, act, z, y, want, fault);
}

/* Every form on n values. The first form of a rounding is measured; the others need its bits. */
static void check_chunk(int act, const activation_error *declared, const float *z, int n, activation_result *result) {
  int n_forms;
  const activation_form *forms = activation_forms(&n_forms);
  int first[N_ROUNDINGS] = {-1, -1};
  static _Thread_local float y[MAX_FORMS][CHUNK];
  static _Thread_local double want[CHUNK];
  for (int i = 0; i < n; i++) want[i] = isnan(z[i]) ? NAN : activation_reference(act, (double)z[i]);
  for (int f = 0; f < n_forms; f++) {
    int r = forms[f].rounding;
    forms[f].run(act, z, y[f], n);
    if (first[r] < 0) {
      first[r] = f;
      for (int i = 0; i < n; i++) check_value(&forms[f], act, declared, z[i], y[f][i], want[i], result);
      continue;
    }
    if (memcmp(y[f], y[first[r]], sizeof(float) * (size_t)n) == 0) continue;
    for (int i = 0; i < n; i++)
      if (bits_of(y[f][i]) != bits_of(y[first[r]][i]) && !(isnan(y[f][i]) && isnan(y[first[r]][i])))
        note_wrong(result, forms[f].name, act, z[i], y[f][i], want[i], forms[first[r]].name);
  }
  result->n_checked += n;
}

void activation_check(int act, const activation_error *declared, uint32_t first, uint32_t step, int64_t n,
                      activation_result *result) {
  float z[CHUNK];
  uint32_t bits = first;
  while (n > 0) {
    int now = n < CHUNK ? (int)n : CHUNK;
    for (int i = 0; i < now; i++, bits += step) z[i] = float_of(bits);
    check_chunk(act, declared, z, now, result);
    n -= now;
  }
}

void activation_merge(activation_result *into, const activation_result *from) {
  if (into->n_wrong == 0) memcpy(into->first_wrong, from->first_wrong, sizeof into->first_wrong);
  into->n_checked += from->n_checked;
  into->n_wrong += from->n_wrong;
  for (int r = 0; r < N_ROUNDINGS; r++) {
    activation_worst *a = &into->worst[r];
    const activation_worst *b = &from->worst[r];
    if (b->share > a->share) a->share = b->share, a->share_at = b->share_at;
    if (b->alpha > a->alpha) a->alpha = b->alpha, a->alpha_at = b->alpha_at;
    if (b->beta > a->beta) a->beta = b->beta, a->beta_at = b->beta_at;
  }
}
