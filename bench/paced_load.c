/* Publishes at a steady rate on one connection, receives on another, and times each message.
 *
 * For servers of other protocols than Kafka's; rdkafka_load.c does the same for those. All that
 * is sent was encoded beforehand: what each connection begins with, the message, and what the
 * receiver says to be sent more. A message holds the byte '~' and 16 hexadecimal digits, which
 * become the time when it was sent; that is how it is found again in what is received.
 *
 * The receiver says --more after every so many messages (--more-every), or, where an answer of
 * Redis ends (--more-every 0). One thread sends, one receives. Prints one JSON object.
 */
#define _GNU_SOURCE
#include "histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define STAMP "~0000000000000000"
#define STAMP_DIGITS 16u
#define SCRATCH_BYTES (256u << 10)
#define FILE_BYTES_MAX (1u << 20)
#define SETTLE_US 500000u
#define WARM_UP_SHARE 0.1
#define DRAIN_SECONDS 10u

struct piece {
	uint8_t *data;
	size_t bytes;
};

/* How much of an answer of Redis is still to come: elements, and bytes of the present one. */
struct resp {
	char line[32];
	size_t line_have;
	long elements;
	uint64_t skip;
};

static const char *host = "127.0.0.1";
static int port;
static uint64_t count = 1, more_every = 1, seen, deadline_ns;
static double rate = 1000, seconds_max = 30;
static struct piece publisher_hello, receiver_hello, message, more;
static struct histogram latencies;

static void fail(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	fputs("paced_load: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

static struct piece read_piece(const char *path) {
	struct piece piece = {.data = malloc(FILE_BYTES_MAX)};
	FILE *file = fopen(path, "rb");
	if (!file || !piece.data)
		fail("cannot read %s: %s", path, strerror(errno));
	piece.bytes = fread(piece.data, 1, FILE_BYTES_MAX, file);
	fclose(file);
	return piece;
}

static void send_piece(int fd, const struct piece *piece) {
	for (size_t sent = 0; sent < piece->bytes;) {
		ssize_t n = send(fd, piece->data + sent, piece->bytes - sent, MSG_NOSIGNAL);
		if (n < 0)
			fail("send: %s", strerror(errno));
		sent += (size_t)n;
	}
}

static int open_connection(void) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail("connect: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	struct timeval patience = {.tv_usec = 100000};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return fd;
}

/* Whether an answer ends with this byte. */
static int resp_ends(struct resp *resp, uint8_t byte) {
	if (resp->skip > 0)
		return --resp->skip == 0 && resp->elements == 0;
	if (byte != '\n') {
		if (resp->line_have < sizeof resp->line - 1)
			resp->line[resp->line_have++] = (char)byte;
		return 0;
	}
	resp->line[resp->line_have] = '\0';
	resp->line_have = 0;
	if (resp->elements > 0)
		resp->elements--;
	if (resp->line[0] == '-')
		fail("the server answered %s", resp->line);
	if (resp->line[0] == '*')
		resp->elements += atol(resp->line + 1);
	else if (resp->line[0] == '$') {
		resp->skip = strtoull(resp->line + 1, NULL, 10) + 2;
		return 0;
	}
	return resp->elements == 0;
}

static void record(const char *digits) {
	uint64_t sent_ns = strtoull(digits, NULL, 16);
	if (seen++ >= (uint64_t)((double)count * WARM_UP_SHARE))
		histogram_record(&latencies, now_ns() - sent_ns);
}

static void *receive_all(void *argument) {
	static uint8_t scratch[SCRATCH_BYTES];
	int fd = *(int *)argument;
	struct resp resp = {0};
	char digits[STAMP_DIGITS + 1] = {0};
	unsigned have = 0;
	int in_stamp = 0;
	while (seen < count && now_ns() < deadline_ns) {
		ssize_t n = recv(fd, scratch, sizeof scratch, 0);
		if (n == 0)
			fail("the server closed the receiver's connection");
		for (ssize_t i = 0; i < n; i++) {
			uint8_t byte = scratch[i];
			if (byte == '~') {
				in_stamp = 1;
				have = 0;
			} else if (in_stamp) {
				digits[have++] = (char)byte;
				if ((byte < '0' || byte > '9') && (byte < 'a' || byte > 'f')) {
					in_stamp = 0;
				} else if (have == STAMP_DIGITS) {
					in_stamp = 0;
					record(digits);
					if (more_every > 0 && seen % more_every == 0)
						send_piece(fd, &more);
				}
			}
			if (more_every == 0 && resp_ends(&resp, byte) && seen < count)
				send_piece(fd, &more);
		}
	}
	return NULL;
}

static void sleep_until(uint64_t at_ns) {
	struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000u), .tv_nsec = (long)(at_ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static double publish_all(int fd) {
	static uint8_t ignored[SCRATCH_BYTES];
	uint8_t *stamp = memmem(message.data, message.bytes, STAMP, strlen(STAMP));
	if (!stamp)
		fail("the message has no room for the time");
	uint64_t start_ns = now_ns();
	for (uint64_t i = 0; i < count && now_ns() < deadline_ns; i++) {
		sleep_until(start_ns + (uint64_t)((double)i * 1e9 / rate));
		char digits[STAMP_DIGITS + 1];
		snprintf(digits, sizeof digits, "%016lx", (unsigned long)now_ns());
		memcpy(stamp + 1, digits, STAMP_DIGITS);
		send_piece(fd, &message);
		while (recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) > 0)
			;
	}
	return (double)(now_ns() - start_ns) / 1e9;
}

static void parse_options(int argc, char **argv) {
	static const struct option names[] = {
		{"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"publisher-hello", 1, 0, 'P'},
		{"receiver-hello", 1, 0, 'R'}, {"message", 1, 0, 'm'}, {"more", 1, 0, 'M'},
		{"more-every", 1, 0, 'e'}, {"count", 1, 0, 'n'}, {"rate", 1, 0, 'r'},
		{"seconds", 1, 0, 's'}, {0, 0, 0, 0}};
	for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (name) {
		case 'h': host = optarg; break;
		case 'p': port = atoi(optarg); break;
		case 'P': publisher_hello = read_piece(optarg); break;
		case 'R': receiver_hello = read_piece(optarg); break;
		case 'm': message = read_piece(optarg); break;
		case 'M': more = read_piece(optarg); break;
		case 'e': more_every = strtoull(optarg, NULL, 10); break;
		case 'n': count = strtoull(optarg, NULL, 10); break;
		case 'r': rate = atof(optarg); break;
		case 's': seconds_max = atof(optarg); break;
		default: exit(2);
		}
	}
	if (!message.data || rate <= 0 || seconds_max <= 0)
		fail("an option is missing or out of bounds");
}

int main(int argc, char **argv) {
	parse_options(argc, argv);
	int publisher = open_connection(), receiver = open_connection();
	deadline_ns = now_ns() + (uint64_t)(seconds_max * 1e9);
	send_piece(publisher, &publisher_hello);
	send_piece(receiver, &receiver_hello);
	if (more_every == 0)
		send_piece(receiver, &more);
	usleep(SETTLE_US);
	pthread_t thread;
	if (pthread_create(&thread, NULL, receive_all, &receiver) != 0)
		fail("no thread");
	double seconds = publish_all(publisher);
	deadline_ns = now_ns() + DRAIN_SECONDS * 1000000000ull;
	pthread_join(thread, NULL);
	if (seen < count)
		fail("%lu messages never arrived", (unsigned long)(count - seen));

	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	double cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("{\"messages\": %lu, \"requests\": 0, \"bytes\": %lu, \"seconds\": %.6f, "
	       "\"client_cpu_seconds\": %.6f, ",
	       (unsigned long)seen, (unsigned long)(seen * message.bytes), seconds, cpu_seconds);
	histogram_print(&latencies, stdout);
	printf("}\n");
	return 0;
}
