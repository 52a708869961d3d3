-- quick.lua -- a space for tests: a handful of variants, so that they do not hang on how fast the machine is.
return {
  row_gather = { threads = { 128, 256 }, lanes = 8, chunk = 1, outputs = 1, fused_rows = { 0, 1 }, in_registers = 0 },
  pad8 = false,
  weight_stationary = false,
}
