//go:build onnx && cgo

package onnx

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>

// Found at run time: the C library may be older, or another one, than where the program was built.
struct sluice_info { size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost; };
typedef struct sluice_info (*sluice_info_fn)(void);
typedef int (*sluice_opt_fn)(int, int);

static long long sluice_in_use(void) {
	static sluice_info_fn fn;
	if (!fn) fn = (sluice_info_fn)dlsym(RTLD_DEFAULT, "mallinfo2");
	if (!fn) return -1;
	struct sluice_info i = fn();
	return (long long)(i.uordblks + i.hblkhd);
}

// Pieces of 256 KiB and more are mapped and given back to the system as they are freed; without a word the library raises that bound to 32 MiB, and keeps
// twice as much of each of its arenas, of which it makes eight a processor.
static void sluice_frugal(int arenas) {
	sluice_opt_fn fn = (sluice_opt_fn)dlsym(RTLD_DEFAULT, "mallopt");
	if (!fn) return;
	fn(-3, 256 << 10); // M_MMAP_THRESHOLD
	fn(-1, 1 << 20);   // M_TRIM_THRESHOLD
	fn(-8, arenas);    // M_ARENA_MAX
}
*/
import "C"

import "runtime"

// allocated is how many bytes the C library has handed out in this process: to ONNX Runtime, but for little. ok is false where it does not tell.
func allocated() (n int64, ok bool) {
	n = int64(C.sluice_in_use())
	return n, n >= 0
}

// frugal has the C library give memory back that ONNX Runtime frees.
func frugal() { C.sluice_frugal(C.int(max(2, runtime.GOMAXPROCS(0)))) }
