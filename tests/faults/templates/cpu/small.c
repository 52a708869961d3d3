/* small.c -- what machine.h reads in place of code. */
//% include("lib/kargs.h")
//% include("cpu/lib/vec.h")
entry KERNEL(small)
turn=$(p.turn)
