-- pick.lua -- for bench_tuner_pick: mlp 64-128-64 in bf16, cut to under 300 variants.
return {
  row_gather = { threads = { 128 } },
  pad8 = { sub_tiles = { 1, 2 } },
}
