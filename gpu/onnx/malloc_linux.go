//go:build onnx && cgo

package onnx

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

// Found at run time: the C library may be older, or another one, than where the program was built.
struct sluice_info { size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost; };
typedef struct sluice_info (*sluice_info_fn)(void);

static long long sluice_in_use(void) {
	static sluice_info_fn fn;
	if (!fn) fn = (sluice_info_fn)dlsym(RTLD_DEFAULT, "mallinfo2");
	if (!fn) return -1;
	struct sluice_info i = fn();
	return (long long)(i.uordblks + i.hblkhd);
}
*/
import "C"

// allocated is how many bytes the C library has handed out in this process: to ONNX Runtime, but for little. ok is false where it does not tell.
func allocated() (n int64, ok bool) {
	n = int64(C.sluice_in_use())
	return n, n >= 0
}
