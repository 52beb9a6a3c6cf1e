/* Tells answers apart in what a server of another protocol than Kafka's sends.
 *
 * Two ways are enough. An answer of a text protocol has a byte, the marker, that is in nothing
 * else: once in the answer to a message that was published, once in each message that was asked
 * for. AMQP 0-9-1 is parsed as far as its confirms and deliveries.
 */
#ifndef BENCH_ANSWERS_H
#define BENCH_ANSWERS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define AMQP_HEAD_BYTES 7u
#define AMQP_METHOD_BYTES 13u

enum framing { FRAMING_KAFKA, FRAMING_MARKED, FRAMING_AMQP };

struct answers {
	enum framing framing;
	int marker;
	uint32_t markers;
	uint32_t marked;
	uint64_t confirmed;
	uint8_t frame[AMQP_HEAD_BYTES + AMQP_METHOD_BYTES];
	size_t frame_have, frame_bytes;
	/* Set when the server refuses: what it said then is no answer. */
	const char *refusal;
};

static inline uint16_t answers_u16(const uint8_t *at) {
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t answers_u32(const uint8_t *at) {
	return (uint32_t)answers_u16(at) << 16 | answers_u16(at + 2);
}

static inline uint64_t answers_mark(struct answers *a) {
	if (++a->marked < a->markers)
		return 0;
	a->marked = 0;
	return 1;
}

/* A confirm that is said to be for several is for all up to its tag; tags count from one. */
static inline uint64_t answers_of_method(struct answers *a) {
	const uint8_t *payload = a->frame + AMQP_HEAD_BYTES;
	uint16_t class = answers_u16(payload), method = answers_u16(payload + 2);
	if (class == 60 && method == 60)
		return answers_mark(a);
	if (class == 60 && method == 80) {
		uint64_t tag, before = a->confirmed;
		memcpy(&tag, payload + 4, sizeof tag);
		tag = be64toh(tag);
		if (!(payload[12] & 1))
			a->confirmed++;
		else if (tag > a->confirmed)
			a->confirmed = tag;
		return a->confirmed - before;
	}
	if (class == 60 && method == 120)
		a->refusal = "the server refused a message";
	if ((class == 10 && method == 50) || (class == 20 && method == 40))
		a->refusal = "the server closed the channel";
	return 0;
}

static inline uint64_t answers_amqp(struct answers *a, const uint8_t *data, size_t size) {
	uint64_t complete = 0;
	while (size > 0) {
		size_t want = a->frame_have < AMQP_HEAD_BYTES ? AMQP_HEAD_BYTES - a->frame_have
		                                              : a->frame_bytes - a->frame_have;
		size_t take = want < size ? want : size;
		if (a->frame_have < sizeof a->frame) {
			size_t keep = sizeof a->frame - a->frame_have;
			memcpy(a->frame + a->frame_have, data, take < keep ? take : keep);
		}
		a->frame_have += take;
		data += take;
		size -= take;
		if (a->frame_have == AMQP_HEAD_BYTES)
			/* A byte ends each frame. */
			a->frame_bytes = AMQP_HEAD_BYTES + answers_u32(a->frame + 3) + 1;
		if (a->frame_have > AMQP_HEAD_BYTES && a->frame_have == a->frame_bytes) {
			if (a->frame[0] == 1)
				complete += answers_of_method(a);
			a->frame_have = 0;
		}
	}
	return complete;
}

static inline uint64_t answers_marked(struct answers *a, const uint8_t *data, size_t size) {
	uint64_t complete = 0;
	for (const uint8_t *at; (at = memchr(data, a->marker, size)); data = at + 1) {
		complete += answers_mark(a);
		size -= (size_t)(at - data) + 1;
	}
	return complete;
}

/* How many answers end in what was received. */
static inline uint64_t answers_in(struct answers *a, const uint8_t *data, size_t size) {
	return a->framing == FRAMING_AMQP ? answers_amqp(a, data, size) : answers_marked(a, data, size);
}

#endif
