-- mlp 64-128-64 in bf16: what the pick is compared with, at most 300 variants
return {
  row_gather = { threads = { 128 } },
  pad8 = { sub_tiles = { 1, 2 } },
}
