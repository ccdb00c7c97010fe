// The host model: blocks run one after the other, the threads of a block as
// coroutines that change at barriers. The order in which threads run between
// two barriers is drawn anew each time, so that a missing barrier shows as a
// wrong number.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "../device/kernels.cu"
#undef NAME
#include "../device/pairs.cu"

#include "table_gen.h"
#include "host.h"

enum { MOST_THREADS = 1024, STACK = 64 << 10 };

struct place here;

struct coroutine {
	ucontext_t context;
	int done, line;
};
static struct coroutine crew[MOST_THREADS];
static char *stacks;
static ucontext_t scheduler;
static const struct entry *current;
static void **arguments;
static float exchange[MOST_THREADS];
static uint64_t dice;
static char message[200];

static int alone; // the kernel runs without coroutines

static void work(void) {
	current->call(arguments);
	crew[here.thread].done = 1;
}

static void pause(int line) {
	if (alone) {
		fprintf(stderr, "%s: a barrier at line %d in a kernel that is listed without\n", current->name, abs(line));
		abort();
	}
	struct coroutine *me = &crew[here.thread];
	me->line = line;
	swapcontext(&me->context, &scheduler);
}

void hostBarrier(int line) { pause(line); }

float hostShuffle(float v, int mask, int line) {
	exchange[here.thread] = v;
	pause(line);
	float other = exchange[here.thread ^ mask];
	pause(-line);
	return other;
}

static uint32_t draw(uint32_t n) {
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((dice >> 33) % n);
}

// runBlock returns 0 when all threads have ended, or the line of a barrier
// that some threads reached while others waited at another.
static int runBlock(int count) {
	static int order[MOST_THREADS];
	for (int i = 0; i < count; i++) {
		struct coroutine *c = &crew[i];
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
		c->context.uc_stack.ss_size = STACK;
		c->context.uc_link = &scheduler;
		c->done = c->line = 0;
		makecontext(&c->context, work, 0);
		order[i] = i;
	}
	for (;;) {
		for (int i = count - 1; i > 0; i--) {
			int j = (int)draw((uint32_t)i + 1), o = order[i];
			order[i] = order[j];
			order[j] = o;
		}
		int line = 0;
		for (int i = 0; i < count; i++) {
			struct coroutine *c = &crew[order[i]];
			if (c->done) continue;
			here.thread = order[i];
			swapcontext(&scheduler, &c->context);
			if (c->done) continue;
			if (line && c->line != line) return c->line;
			line = c->line;
		}
		if (!line) return 0;
	}
}

const char *hostLaunch(const char *name, int x, int y, int z, int count, void **args, uint64_t seed) {
	if (!stacks && !(stacks = malloc((size_t)MOST_THREADS * STACK))) return "no memory for stacks";
	current = NULL;
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!strcmp(entries[i].name, name)) current = &entries[i];
	if (!current) return "no such kernel";
	arguments = args;
	alone = !current->syncs;
	dice = seed;
	here.threads = count;
	here.blocksX = x;
	for (here.z = 0; here.z < z; here.z++)
		for (here.y = 0; here.y < y; here.y++)
			for (here.x = 0; here.x < x; here.x++) {
				if (alone) {
					for (here.thread = 0; here.thread < count; here.thread++) current->call(args);
					continue;
				}
				int line = runBlock(count);
				if (!line) continue;
				snprintf(message, sizeof message, "threads of one block wait at different barriers, one at line %d", abs(line));
				return message;
			}
	return NULL;
}
