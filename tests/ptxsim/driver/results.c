/* results.c -- cuGetErrorName, cuGetErrorString. */
#include "call.h"

static const struct {
  int number;
  const char *name, *text;
} results[] = {
#define SIM_RESULT_ROW(name, number, text) {number, #name, text},
    SIM_RESULTS(SIM_RESULT_ROW)
#undef SIM_RESULT_ROW
};

enum { N_RESULTS = sizeof results / sizeof results[0] };

const char *sim_result_name(int result) {
  for (int i = 0; i < N_RESULTS; i++)
    if (results[i].number == result) return results[i].name;
  return NULL;
}

const char *sim_result_text(int result) {
  for (int i = 0; i < N_RESULTS; i++)
    if (results[i].number == result) return results[i].text;
  return NULL;
}

SIM_CALL(SIM_ALWAYS, cuGetErrorName, (CUresult error, const char **text), (error, text)) {
  if (text == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the name is NULL");
  *text = sim_result_name((int)error);
  return *text == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIM_CALL(SIM_ALWAYS, cuGetErrorString, (CUresult error, const char **text), (error, text)) {
  if (text == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the text is NULL");
  *text = sim_result_text((int)error);
  return *text == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
