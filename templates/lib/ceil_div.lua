-- ceil_div.lua -- a / b of whole numbers, rounded up. Formulas have a ceil_div of their own.
return function(a, b) return (a + b - 1) // b end
