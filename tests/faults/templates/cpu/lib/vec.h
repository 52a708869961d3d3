/* vec.h -- likewise. */
