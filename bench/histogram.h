/* A log-linear latency histogram: 64 buckets per power of two, so that a
 * recorded value is off by at most 1.6%, at a constant size and no allocation.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Values below 128 ns are exact; above, the upper half of each magnitude is used. */
#define SUB_BUCKET_BITS 7
#define SUB_BUCKETS (1u << SUB_BUCKET_BITS)
#define MAGNITUDES (64u - SUB_BUCKET_BITS)

struct histogram {
	uint64_t counts[MAGNITUDES * SUB_BUCKETS + SUB_BUCKETS];
	uint64_t total;
	uint64_t max_ns;
};

static inline uint64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void histogram_record(struct histogram *h, uint64_t ns) {
	unsigned magnitude = 0;
	if (ns >= SUB_BUCKETS)
		magnitude = 64u - (unsigned)__builtin_clzll(ns) - SUB_BUCKET_BITS;
	h->counts[magnitude * SUB_BUCKETS + (ns >> magnitude)]++;
	h->total++;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

/* The upper edge of the bucket that holds the given share of all values. */
static inline double histogram_us(const struct histogram *h, double share) {
	uint64_t wanted = (uint64_t)(share * (double)h->total + 0.5), seen = 0;
	for (unsigned i = 0; i < sizeof h->counts / sizeof h->counts[0]; i++) {
		seen += h->counts[i];
		if (seen > 0 && seen >= wanted) {
			unsigned magnitude = i / SUB_BUCKETS;
			return (double)((uint64_t)(i % SUB_BUCKETS + 1) << magnitude) / 1000.0;
		}
	}
	return 0.0;
}

static inline void histogram_print(const struct histogram *h, FILE *out) {
	fprintf(out, "\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f",
	        histogram_us(h, 0.50), histogram_us(h, 0.99), histogram_us(h, 0.999),
	        (double)h->max_ns / 1000.0);
}

#endif
