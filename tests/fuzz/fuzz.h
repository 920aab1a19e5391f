/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target is one file with LLVMFuzzerTestOneInput(). It is linked with libFuzzer (`make fuzz`,
 * needs clang) or with driver.c, which feeds it the kept inputs and some thousand changed ones:
 * that runs in `make check` with any compiler. One thread but where a target says otherwise.
 */
#ifndef WT_TESTS_FUZZ_H
#define WT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs are read from front to back; beyond the end there are zeros. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* A little-endian integer of 1 to 8 bytes. */
uint64_t fuzz_integer(struct fuzz_input *input, size_t bytes);
/* At most `bytes` of the input; *ret_bytes is how many there are. */
const uint8_t *fuzz_some(struct fuzz_input *input, size_t bytes, size_t *ret_bytes);

/*
 * A private folder, made on the first call and removed at exit; WAVETAP_DIR is <folder>/data and
 * WAVETAP_SHM_DIR <folder>/shm, and it is the working directory. Without it nothing is done.
 */
const char *fuzz_folder(void);
/* Removes the files in a folder and the folders in that. */
void fuzz_clear(const char *path);
void fuzz_write(const char *path, const void *data, size_t size);

/* Before a command is run as a program: it closes its stdout at the end. */
void fuzz_stdout(void);

/* Ends the program with a message: the input shows a fault. */
void fuzz_check(bool good, const char *what);

#endif /* WT_TESTS_FUZZ_H */
