// What kernels of sums over the rows of (rows, C) have in common.
#ifndef VERNIER_SUMMED_H
#define VERNIER_SUMMED_H

// The sums go in two steps of a fixed order: each block leaves a part, combine_parts
// (reduce.h) adds the parts. A block has 8 WIDTH channels and per rows. Its rows are
// eight chains of every eighth row, and a chain has four threads, of every fourth of its
// rows each; the last one to three rows of a chain go to its first thread.
#define SUMMED(block, of)                                                                                    \
	int lane = threadOf() & 7, chain = threadOf() >> 3 & 7, nth = threadOf() >> 6, k = ((block) * 8 + lane) * WIDTH; \
	int some = k >= c ? 0 : c - k < WIDTH ? c - k : WIDTH;                                                   \
	unsigned start = (unsigned)(of) * (unsigned)per, end = start + per < (unsigned)rows ? start + per : rows; \
	unsigned ahead = 24 - 8 * nth, least = nth ? ahead : 0
// EACH_ROW runs over the rows of a thread.
#define EACH_ROW(r) \
	ROLLED for (unsigned r = start + chain + 8 * nth; some && r + least < end; r += r + ahead < end ? 32 : 8)
// TAKE and GIVE read and write the numbers of a thread in a row; whole says that they
// are a group.
#define TAKE(v, p, at)                   \
	if (whole) {                         \
		READ(v, (p) + (at), 0);          \
	} else {                             \
		UNROLL for (int j = 0; j < WIDTH; j++) v[j] = j < some ? GET(p, (at) + j) : 0; \
	}
#define GIVE(p, at, v)                   \
	if (whole) {                         \
		WRITE((p) + (at), 0, v);         \
	} else {                             \
		UNROLL for (int j = 0; j < WIDTH; j++) if (j < some) PUT(p, (at) + j, v[j]); \
	}
// CONSTANTS reads float32 numbers of a thread's channels.
#define CONSTANTS(v, p) UNROLL for (int j = 0; j < WIDTH; j++) v[j] = j < some ? (p)[k + j] : 0
// PART_OF leaves part number of of the sums of all threads.
#define PART_OF(part, block, of, sum)                                                                        \
	{                                                                                                        \
		SHARED float box[32][8 * WIDTH + 1];                                                                 \
		int t = threadOf(), channel = (block) * 8 * WIDTH + t;                                               \
		UNROLL for (int j = 0; j < WIDTH; j++) box[t >> 3][lane * WIDTH + j] = sum[j];                       \
		SYNC();                                                                                              \
		if (t < 8 * WIDTH && channel < c) {                                                                  \
			float total = (box[0][t] + box[8][t]) + (box[16][t] + box[24][t]);                               \
			ROLLED for (int i = 1; i < 8; i++) total += (box[i][t] + box[i + 8][t]) + (box[i + 16][t] + box[i + 24][t]); \
			(part)[(long)(of) * c + channel] = total;                                                        \
		}                                                                                                    \
	}
#define OF_ROWS(c, places) (ROWS(1, c, places) != 0)

#endif
