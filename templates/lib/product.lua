-- product.lua -- what products are computed in (templates/cuda/lib/product.cuh), and what that loses: the p of a layer.
--
-- p bounds |a b - what stands for it| / |a b|, both operands together. With u = 2^-t half a unit in the last place of t bits, and
-- |a| from 2^e up to 2^(e+1):
--
-- tf32, t = 11, to nearest: |a - h| <= u 2^e. p = 2 u = 2^-10.
-- 3xtf32: l = a - h is at most 2^(e-11), a multiple of 2^(e-23), so 12 bits at most, and cutting it to 11 drops r <= 2^(e-23).
--   a b - (h hb + h lb + l hb) = l lb + r b + a rb - ...: 2^-22 + 2 * 2^-23. p = 2^-21.
--   (Next to the largest number h is cut instead: l is twice as long there, and so is 2^e / |a| smaller.)
-- bf16x3, t = 8, to nearest twice: |m| <= 2^(e-8), r <= 2^(e-17): 2^-16 + 2 * 2^-17. p = 2^-15.
-- bf16x6, h cut: |a - h| < 2^(e-7), of 16 bits; m is the nearest 8 of them, |m| <= 2^(e-7), and what is left has 8 bits and is at
--   most 2^(e-16): a = h + m + l exactly. Left out are m lb + l mb + l lb: 2 * 2^-23 + 2^-32. p = 2^-22, and the 2 % of the bound.
-- f16 and bf16 of their own storage: exact, p = 0.
--
-- All that is of values in the normal range. Near its lower end and below it the last bits of a lowest part, which is kept times a
-- power of two, lie under bf16's or tf32's own subnormal numbers, and higher parts are 0: a product errs by up to
-- tf32 2^-137, 3xtf32 2^-145, bf16x3 2^-140, bf16x6 2^-145 times the other operand more.
-- products: instructions of a step. words: registers of a B fragment; an A fragment has twice as many.
local of_f32 = {
  [0] = { name = "3xtf32", products = 6, p = 2^-21, words = 8 },
  [1] = { name = "tf32", products = 2, p = 2^-10, words = 4 },
  [2] = { name = "bf16x3", products = 3, p = 2^-15, words = 4 },
  [3] = { name = "bf16x6", products = 6, p = 2^-22, words = 6 },
}

-- p.product of a family: 0 is the storage's own, which is exact, or for f32 as good as f32 sums; 1 and up are of f32 alone.
local values = { 0, 1, 2, 3 }

local function of(op, p)
  if op.dtype == "f32" then return of_f32[p.product] end
  return { name = op.dtype, products = 1, p = 0, words = 2 }
end

return { values = values, of = of, is_allowed = function(op, p) return p.product == 0 or op.dtype == "f32" end }
