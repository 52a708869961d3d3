/* test_cubin.c -- reading cubins: one made here, of either form, whole and damaged at every byte. */
#include "driver/cubin.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NAMES, STRINGS, SYMBOLS, INFO, TEXT, SHARED, N_SECTIONS_USED };

typedef struct image {
  unsigned char bytes[2048];
  size_t size;
  Elf64_Shdr sections[N_SECTIONS_USED + 1]; /* behind the empty first */
} image;

static void put(image *f, int section, const void *data, size_t size) {
  f->sections[section + 1].sh_offset = f->size;
  f->sections[section + 1].sh_size = size;
  memcpy(f->bytes + f->size, data, size);
  f->size += (size + 7) / 8 * 8;
}

/* A kernel "k" with 42 registers, 16 bytes of stack, 640 of shared memory. Old form: the registers stand in sh_info alone. */
static image make(int old_form) {
  static const char names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.text.k\0.nv.shared.k", strings[] = "\0k";
  const uint32_t info[] = {0x00082f04, 1, 42, 0x00081104, 1, 16, 0x00081204, 1, 8};
  const Elf64_Sym symbols[2] = {{0}, {.st_name = 1}};
  image f = {.size = sizeof(Elf64_Ehdr)};
  put(&f, NAMES, names, sizeof names);
  put(&f, STRINGS, strings, sizeof strings);
  put(&f, SYMBOLS, symbols, sizeof symbols);
  put(&f, INFO, info, old_form ? 0 : sizeof info);
  put(&f, TEXT, "code", 4);
  f.sections[SHARED + 1].sh_size = 640;
  const char *found = names + 1;
  for (int i = 0; i < N_SECTIONS_USED; i++) {
    f.sections[i + 1].sh_name = (Elf64_Word)(found - names);
    f.sections[i + 1].sh_type = i == SYMBOLS ? SHT_SYMTAB : i <= STRINGS ? SHT_STRTAB : i == SHARED ? SHT_NOBITS : SHT_PROGBITS;
    found += strlen(found) + 1;
  }
  f.sections[SYMBOLS + 1].sh_link = STRINGS + 1;
  f.sections[TEXT + 1].sh_info = old_form ? 42u << 24 | 5 : 5;
  Elf64_Ehdr header = {.e_machine = 190,
                       .e_shoff = f.size,
                       .e_shnum = N_SECTIONS_USED + 1,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shstrndx = NAMES + 1,
                       .e_flags = old_form ? 0x500550 : 0x6005a04};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_ABIVERSION] = old_form ? 7 : 8;
  memcpy(f.bytes, &header, sizeof header);
  memcpy(f.bytes + f.size, f.sections, sizeof f.sections);
  f.size += sizeof f.sections;
  return f;
}

static void both_forms(void **state) {
  (void)state;
  for (int old_form = 0; old_form < 2; old_form++) {
    image f = make(old_form);
    sim_cubin_kernel kernel;
    assert_true(sim_cubin_is(f.bytes, f.size));
    assert_int_equal(sim_cubin_size(f.bytes), f.size);
    assert_int_equal(sim_cubin_read(f.bytes, f.size, &kernel, 1), 1);
    assert_string_equal(kernel.name, "k");
    assert_int_equal(kernel.registers, 42);
    assert_int_equal(kernel.shared_bytes, 640);
    assert_int_equal(kernel.stack_bytes, old_form ? 0 : 16);
    assert_int_equal(kernel.sm, old_form ? 0x50 : 90);
  }
}

/* A wrong byte anywhere may change what is read; it must not be read outside of the file (the sanitizers look). */
static void damaged(void **state) {
  (void)state;
  image f = make(0);
  for (size_t i = 0; i < f.size; i++)
    for (int bit = 0; bit < 8; bit++) {
      sim_cubin_kernel kernel;
      unsigned char *copy = malloc(f.size);
      assert_non_null(copy);
      memcpy(copy, f.bytes, f.size);
      copy[i] ^= (unsigned char)(1 << bit);
      int n = sim_cubin_read(copy, f.size, &kernel, 1);
      assert_true(n >= -1 && n <= N_SECTIONS_USED + 1);
      free(copy);
    }
  for (size_t size = 0; size < f.size; size++) {
    sim_cubin_kernel kernel;
    unsigned char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, f.bytes, size);
    assert_int_equal(sim_cubin_read(copy, size, &kernel, 1), -1);
    free(copy);
  }
}

static void memory(void **state) {
  (void)state;
  sim_cubin_kernel kernel = {.name = "one", .registers = 10};
  assert_null(sim_cubin_recall("one"));
  sim_cubin_remember(&kernel);
  kernel.registers = 20;
  sim_cubin_remember(&kernel);
  assert_int_equal(sim_cubin_recall("one")->registers, 20);
  assert_null(sim_cubin_recall("two"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(both_forms), cmocka_unit_test(damaged), cmocka_unit_test(memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
