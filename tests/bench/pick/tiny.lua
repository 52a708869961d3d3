-- mlp 10-20-5 in f32
return { pad8 = { sub_tiles = { 1, 2 } } }
