// A stand-in for the GPU driver's library: two devices, the second of which does not tell its load.
#include <string.h>

typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned int gpu, memory; } rates;

#ifndef INIT
#define INIT 0
#endif

int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int rc) { return rc == 999 ? "Unknown Error" : "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char *p, unsigned n) { strncpy(p, "999.1", n); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void *h, char *p, unsigned n) { strncpy(p, h == (void *)1 ? "NVIDIA A" : "NVIDIA B", n); return 0; }
int nvmlDeviceGetUUID(void *h, char *p, unsigned n) { strncpy(p, h == (void *)1 ? "GPU-1" : "GPU-2", n); return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory *m) { m->total = 80ull << 30; m->free = 70ull << 30; m->used = 10ull << 30; return 0; }
int nvmlDeviceGetUtilizationRates(void *h, rates *r) {
	if (h != (void *)1) return 3;
	r->gpu = 40;
	r->memory = 10;
	return 0;
}
