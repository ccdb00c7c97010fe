// The host model: blocks run one after the other, the threads of a block as
// coroutines that change at barriers. The order in which threads run between
// two barriers is drawn anew each time, so that a missing barrier shows as a
// wrong number.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "table_gen.h"
#include "vernier_host.h"

enum { MOST_THREADS = 1024, STACK = 64 << 10 };

struct place here;

// switchStack saves what a call must keep and the stack pointer in *from, and goes
// on where to was saved. (swapcontext also saves the signal mask, by a system
// call, which takes longer than most kernels.)
void switchStack(void **from, void *to);
#if defined(__x86_64__)
__asm__(".text\n.globl switchStack\n.type switchStack,@function\nswitchStack:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size switchStack,.-switchStack\n");
enum { SAVED = 6, RETURN = 6 }; // words below the return address
#elif defined(__aarch64__)
__asm__(".text\n.globl switchStack\n.type switchStack,%function\nswitchStack:\n"
        "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
        "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\n"
        "stp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\nmov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
        "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
        "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n"
        ".size switchStack,.-switchStack\n");
enum { SAVED = 20, RETURN = 11 }; // words saved, and which of them is the return address
#endif

struct coroutine {
	void *stack;
	int done, line, turn;
};
static struct coroutine crew[MOST_THREADS];
static char *stacks;
static void *scheduler;
static const struct entry *current;
static void **arguments;
static float exchange[2][MOST_THREADS];
static uint64_t dice;
static char message[200];

static int alone; // the kernel runs without coroutines

static void work(void) {
	current->call(arguments);
	struct coroutine *me = &crew[here.thread];
	me->done = 1;
	switchStack(&me->stack, scheduler); // for good
}

static void pause(int line) {
	if (alone) {
		fprintf(stderr, "%s: a barrier at line %d in a kernel that is listed without\n", current->name, abs(line));
		abort();
	}
	struct coroutine *me = &crew[here.thread];
	me->line = line;
	switchStack(&me->stack, scheduler);
}

void hostBarrier(int line) { pause(line); }

// Two places take turns: a thread that is at its next shuffle already does not
// write where another still has to read.
float hostShuffle(float v, int mask, int line) {
	struct coroutine *me = &crew[here.thread];
	float *box = exchange[me->turn ^= 1];
	box[here.thread] = v;
	pause(line);
	return box[here.thread ^ mask];
}

// The fragments of all lanes of a warp, in turns as those of shuffles.
static unsigned fragments[2][MOST_THREADS][6];

void hostFragments(const unsigned *mine, int line) {
	struct coroutine *me = &crew[here.thread];
	memcpy(fragments[me->turn ^= 1][here.thread], mine, sizeof fragments[0][0]);
	pause(line);
}

unsigned hostFragment(int lane, int i) {
	return fragments[crew[here.thread].turn][(here.thread & ~31) + lane][i];
}

static uint32_t draw(uint32_t n) {
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((dice >> 33) % n);
}

// runBlock returns 0 when all threads have ended, or the line of a barrier
// that some threads reached while others waited at another.
static int runBlock(int count) {
	for (int i = 0; i < count; i++) {
		struct coroutine *c = &crew[i];
		// As if work had been left at its first instruction: a return address at
		// the right distance from a multiple of 16.
		void **top = (void **)((uintptr_t)(stacks + (size_t)(i + 1) * STACK) / 16 * 16) - 2 - SAVED;
		memset(top, 0, (2 + SAVED) * sizeof *top);
		top[RETURN] = (void *)work;
		c->stack = top;
		c->done = c->line = c->turn = 0;
	}
	for (;;) {
		// Another order each time: from a random thread on, by a random odd step,
		// which reaches all of a power of two.
		unsigned at = draw((uint32_t)count), step = draw((uint32_t)count) | 1;
		int line = 0;
		for (int i = 0; i < count; i++) {
			int next = (int)((at + i * step) & (unsigned)(count - 1));
			struct coroutine *c = &crew[next];
			if (c->done) continue;
			here.thread = next;
			switchStack(&scheduler, c->stack);
			if (c->done) continue;
			if (line && c->line != line) return c->line;
			line = c->line;
		}
		if (!line) return 0;
	}
}

const char *hostLaunch(const char *name, int x, int y, int z, int count, void **args, uint64_t seed) {
	if (count & (count - 1)) return "the number of threads is no power of two";
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
