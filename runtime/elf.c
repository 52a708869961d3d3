/* elf.c -- the GNU build-id of a loaded library, from its note segment in memory. */
#include "runtime/elf.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t padded(size_t n) {
  return (n + 3) & ~(size_t)3;
}

/* A note is a header of three words, the owner's name and the contents, the last two padded to 4 bytes. */
int rgt__elf_note_build_id(const void *notes, size_t bytes, char hex[RGT_BUILD_ID_MAX]) {
  const unsigned char *p = notes;
  hex[0] = '\0';
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, p, sizeof note);
    size_t name = padded(note.n_namesz), contents = padded(note.n_descsz), rest = bytes - sizeof note;
    if (name > rest || contents > rest - name) return 0;
    const unsigned char *id = p + sizeof note + name;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(p + sizeof note, "GNU", 4) == 0) {
      if (note.n_descsz == 0 || note.n_descsz * 2 + 1 > RGT_BUILD_ID_MAX) return 0;
      for (size_t i = 0; i < note.n_descsz; i++) snprintf(hex + 2 * i, 3, "%02x", id[i]);
      return 1;
    }
    p = id + contents;
    bytes = rest - name - contents;
  }
  return 0;
}

struct search {
  uintptr_t address;
  char *hex;
  int found;
};

static int visit(struct dl_phdr_info *info, size_t size, void *user) {
  struct search *s = user;
  int inside = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && s->address - (info->dlpi_addr + h->p_vaddr) < h->p_memsz) inside = 1;
  }
  for (int i = 0; inside && !s->found && i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type != PT_NOTE) continue;
    s->found = rgt__elf_note_build_id((const void *)(info->dlpi_addr + h->p_vaddr), h->p_filesz, s->hex);
  }
  return inside;
}

int rgt__elf_build_id(const void *address, char hex[RGT_BUILD_ID_MAX]) {
  struct search s = {(uintptr_t)address, hex, 0};
  hex[0] = '\0';
  dl_iterate_phdr(visit, &s);
  return s.found;
}
