/* Sends pre-encoded HTTP/1.1 requests over kept connections, and times the answers.
 *
 * Load must not be the bottleneck, so nothing is encoded here: the requests lie in a
 * file, each behind its length (32 bits, big-endian), and are sent in the order of the
 * file, from its start again when it ends, with one unanswered request on each of N
 * connections. Bodies of answers can be captured, in the same format, so that requests
 * which need them (a deletion needs its receipt) can be encoded for a later run. One
 * thread, one epoll. Prints one JSON object.
 */
#define _GNU_SOURCE
#include "histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECTIONS_MAX 20000
#define EVENTS_MAX 1000
#define ANSWER_BYTES_MAX (4u << 20)
#define HEAD_BYTES_MAX (16u << 10)
#define DRAIN_SECONDS 30u

struct options {
	const char *host;
	int port;
	const char *requests_path;
	const char *capture_path;
	const char *counted;
	int connections;
	uint64_t count;
	double seconds;
	int any_status;
};

struct connection {
	int fd;
	int want_write;
	const uint8_t *out;
	size_t out_bytes, out_sent;
	uint64_t sent_at_ns;
	uint8_t *in;
	size_t in_bytes, in_capacity;
	size_t head_bytes, answer_bytes;
	int status;
	int closes;
};

static struct options options = {
	.host = "127.0.0.1", .connections = 1, .count = 1, .seconds = 10,
};
static const uint8_t *requests;
static size_t requests_bytes, next_at;
static uint64_t issued, answered, refused, found, sent_bytes, received_bytes, deadline_ns;
static struct histogram latencies;
static FILE *capture;

static void fail(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	fputs("http_load: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

static uint32_t read_u32(const uint8_t *at) {
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return ntohl(value);
}

static void map_requests(void) {
	int fd = open(options.requests_path, O_RDONLY);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) != 0)
		fail("cannot open %s: %s", options.requests_path, strerror(errno));
	requests_bytes = (size_t)status.st_size;
	requests = mmap(NULL, requests_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (requests == MAP_FAILED)
		fail("cannot map %s: %s", options.requests_path, strerror(errno));
	for (size_t at = 0; at < requests_bytes;) {
		size_t left = requests_bytes - at;
		if (left < 4 || read_u32(requests + at) == 0 || read_u32(requests + at) > left - 4)
			fail("%s is not a series of length-prefixed requests", options.requests_path);
		at += 4 + read_u32(requests + at);
	}
}

/* Leaves the connection without a request when all have been issued or time is up. */
static void take_request(struct connection *c) {
	uint64_t now = now_ns();
	c->out = NULL;
	c->out_bytes = c->out_sent = 0;
	if (issued == options.count || now >= deadline_ns)
		return;
	c->out_bytes = read_u32(requests + next_at);
	c->out = requests + next_at + 4;
	next_at += 4 + c->out_bytes;
	if (next_at == requests_bytes)
		next_at = 0;
	c->sent_at_ns = now;
	sent_bytes += c->out_bytes;
	issued++;
}

static void watch(int epoll, struct connection *c, int operation, int want_write) {
	struct epoll_event event = {.events = EPOLLIN | (want_write ? EPOLLOUT : 0), .data.ptr = c};
	if (epoll_ctl(epoll, operation, c->fd, &event) != 0)
		fail("epoll_ctl: %s", strerror(errno));
	c->want_write = want_write;
}

static void flush(int epoll, struct connection *c) {
	while (c->out_sent < c->out_bytes) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_bytes - c->out_sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			fail("send: %s", strerror(errno));
		c->out_sent += (size_t)n;
	}
	int want_write = c->out_sent < c->out_bytes;
	if (want_write != c->want_write)
		watch(epoll, c, EPOLL_CTL_MOD, want_write);
}

static void connect_to_server(struct connection *c) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
	if (inet_pton(AF_INET, options.host, &address.sin_addr) != 1)
		fail("%s is not an IPv4 address", options.host);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail("connect: %s", strerror(errno));
	int on = 1;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
}

/* Some servers keep no connection; their clients pay for it, and so does the figure. */
static void reconnect(int epoll, struct connection *c) {
	close(c->fd);
	connect_to_server(c);
	watch(epoll, c, EPOLL_CTL_ADD, 0);
}

/* Status, length and whether the connection ends, out of a head that is complete. */
static void parse_head(struct connection *c) {
	char *head = (char *)c->in;
	long length = -1;
	if (c->head_bytes < 13 || memcmp(head, "HTTP/1.", 7) != 0)
		fail("an answer does not begin like one of HTTP/1.1");
	c->status = atoi(head + 9);
	c->closes = head[7] == '0';
	char *end = head + c->head_bytes;
	for (char *line = memchr(head, '\n', c->head_bytes); line && line + 1 < end;
	     line = memchr(line + 1, '\n', (size_t)(end - line - 1))) {
		if (strncasecmp(line + 1, "content-length:", 15) == 0)
			length = atol(line + 16);
		else if (strncasecmp(line + 1, "connection: close", 17) == 0)
			c->closes = 1;
	}
	if (length < 0 && c->status != 204)
		fail("an answer has no Content-Length");
	c->answer_bytes = c->head_bytes + (length < 0 ? 0 : (size_t)length);
	if (c->answer_bytes > ANSWER_BYTES_MAX)
		fail("an answer of %lu bytes is too long", (unsigned long)c->answer_bytes);
}

static void count_in(const uint8_t *body, size_t size) {
	size_t wanted = strlen(options.counted);
	for (const uint8_t *at; (at = memmem(body, size, options.counted, wanted)); found++) {
		size -= (size_t)(at - body) + wanted;
		body = at + wanted;
	}
}

static void finish(int epoll, struct connection *c) {
	const uint8_t *body = c->in + c->head_bytes;
	size_t body_bytes = c->answer_bytes - c->head_bytes;
	histogram_record(&latencies, now_ns() - c->sent_at_ns);
	answered++;
	if (c->status < 200 || c->status > 299) {
		if (!options.any_status)
			fail("the server answered %d: %.*s", c->status, (int)body_bytes, body);
		refused++;
	}
	if (options.counted)
		count_in(body, body_bytes);
	if (capture) {
		uint32_t prefix = htonl((uint32_t)body_bytes);
		if (fwrite(&prefix, 4, 1, capture) != 1 ||
		    fwrite(body, 1, body_bytes, capture) != body_bytes)
			fail("cannot write %s: %s", options.capture_path, strerror(errno));
	}
	c->in_bytes = c->head_bytes = c->answer_bytes = 0;
	if (c->closes)
		reconnect(epoll, c);
	take_request(c);
	flush(epoll, c);
}

static void receive(int epoll, struct connection *c) {
	if (c->in_bytes == c->in_capacity) {
		c->in_capacity *= 2;
		c->in = realloc(c->in, c->in_capacity);
		if (!c->in)
			fail("out of memory");
	}
	ssize_t n = recv(c->fd, c->in + c->in_bytes, c->in_capacity - c->in_bytes, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0)
		fail("recv: %s", strerror(errno));
	if (n == 0)
		fail("the server closed a connection");
	if (!c->out)
		fail("an answer came that nothing asked for");
	received_bytes += (uint64_t)n;
	c->in_bytes += (size_t)n;
	if (!c->head_bytes) {
		uint8_t *end = memmem(c->in, c->in_bytes, "\r\n\r\n", 4);
		if (!end && c->in_bytes > HEAD_BYTES_MAX)
			fail("the head of an answer is too long");
		if (!end)
			return;
		c->head_bytes = (size_t)(end - c->in) + 4;
		parse_head(c);
	}
	if (c->in_bytes > c->answer_bytes)
		fail("an answer is longer than it says");
	if (c->in_bytes == c->answer_bytes)
		finish(epoll, c);
}

static void run(int epoll, struct connection *connections) {
	for (int i = 0; i < options.connections; i++) {
		watch(epoll, &connections[i], EPOLL_CTL_ADD, 0);
		take_request(&connections[i]);
		flush(epoll, &connections[i]);
	}
	struct epoll_event events[EVENTS_MAX];
	while (answered < issued) {
		int ready = epoll_wait(epoll, events, EVENTS_MAX, 1000);
		if (ready < 0 && errno != EINTR)
			fail("epoll_wait: %s", strerror(errno));
		if (now_ns() > deadline_ns + DRAIN_SECONDS * 1000000000ull)
			fail("%lu requests were never answered", (unsigned long)(issued - answered));
		for (int i = 0; i < ready; i++) {
			struct connection *c = events[i].data.ptr;
			if (events[i].events & EPOLLOUT)
				flush(epoll, c);
			if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				receive(epoll, c);
		}
	}
}

static void parse_options(int argc, char **argv) {
	static const struct option names[] = {
		{"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"requests", 1, 0, 'r'},
		{"connections", 1, 0, 'c'}, {"count", 1, 0, 'n'}, {"seconds", 1, 0, 's'},
		{"capture", 1, 0, 'w'}, {"count-in-bodies", 1, 0, 'f'}, {"any-status", 0, 0, 'a'},
		{0, 0, 0, 0}};
	for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (name) {
		case 'h': options.host = optarg; break;
		case 'p': options.port = atoi(optarg); break;
		case 'r': options.requests_path = optarg; break;
		case 'c': options.connections = atoi(optarg); break;
		case 'n': options.count = strtoull(optarg, NULL, 10); break;
		case 's': options.seconds = atof(optarg); break;
		case 'w': options.capture_path = optarg; break;
		case 'f': options.counted = optarg; break;
		case 'a': options.any_status = 1; break;
		default: exit(2);
		}
	}
	if (!options.requests_path || options.connections < 1 ||
	    options.connections > CONNECTIONS_MAX || (options.counted && !*options.counted))
		fail("an option is missing or out of bounds");
}

int main(int argc, char **argv) {
	parse_options(argc, argv);
	map_requests();
	if (options.capture_path && !(capture = fopen(options.capture_path, "wb")))
		fail("cannot open %s: %s", options.capture_path, strerror(errno));

	struct connection *connections = calloc((size_t)options.connections, sizeof *connections);
	if (!connections)
		fail("out of memory");
	for (int i = 0; i < options.connections; i++) {
		connections[i].in_capacity = HEAD_BYTES_MAX;
		connections[i].in = malloc(HEAD_BYTES_MAX);
		if (!connections[i].in)
			fail("out of memory");
		connect_to_server(&connections[i]);
	}

	uint64_t start_ns = now_ns();
	deadline_ns = start_ns + (uint64_t)(options.seconds * 1e9);
	run(epoll_create1(0), connections);
	double seconds = (double)(now_ns() - start_ns) / 1e9;
	if (capture && fclose(capture) != 0)
		fail("cannot write %s: %s", options.capture_path, strerror(errno));

	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	double cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("{\"requests\": %lu, \"refused\": %lu, \"found\": %lu, \"bytes_sent\": %lu, "
	       "\"bytes_received\": %lu, \"seconds\": %.6f, \"client_cpu_seconds\": %.6f, ",
	       (unsigned long)answered, (unsigned long)refused, (unsigned long)found,
	       (unsigned long)sent_bytes, (unsigned long)received_bytes, seconds, cpu_seconds);
	histogram_print(&latencies, stdout);
	printf("}\n");
	return 0;
}
