/*
 * dlsym.c - the exported dlsym.
 *
 * What dlsym(RTLD_NEXT, ...) finds depends on who asks, and the loader takes the return
 * address for that. So a call that isn't surely ours must leave by a jump, with the
 * caller's return address still on the stack: a C function would become the caller, and a
 * library that looks for "the next malloc" would find its own. Compilers make a jump of a
 * tail call only when optimising and without sanitizers, hence assembly.
 *
 *   RTLD_NEXT, or a name that is not on the list  -> jump to the next dlsym
 *   a name on the list, or one that begins with
 *   "cupti" (share_copy.c)                        -> wt_dlsym_listed (lookup.c), which
 *                                                    gets the return address as well
 *
 * Any thread, also before any constructor ran; nothing is allocated, nothing waits.
 */
#include <dlfcn.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "libintercept/lookup.h"

/* The sanitizers' own start-up calls dlsym: what runs then must not be instrumented. */
#define WT_NO_SANITIZER __attribute__((no_sanitize("address", "thread", "undefined")))

/* Called from the assembly below, which must find their symbols: not static. */
void *wt_dlsym_resolve(void);
int wt_dlsym_is_listed(const char *symbol);
extern _Atomic(void *) wt_dlsym_address;

/* The next dlsym; NULL until it was looked for. */
__attribute__((visibility("hidden"))) _Atomic(void *) wt_dlsym_address;

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        ".p2align 4\n"
        "dlsym:\n"
        "	.cfi_startproc\n"
        "	.byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64, for assemblers that don't know it */
        "	cmpq $-1, %rdi\n" /* RTLD_NEXT */
        "	je 1f\n"
        "	testq %rsi, %rsi\n"
        "	je 1f\n"
        "	cmpb $'c', (%rsi)\n"
        "	je 3f\n"
        "1:	movq wt_dlsym_address(%rip), %rax\n"
        "	testq %rax, %rax\n"
        "	je 2f\n"
        "	jmp *%rax\n"
        /* the first time: find it */
        "2:	pushq %rdi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rsi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	subq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	call wt_dlsym_resolve\n"
        "	addq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rsi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rdi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	jmp *%rax\n"
        /* perhaps on the list */
        "3:	pushq %rdi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	pushq %rsi\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	subq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	movq %rsi, %rdi\n"
        "	call wt_dlsym_is_listed\n"
        "	addq $8, %rsp\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rsi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	popq %rdi\n"
        "	.cfi_adjust_cfa_offset -8\n"
        "	testl %eax, %eax\n"
        "	je 1b\n"
        "	movq (%rsp), %rdx\n"
        "	jmp wt_dlsym_listed\n"
        "	.cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        ".p2align 4\n"
        "dlsym:\n"
        "	.cfi_startproc\n"
        "	hint #34\n" /* bti c */
        "	cmn x0, #1\n" /* RTLD_NEXT */
        "	b.eq 1f\n"
        "	cbz x1, 1f\n"
        "	ldrb w9, [x1]\n"
        "	cmp w9, #'c'\n"
        "	b.eq 3f\n"
        "1:	adrp x16, wt_dlsym_address\n"
        "	ldr x16, [x16, :lo12:wt_dlsym_address]\n"
        "	cbz x16, 2f\n"
        "	br x16\n"
        /* the first time: find it */
        "2:	stp x29, x30, [sp, #-32]!\n"
        "	.cfi_def_cfa_offset 32\n"
        "	.cfi_offset 29, -32\n"
        "	.cfi_offset 30, -24\n"
        "	mov x29, sp\n"
        "	stp x0, x1, [sp, #16]\n"
        "	bl wt_dlsym_resolve\n"
        "	mov x16, x0\n"
        "	ldp x0, x1, [sp, #16]\n"
        "	ldp x29, x30, [sp], #32\n"
        "	.cfi_restore 30\n"
        "	.cfi_restore 29\n"
        "	.cfi_def_cfa_offset 0\n"
        "	br x16\n"
        /* perhaps on the list */
        "3:	stp x29, x30, [sp, #-32]!\n"
        "	.cfi_def_cfa_offset 32\n"
        "	.cfi_offset 29, -32\n"
        "	.cfi_offset 30, -24\n"
        "	mov x29, sp\n"
        "	stp x0, x1, [sp, #16]\n"
        "	mov x0, x1\n"
        "	bl wt_dlsym_is_listed\n"
        "	mov w9, w0\n"
        "	ldp x0, x1, [sp, #16]\n"
        "	ldp x29, x30, [sp], #32\n"
        "	.cfi_restore 30\n"
        "	.cfi_restore 29\n"
        "	.cfi_def_cfa_offset 0\n"
        "	cbz w9, 1b\n"
        "	mov x2, x30\n"
        "	b wt_dlsym_listed\n"
        "	.cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#else
#error "libwavetap.so has no dlsym for this processor yet: add the twenty instructions above"
#endif

/* For hosts without any dlsym behind us: "not found", as the caller would see it. */
static void *no_dlsym(void *handle, const char *symbol)
{
	(void)handle;
	(void)symbol;
	return NULL;
}

/*
 * From glibc 2.34 on the symbol has a new version, and the old one lives on beside it; ask
 * for the right one first, since a failing dlvsym allocates. The dlerror state that dlvsym
 * changes is set anew by the dlsym that follows. Before 2.34 a process may have begun without
 * libdl, and another libc has no versions at all: then the list of libraries is asked. Nothing
 * found is not kept, since libdl may yet be loaded.
 */
WT_NO_SANITIZER void *wt_dlsym_resolve(void)
{
	static const char *const versions_new[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
	static const char *const versions_old[] = {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"};
	const char *libc = wt_libc_version();
	bool is_new = libc[0] > '2' || (libc[0] && (libc[2] - '0') * 10 + (libc[3] - '0') >= 34);
	const char *const *versions = is_new ? versions_new : versions_old;
	void *found = NULL;

	for (int i = 0; i < 3 && !found; i++)
		found = wt_libc_dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (!found)
		found = wt_libc_next("dlsym");
	if (!found)
		return (void *)no_dlsym;
	atomic_store_explicit(&wt_dlsym_address, found, memory_order_release);
	return found;
}

void *wt_dlsym_next(void)
{
	void *next = atomic_load_explicit(&wt_dlsym_address, memory_order_acquire);

	return next ? next : wt_dlsym_resolve();
}

#define NAME_BYTES 48

/* Plain arrays: no relocation, nothing to initialise. */
static const char listed[][NAME_BYTES] = {
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes) #symbol,
#include "schema/wt_hooks.def"
};

/* All of CUPTI's: what they are swapped for is decided by the library that they lie in. */
static const char cupti_prefix[] = "cupti";

/* Runs in the middle of somebody's dlsym, and calls nothing. */
WT_NO_SANITIZER int wt_dlsym_is_listed(const char *symbol)
{
	size_t length = 0;

	if (symbol[0] != 'c' || symbol[1] != 'u')
		return 0;
	while (cupti_prefix[length] && symbol[length] == cupti_prefix[length])
		length++;
	if (!cupti_prefix[length])
		return 1;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		const char *name = listed[i], *at = symbol;

		while (*name && *name == *at)
			name++, at++;
		if (*name == *at)
			return 1;
	}
	return 0;
}
