/* cubin.c -- reading a cubin: ELF with sections .text.NAME, .nv.shared.NAME, .nv.info (attributes by symbol) and .nv.info.NAME.
 *
 * An attribute is format (1 byte), id (1 byte), then 2 bytes: with format 4 the length of what follows, else a value. Of
 * .nv.info: 0x2f registers, 0x11 frame bytes, 0x12 least stack bytes, each a symbol number and a value. Older files have the
 * registers in bits 24-31 of the .text section's info word alone. */
#include "cubin.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { MACHINE_CUDA = 190, ATTRIBUTE_FRAME = 0x11, ATTRIBUTE_STACK = 0x12, ATTRIBUTE_REGISTERS = 0x2f, FORMAT_SIZED = 4 };

typedef struct file {
  const unsigned char *data;
  size_t bytes;
  Elf64_Ehdr header;
  Elf64_Shdr names; /* section that holds the sections' names */
} file;

int sim_cubin_is(const void *image, size_t bytes) {
  Elf64_Ehdr header;
  if (bytes < sizeof header) return 0;
  memcpy(&header, image, sizeof header);
  return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == MACHINE_CUDA;
}

size_t sim_cubin_size(const void *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  size_t end = header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
  size_t segments = header.e_phoff + (size_t)header.e_phnum * sizeof(Elf64_Phdr);
  if (header.e_phnum > 0 && segments > end) end = segments;
  for (int i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, (const unsigned char *)image + header.e_shoff + (size_t)i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end) end = section.sh_offset + section.sh_size;
  }
  return end;
}

/* ---- sections, each within the file
 * ------------------------------------------------------------------------------------------------ */

static int section_at(const file *f, size_t i, Elf64_Shdr *section) {
  if (i >= f->header.e_shnum || f->header.e_shentsize != sizeof *section) return 0;
  if (f->header.e_shoff > f->bytes || (i + 1) * sizeof *section > f->bytes - f->header.e_shoff) return 0;
  memcpy(section, f->data + f->header.e_shoff + i * sizeof *section, sizeof *section);
  if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL) return 1;
  return section->sh_offset <= f->bytes && section->sh_size <= f->bytes - section->sh_offset;
}

static const char *text_at(const file *f, const Elf64_Shdr *table, uint64_t offset) {
  if (offset >= table->sh_size) return NULL;
  const char *text = (const char *)f->data + table->sh_offset + offset;
  return memchr(text, 0, table->sh_size - offset) == NULL ? NULL : text;
}

static const char *section_name(const file *f, const Elf64_Shdr *section) {
  return text_at(f, &f->names, section->sh_name);
}

/* The section with this name: prefix and rest. 1 if there is one. */
static int find_section(const file *f, const char *prefix, const char *rest, Elf64_Shdr *out) {
  size_t n = strlen(prefix);
  for (size_t i = 0; i < f->header.e_shnum; i++) {
    if (!section_at(f, i, out)) return 0;
    const char *name = section_name(f, out);
    if (name != NULL && strncmp(name, prefix, n) == 0 && strcmp(name + n, rest) == 0) return 1;
  }
  return 0;
}

static int open_file(const void *image, size_t bytes, file *f) {
  *f = (file){.data = image, .bytes = bytes};
  if (!sim_cubin_is(image, bytes)) return 0;
  memcpy(&f->header, image, sizeof f->header);
  return section_at(f, f->header.e_shstrndx, &f->names) && f->names.sh_type == SHT_STRTAB;
}

/* ---- attributes
 * -------------------------------------------------------------------------------------------------------------------- */

static const char *symbol_name(const file *f, uint32_t number) {
  Elf64_Shdr table, names;
  Elf64_Sym symbol;
  if (!find_section(f, ".symtab", "", &table) || !section_at(f, table.sh_link, &names)) return NULL;
  if (number >= table.sh_size / sizeof symbol) return NULL;
  memcpy(&symbol, f->data + table.sh_offset + number * sizeof symbol, sizeof symbol);
  return text_at(f, &names, symbol.st_name);
}

/* The value of an attribute for a kernel; 0: .nv.info says nothing. */
static int attribute_of(const file *f, const char *kernel, int id, uint32_t *value) {
  Elf64_Shdr info;
  if (!find_section(f, ".nv.info", "", &info)) return 0;
  const unsigned char *p = f->data + info.sh_offset, *end = p + info.sh_size;
  while (end - p >= 4) {
    size_t length = p[0] == FORMAT_SIZED ? (size_t)(p[2] | p[3] << 8) : 0;
    if ((size_t)(end - p - 4) < length) return 0;
    if (p[0] == FORMAT_SIZED && p[1] == id && length == 8) {
      uint32_t pair[2];
      memcpy(pair, p + 4, sizeof pair);
      const char *name = symbol_name(f, pair[0]);
      if (name != NULL && strcmp(name, kernel) == 0) {
        *value = pair[1];
        return 1;
      }
    }
    p += 4 + length;
  }
  return 0;
}

static void read_kernel(const file *f, const Elf64_Shdr *text, const char *name, sim_cubin_kernel *out) {
  Elf64_Shdr shared;
  uint32_t value = 0, stack = 0;
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "%s", name);
  out->registers = attribute_of(f, name, ATTRIBUTE_REGISTERS, &value) ? (int)value : (int)(text->sh_info >> 24);
  if (find_section(f, ".nv.shared.", name, &shared)) out->shared_bytes = (uint32_t)shared.sh_size;
  if (attribute_of(f, name, ATTRIBUTE_FRAME, &value)) out->stack_bytes = value;
  if (attribute_of(f, name, ATTRIBUTE_STACK, &stack) && stack > out->stack_bytes) out->stack_bytes = stack;
  uint32_t flags = f->header.e_flags;
  out->sm = (int)(f->header.e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xff : flags & 0xff);
}

int sim_cubin_read(const void *image, size_t bytes, sim_cubin_kernel *kernels, int most) {
  file f;
  int n = 0;
  if (!open_file(image, bytes, &f)) return -1;
  for (size_t i = 0; i < f.header.e_shnum; i++) {
    Elf64_Shdr section;
    if (!section_at(&f, i, &section)) return -1;
    const char *name = section_name(&f, &section);
    if (name == NULL || strncmp(name, ".text.", 6) != 0) continue;
    if (n < most) read_kernel(&f, &section, name + 6, &kernels[n]);
    n++;
  }
  return n;
}
