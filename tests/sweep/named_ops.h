/* named_ops.h -- the ops whose whole spaces are looked at: for spills, and by the full sweep. */
#ifndef RGT_SWEEP_NAMED_OPS_H
#define RGT_SWEEP_NAMED_OPS_H

/* The first two stand for all in CI. */
static const char *const sweep_named_ops[] = {
    "mlp:10-20-5:g3:f32:relu:b12:nk:i64",  "mlp:64-128-64:g64:bf16:gelu:b12:nk:i64",
    "mlp:10-20-5:g3:bf16:silu:b12:nk:i64", "mlp:6-12-2:g20000:f16:relu:b12:nk:i64",
    "mlp:33-17-9:g7:f32:silu:b1:kn:i32",   "mlp:64-128-64:g64:f32:gelu_tanh:b12:kn:i64",
    "linear:64-64:g64:f16:none:b1:kn:i32", "linear:10-20:g5:f32:none:b1:nk:i64",
};
enum { SWEEP_N_NAMED = sizeof sweep_named_ops / sizeof *sweep_named_ops, SWEEP_N_NAMED_IN_CI = 2 };

#endif
