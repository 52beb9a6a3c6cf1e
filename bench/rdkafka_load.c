/* librdkafka as the client: how fast a common client goes against this broker.
 *
 *   rdkafka_load produce --brokers B --topic T --partitions N --size S --count C [-X k=v]
 *   rdkafka_load consume   the same; reads C messages from the start of N partitions
 *   rdkafka_load latency   produces at --rate while consuming; times each message end to end
 *   rdkafka_load mock      serves librdkafka's own in-memory broker until SIGTERM
 *   rdkafka_load version   names the library
 *
 * Every mode is bounded by --seconds. Prints one JSON object.
 */
#define _GNU_SOURCE
#include "histogram.h"

#include <getopt.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SIZE_MAX_BYTES (1u << 20)
#define OVERRIDES_MAX 16
#define POLL_EVERY 1000u
#define CONSUME_BATCH 1000
#define STATISTICS_MS "100"
#define STATISTICS_WAIT_NS 250000000ull
#define SETTLE_US 500000u
#define WARM_UP_SHARE 0.1

struct options {
	const char *brokers, *topic, *ready_file;
	int32_t partitions;
	size_t size;
	uint64_t count;
	double seconds;
	double rate;
	const char *overrides[OVERRIDES_MAX];
	int overrides_count;
};

static struct options options = {
	.brokers = "127.0.0.1:9092", .topic = "bench", .partitions = 1, .size = 1024,
	.count = 1000000, .seconds = 30, .rate = 1000,
};
static uint64_t delivered, failed, produce_requests, fetch_requests;
static struct histogram latencies;

static void fail(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	fputs("rdkafka_load: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

static uint64_t deadline(void) {
	return now_ns() + (uint64_t)(options.seconds * 1e9);
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
	(void)rk, (void)opaque;
	if (message->err)
		failed++;
	else
		delivered++;
}

/* The client alone knows how many requests its batching made of the messages. */
static uint64_t count_of(const char *json, const char *name) {
	uint64_t total = 0;
	for (const char *at = json; (at = strstr(at, name)) != NULL; at += strlen(name))
		total += strtoull(at + strlen(name), NULL, 10);
	return total;
}

static int on_statistics(rd_kafka_t *rk, char *json, size_t size, void *opaque) {
	(void)rk, (void)size, (void)opaque;
	produce_requests = count_of(json, "\"Produce\":");
	fetch_requests = count_of(json, "\"Fetch\":");
	return 0;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
	char reason[256];
	if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) != RD_KAFKA_CONF_OK)
		fail("%s", reason);
}

static rd_kafka_t *new_client(rd_kafka_type_t type) {
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	set(conf, "bootstrap.servers", options.brokers);
	set(conf, "statistics.interval.ms", STATISTICS_MS);
	/* Errors only: a warning that a producer's property is lost on a consumer is noise. */
	set(conf, "log_level", "3");
	if (type == RD_KAFKA_PRODUCER) {
		rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	} else {
		set(conf, "group.id", "bench");
		set(conf, "enable.auto.commit", "false");
	}
	rd_kafka_conf_set_stats_cb(conf, on_statistics);
	for (int i = 0; i < options.overrides_count; i++) {
		char name[128];
		const char *equals = strchr(options.overrides[i], '=');
		if (!equals || (size_t)(equals - options.overrides[i]) >= sizeof name)
			fail("-X takes name=value");
		memcpy(name, options.overrides[i], (size_t)(equals - options.overrides[i]));
		name[equals - options.overrides[i]] = '\0';
		set(conf, name, equals + 1);
	}
	char reason[256];
	rd_kafka_t *rk = rd_kafka_new(type, conf, reason, sizeof reason);
	if (!rk)
		fail("%s", reason);
	return rk;
}

static void print_result(uint64_t messages, uint64_t requests, double seconds) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	double cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("{\"messages\": %lu, \"requests\": %lu, \"bytes\": %lu, \"seconds\": %.6f, "
	       "\"client_cpu_seconds\": %.6f, ",
	       (unsigned long)messages, (unsigned long)requests,
	       (unsigned long)(messages * options.size), seconds, cpu_seconds);
	histogram_print(&latencies, stdout);
	printf("}\n");
}

static void produce(void) {
	rd_kafka_t *rk = new_client(RD_KAFKA_PRODUCER);
	rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, options.topic, NULL);
	char *payload = malloc(options.size);
	if (!topic || !payload)
		fail("no topic or no memory");
	memset(payload, 'x', options.size);

	/* Metadata and the connection come first, so that only produced messages are timed. */
	const struct rd_kafka_metadata *metadata;
	if (rd_kafka_metadata(rk, 0, topic, &metadata, 10000) != RD_KAFKA_RESP_ERR_NO_ERROR)
		fail("no metadata from %s", options.brokers);
	rd_kafka_metadata_destroy(metadata);

	uint64_t start_ns = now_ns(), deadline_ns = deadline(), sent = 0;
	while (sent < options.count && now_ns() < deadline_ns) {
		for (unsigned i = 0; i < POLL_EVERY && sent < options.count;) {
			int32_t partition = (int32_t)(sent % (uint64_t)options.partitions);
			if (rd_kafka_produce(topic, partition, 0, payload, options.size, NULL, 0, NULL) == 0) {
				sent++, i++;
			} else if (rd_kafka_last_error() == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
				rd_kafka_poll(rk, 10);
				if (now_ns() >= deadline_ns)
					break;
			} else {
				fail("%s", rd_kafka_err2str(rd_kafka_last_error()));
			}
		}
		rd_kafka_poll(rk, 0);
	}
	rd_kafka_flush(rk, 30000);
	double seconds = (double)(now_ns() - start_ns) / 1e9;
	if (failed || delivered != sent)
		fail("%lu of %lu messages were not acknowledged", (unsigned long)(sent - delivered),
		     (unsigned long)sent);
	for (uint64_t until = now_ns() + STATISTICS_WAIT_NS; now_ns() < until;)
		rd_kafka_poll(rk, 50);
	print_result(delivered, produce_requests, seconds);
	rd_kafka_topic_destroy(topic);
	rd_kafka_destroy(rk);
	free(payload);
}

static rd_kafka_t *new_consumer(void) {
	rd_kafka_t *rk = new_client(RD_KAFKA_CONSUMER);
	rd_kafka_poll_set_consumer(rk);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(options.partitions);
	for (int32_t i = 0; i < options.partitions; i++)
		rd_kafka_topic_partition_list_add(list, options.topic, i)->offset = RD_KAFKA_OFFSET_BEGINNING;
	if (rd_kafka_assign(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		fail("the partitions cannot be assigned");
	rd_kafka_topic_partition_list_destroy(list);
	return rk;
}

static void consume(void) {
	rd_kafka_t *rk = new_consumer();
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(rk);
	static rd_kafka_message_t *messages[CONSUME_BATCH];
	uint64_t seen = 0, first_ns = 0, last_ns = 0, deadline_ns = deadline();
	while (seen < options.count && now_ns() < deadline_ns) {
		ssize_t n = rd_kafka_consume_batch_queue(queue, 100, messages, CONSUME_BATCH);
		for (ssize_t i = 0; i < n; i++) {
			if (messages[i]->err)
				fail("%s", rd_kafka_message_errstr(messages[i]));
			rd_kafka_message_destroy(messages[i]);
		}
		if (n <= 0)
			continue;
		/* The first messages came while nothing was timed: they start the clock. */
		last_ns = now_ns();
		if (first_ns == 0)
			first_ns = last_ns;
		else
			seen += (uint64_t)n;
		if (seen == 0)
			options.count = options.count > (uint64_t)n ? options.count - (uint64_t)n : 0;
	}
	if (seen < options.count)
		fail("%lu messages were still missing", (unsigned long)(options.count - seen));
	for (uint64_t until = now_ns() + STATISTICS_WAIT_NS; now_ns() < until;)
		rd_kafka_consumer_poll(rk, 50);
	print_result(seen, fetch_requests, (double)(last_ns - first_ns) / 1e9);
	rd_kafka_queue_destroy(queue);
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}

struct reading {
	rd_kafka_t *rk;
	uint64_t expected, warm_up, seen, deadline_ns;
};

static void *read_timed(void *argument) {
	struct reading *reading = argument;
	while (reading->seen < reading->expected && now_ns() < reading->deadline_ns) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(reading->rk, 100);
		if (!message)
			continue;
		if (!message->err && message->len >= sizeof(uint64_t)) {
			uint64_t sent_ns;
			memcpy(&sent_ns, message->payload, sizeof sent_ns);
			if (reading->seen++ >= reading->warm_up)
				histogram_record(&latencies, now_ns() - sent_ns);
		}
		rd_kafka_message_destroy(message);
	}
	return NULL;
}

static void sleep_until(uint64_t at_ns) {
	struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000u), .tv_nsec = (long)(at_ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void latency(void) {
	rd_kafka_t *producer = new_client(RD_KAFKA_PRODUCER);
	rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, options.topic, NULL);
	struct reading reading = {
		.rk = new_consumer(),
		.expected = options.count,
		.warm_up = (uint64_t)((double)options.count * WARM_UP_SHARE),
		.deadline_ns = deadline(),
	};
	pthread_t thread;
	if (pthread_create(&thread, NULL, read_timed, &reading) != 0)
		fail("no thread");
	usleep(SETTLE_US);

	char *payload = calloc(1, options.size);
	uint64_t start_ns = now_ns();
	for (uint64_t i = 0; i < options.count && now_ns() < reading.deadline_ns; i++) {
		sleep_until(start_ns + (uint64_t)((double)i * 1e9 / options.rate));
		uint64_t sent_ns = now_ns();
		memcpy(payload, &sent_ns, sizeof sent_ns);
		int32_t partition = (int32_t)(i % (uint64_t)options.partitions);
		if (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, payload, options.size, NULL, 0,
		                     NULL) != 0)
			fail("%s", rd_kafka_err2str(rd_kafka_last_error()));
		rd_kafka_poll(producer, 0);
	}
	rd_kafka_flush(producer, 10000);
	double seconds = (double)(now_ns() - start_ns) / 1e9;
	pthread_join(thread, NULL);
	if (failed || reading.seen < reading.expected)
		fail("%lu messages never arrived", (unsigned long)(reading.expected - reading.seen));
	print_result(reading.seen, 0, seconds);
	rd_kafka_topic_destroy(topic);
	rd_kafka_destroy(producer);
	rd_kafka_consumer_close(reading.rk);
	rd_kafka_destroy(reading.rk);
	free(payload);
}

static void mock(void) {
	/* Blocked before any thread exists, so that only sigtimedwait sees the signals. */
	sigset_t stops;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	pthread_sigmask(SIG_BLOCK, &stops, NULL);

	options.brokers = "";
	rd_kafka_t *rk = new_client(RD_KAFKA_PRODUCER);
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, 1);
	if (!cluster || rd_kafka_mock_topic_create(cluster, options.topic, options.partitions, 1) != 0)
		fail("the mock cluster cannot be started");
	char temporary[4096];
	snprintf(temporary, sizeof temporary, "%s.new", options.ready_file);
	FILE *file = fopen(temporary, "w");
	if (!file)
		fail("cannot write %s", temporary);
	fprintf(file, "{\"kafka\": \"%s\"}\n", rd_kafka_mock_cluster_bootstraps(cluster));
	fclose(file);
	if (rename(temporary, options.ready_file) != 0)
		fail("cannot write %s", options.ready_file);
	struct timespec limit = {.tv_sec = (time_t)options.seconds};
	sigtimedwait(&stops, NULL, &limit);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(rk);
}

static void parse_options(int argc, char **argv) {
	static const struct option names[] = {
		{"brokers", 1, 0, 'b'}, {"topic", 1, 0, 't'}, {"partitions", 1, 0, 'p'},
		{"size", 1, 0, 's'}, {"count", 1, 0, 'n'}, {"seconds", 1, 0, 'T'},
		{"rate", 1, 0, 'r'}, {"ready-file", 1, 0, 'f'}, {0, 0, 0, 0}};
	for (int name; (name = getopt_long(argc, argv, "X:", names, NULL)) != -1;) {
		switch (name) {
		case 'b': options.brokers = optarg; break;
		case 't': options.topic = optarg; break;
		case 'p': options.partitions = atoi(optarg); break;
		case 's': options.size = strtoul(optarg, NULL, 10); break;
		case 'n': options.count = strtoull(optarg, NULL, 10); break;
		case 'T': options.seconds = atof(optarg); break;
		case 'r': options.rate = atof(optarg); break;
		case 'f': options.ready_file = optarg; break;
		case 'X':
			if (options.overrides_count == OVERRIDES_MAX)
				fail("more than %d times -X", OVERRIDES_MAX);
			options.overrides[options.overrides_count++] = optarg;
			break;
		default: exit(2);
		}
	}
	if (options.size < sizeof(uint64_t) || options.size > SIZE_MAX_BYTES || options.partitions < 1 ||
	    options.rate <= 0)
		fail("an option is out of bounds");
}

int main(int argc, char **argv) {
	if (argc < 2)
		fail("say produce, consume, latency, mock or version");
	const char *mode = argv[1];
	parse_options(argc - 1, argv + 1);
	if (strcmp(mode, "produce") == 0)
		produce();
	else if (strcmp(mode, "consume") == 0)
		consume();
	else if (strcmp(mode, "latency") == 0)
		latency();
	else if (strcmp(mode, "mock") == 0 && options.ready_file)
		mock();
	else if (strcmp(mode, "version") == 0)
		printf("{\"version\": \"%s\"}\n", rd_kafka_version_str());
	else
		fail("say produce, consume, latency, version, or mock --ready-file FILE");
	return 0;
}
