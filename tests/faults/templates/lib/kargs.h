/* kargs.h -- so that the peak has what it is built with. */
