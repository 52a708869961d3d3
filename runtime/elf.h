/* elf.h -- the GNU build-id of a library that is loaded: names its exact build without reading the file. */
#ifndef RGT_RUNTIME_ELF_H
#define RGT_RUNTIME_ELF_H

#include <stddef.h>

#define RGT_BUILD_ID_MAX 65 /* hex digits of up to 32 bytes, with the final NUL */

/* rgt__elf_note_build_id -- looks through a note segment. 1 if a build-id is there; hex is "" otherwise. */
int rgt__elf_note_build_id(const void *notes, size_t bytes, char hex[RGT_BUILD_ID_MAX]);
/* rgt__elf_build_id -- of the loaded object that holds `address`. 1 if it has one. */
int rgt__elf_build_id(const void *address, char hex[RGT_BUILD_ID_MAX]);

#endif
