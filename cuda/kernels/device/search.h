// Looking through the rows of a matrix of distances x (rows, n), so that a search
// need not bring them to the host. skip names a column of each row that is left
// out, or -1. One block a row.

// A number whose order is that of floats, -0 before 0; x is not NaN.
FN unsigned orderOf(float x) {
	unsigned b = bitsOf(x);
	return b & 0x80000000u ? ~b : b | 0x80000000u;
}
FN float fromOrder(unsigned u) { return floatOf(u & 0x80000000u ? u & 0x7fffffffu : ~u); }

// The smallest number of each row, and the first column that has it. NaN is none
// unless it is all there is.
KERNEL(row_least, 256)(int n, int *at, float *least, const float *x) {
	SHARED float values[256];
	SHARED int columns[256];
	const float *row = x + (long)blockX() * n;
	int me = threadOf(), best = me;
	for (int i = me; i < n; i += threads())
		if (row[i] < row[best] || row[best] != row[best]) best = i;
	if (me < n) values[me] = row[best], columns[me] = best;
	SYNC();
	for (int d = 128; d; d >>= 1) {
		if (me < d && me + d < n) {
			float a = values[me], b = values[me + d];
			if (b < a || (a != a && b == b) || (b == a && columns[me + d] < columns[me])) values[me] = b, columns[me] = columns[me + d];
		}
		SYNC();
	}
	if (me == 0) at[blockX()] = columns[0], least[blockX()] = values[0];
}

// The k-th smallest number of each row, k from 1 to what it has; NaN where the row
// has one. It is found eight bits at a time: those that begin with the bits
// found so far are counted by their next eight.
KERNEL(kth_smallest, 256)(int n, int k, float *out, const float *x, const int *skip) {
	SHARED int bins[256], left, found, bad;
	const float *row = x + (long)blockX() * n;
	int without = skip[blockX()];
	unsigned prefix = 0, mask = 0;
	if (threadOf() == 0) left = k, bad = 0;
	for (int shift = 24; shift >= 0; shift -= 8) {
		for (int i = threadOf(); i < 256; i += threads()) bins[i] = 0;
		SYNC();
		for (int i = threadOf(); i < n; i += threads()) {
			float v = row[i];
			if (i == without) continue;
			if (v != v) bad = 1;
			unsigned u = orderOf(v);
			if ((u & mask) == prefix) atomicPlus(&bins[u >> shift & 255], 1);
		}
		SYNC();
		if (threadOf() == 0) {
			int b = 0;
			while (b < 255 && left > bins[b]) left -= bins[b++];
			found = b;
		}
		SYNC();
		prefix |= (unsigned)found << shift;
		mask |= 255u << shift;
	}
	if (threadOf() == 0) out[blockX()] = bad ? floatOf(0x7fc00000u) : fromOrder(prefix);
}

#define WINDOWS 512

// Where the numbers of a row lie among windows [low, high] in ascending order that
// do not overlap: those of row r are pairs from bounds[2*first[r]] on, at most
// WINDOWS. below receives, for each window, how many numbers are less than its low.
// Those that lie in a window go, with their columns and in no order, to count[r]
// places from at[r] on, as far as there are capacity; total, 0 at first, counts
// them all. NaN lies nowhere.
KERNEL(between, 256)(int n, int *below, int *at, int *count, int *total, int capacity, int *columns, float *values, const float *x, const int *skip, const int *first, const float *bounds) {
	SHARED float low[WINDOWS], high[WINDOWS];
	SHARED int bins[WINDOWS], inside, next;
	const float *row = x + (long)blockX() * n;
	int without = skip[blockX()], from = first[blockX()], windows = first[blockX() + 1] - from;
	for (int i = threadOf(); i < windows; i += threads()) {
		low[i] = bounds[2 * (from + i)], high[i] = bounds[2 * (from + i) + 1];
		bins[i] = 0;
	}
	if (threadOf() == 0) inside = 0;
	SYNC();
	for (int pass = 0; pass < 2; pass++) {
		for (int i = threadOf(); i < n; i += threads()) {
			float v = row[i];
			if (i == without || v != v) continue;
			int p = 0, q = windows; // windows below p have low <= v
			while (p < q) {
				int middle = (p + q) / 2;
				if (low[middle] <= v) p = middle + 1;
				else q = middle;
			}
			int within = p > 0 && v <= high[p - 1];
			if (pass == 0) {
				if (p < windows) atomicPlus(&bins[p], 1);
				if (within) atomicPlus(&inside, 1);
			} else if (within) {
				int slot = atomicPlus(&next, 1);
				columns[slot] = i;
				values[slot] = v;
			}
		}
		SYNC();
		if (pass == 1) return;
		if (threadOf() == 0) {
			int sum = 0;
			for (int i = 0; i < windows; i++) {
				sum += bins[i];
				below[from + i] = sum;
			}
			next = atomicPlus(total, inside);
			at[blockX()] = next;
			count[blockX()] = inside;
			if (next > capacity - inside) inside = 0; // no room: the host asks for the row
		}
		SYNC();
		if (inside == 0) return;
	}
}

// out[e] = x[rows[e]][columns[e]].
KERNEL(pick, 256)(long n, int width, float *out, const float *x, const int *rows, const int *columns) {
	EACH(e, n) out[e] = x[(long)rows[e] * width + columns[e]];
}

// A restriction of BRM (Table 1) of t >= 0, in the order of layers.Restriction.
FN double restricted(int restriction, double t, double omega) {
	if (restriction == 0) return wideTanh(t / 2);
	if (restriction == 1) return t > 1 ? 1 / (1 + 1 / t) : t / (1 + t);
	if (restriction == 2) return wideArcTan(t);
	if (restriction == 3) return wideTanh(t);
	double s = wideRoot(omega), u = s * t;
	return u > 1 ? 1 / wideRoot(wideFused(1 / t, 1 / t, s * s)) : t / wideRoot(wideFused(u, u, 1));
}

// d[e] is BRM (Eq. 7) between rows[e] of a and columns[e] of b, whose rows have h
// numbers, in float64; its root if rooted. One block a pair.
KERNEL(pair_values, 256)(int h, double *d, const float *a, const float *b, const int *rows, const int *columns, int restriction, int power, int rooted, double omega) {
	SHARED double box[256];
	const float *x = a + (long)rows[blockX()] * h, *y = b + (long)columns[blockX()] * h;
	double sum = 0;
	for (int c = threadOf(); c < h; c += threads()) {
		double v = restricted(restriction, wideMagnitude((double)x[c] - y[c]), omega);
		sum += power == 2 ? v * v : v;
	}
	sum = wideSum(sum, box) / h;
	if (threadOf() == 0) d[blockX()] = rooted ? wideRoot(sum) : sum;
}
