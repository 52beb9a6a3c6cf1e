/* Sends one pre-encoded request over and over, and times the answers.
 *
 * Load must not be the bottleneck, so nothing is encoded here: a frame made by
 * bench/requests.py is copied, its correlation id (and, where asked, partition
 * and fetch offset) patched, and sent over N connections with up to D requests
 * unanswered on each. One thread, one epoll. Prints one JSON object.
 *
 * Servers of other protocols than Kafka's are driven by the same loop: a connection
 * sends --hello first, and answers.h tells answers apart. Where these or the request
 * have the text @@@@, each connection puts its own number there.
 */
#define _GNU_SOURCE
#include "answers.h"
#include "histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1000
#define DEPTH_MAX 10000
#define FRAME_BYTES_MAX (64u << 20)
#define SEND_BUFFER_BYTES (256u << 10)
#define HELLO_BYTES_MAX 4096u
#define SCRATCH_BYTES (256u << 10)
#define HEAD_BYTES 1024u
#define DRAIN_SECONDS 30u
#define CORRELATION_AT 8
#define RESPONSE_CORRELATION_AT 4
#define NUMBER_PLACE "@@@@"
#define NUMBER_DIGITS 4

struct options {
	const char *host;
	int port;
	const char *request_path;
	int connections;
	int depth;
	uint64_t count;
	double seconds;
	int error_at;
	int partition_at;
	uint32_t partitions;
	int offset_at;
	uint64_t offset_step;
	uint64_t offset_wrap;
	uint32_t response_bytes_min;
	const char *hello_path;
	struct answers answers;
};

struct connection {
	int fd;
	int number;
	int want_write;
	uint8_t *request, *out;
	size_t out_bytes, out_sent;
	uint64_t *sent_at_ns;
	uint32_t issued, answered;
	uint8_t head[HEAD_BYTES];
	uint64_t frame_have, frame_bytes;
	struct answers answers;
};

static struct options options = {
	.host = "127.0.0.1", .connections = 1, .depth = 1, .count = 1, .seconds = 10,
	.error_at = -1, .partition_at = -1, .partitions = 1, .offset_at = -1, .offset_wrap = 1,
	.answers = {.markers = 1},
};
static uint8_t *request, *hello;
static size_t request_bytes, hello_bytes, out_capacity;
static uint32_t head_need = 8;
static uint64_t issued, answered, received_bytes, deadline_ns;
static struct histogram latencies;
static uint8_t scratch[SCRATCH_BYTES];

static void fail(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	fputs("load: ", stderr);
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

static void write_u32(uint8_t *at, uint32_t value) {
	value = htonl(value);
	memcpy(at, &value, sizeof value);
}

static void write_u64(uint8_t *at, uint64_t value) {
	write_u32(at, (uint32_t)(value >> 32));
	write_u32(at + 4, (uint32_t)value);
}

static uint8_t *read_file(const char *path, size_t *bytes) {
	FILE *file = fopen(path, "rb");
	if (!file)
		fail("cannot open %s: %s", path, strerror(errno));
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	if (size < 1 || (unsigned long)size > FRAME_BYTES_MAX)
		fail("a request of %ld bytes is not sendable", size);
	*bytes = (size_t)size;
	uint8_t *data = malloc(*bytes);
	if (!data || fread(data, 1, *bytes, file) != *bytes)
		fail("cannot read %s", path);
	fclose(file);
	return data;
}

static void load_request(void) {
	request = read_file(options.request_path, &request_bytes);
	if (options.hello_path)
		hello = read_file(options.hello_path, &hello_bytes);
	if (hello_bytes > HELLO_BYTES_MAX)
		fail("%s is too long", options.hello_path);
	if (options.answers.framing == FRAMING_KAFKA &&
	    (request_bytes < 12 || read_u32(request) != request_bytes - 4))
		fail("%s is not one length-prefixed frame", options.request_path);
}

static void put_number(uint8_t *text, size_t bytes, int number) {
	uint8_t *at = memmem(text, bytes, NUMBER_PLACE, NUMBER_DIGITS);
	for (int i = NUMBER_DIGITS; at && i-- > 0; number /= 10)
		at[i] = (uint8_t)('0' + number % 10);
}

/* Requests visit the partitions in turn and, once round, step to the next offset. */
static void patch(uint8_t *frame, uint32_t correlation, uint64_t number) {
	write_u32(frame + CORRELATION_AT, correlation);
	if (options.partition_at >= 0)
		write_u32(frame + options.partition_at, (uint32_t)(number % options.partitions));
	if (options.offset_at >= 0)
		write_u64(frame + options.offset_at,
		          number / options.partitions * options.offset_step % options.offset_wrap);
}

static void fill(struct connection *c) {
	if (c->out_sent == c->out_bytes)
		c->out_sent = c->out_bytes = 0;
	uint64_t now = now_ns();
	if (now >= deadline_ns)
		return;
	while (issued < options.count && c->issued - c->answered < (uint32_t)options.depth &&
	       c->out_bytes + request_bytes <= out_capacity) {
		uint8_t *frame = c->out + c->out_bytes;
		memcpy(frame, c->request, request_bytes);
		if (options.answers.framing == FRAMING_KAFKA)
			patch(frame, c->issued, issued);
		issued++;
		c->sent_at_ns[c->issued++ % (uint32_t)options.depth] = now;
		c->out_bytes += request_bytes;
	}
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

static void count_answer(struct connection *c, uint64_t now) {
	histogram_record(&latencies, now - c->sent_at_ns[c->answered % (uint32_t)options.depth]);
	c->answered++;
	answered++;
}

static void finish(struct connection *c, uint64_t now) {
	if (options.error_at >= 0) {
		uint32_t correlation = read_u32(c->head + RESPONSE_CORRELATION_AT);
		if (correlation != c->answered)
			fail("answer %u came where %u was due", correlation, c->answered);
		if (c->frame_bytes < head_need)
			fail("an answer of %lu bytes holds no error code", (unsigned long)c->frame_bytes);
		int error = (int16_t)(c->head[options.error_at] << 8 | c->head[options.error_at + 1]);
		if (error != 0)
			fail("the server answered with error code %d", error);
	}
	if (c->frame_bytes < options.response_bytes_min)
		fail("an answer of %lu bytes is shorter than %u", (unsigned long)c->frame_bytes,
		     options.response_bytes_min);
	c->frame_have = c->frame_bytes = 0;
	count_answer(c, now);
}

/* Only the head of an answer is kept: enough for its length, correlation id and error. */
static void consume(struct connection *c, const uint8_t *data, size_t size) {
	uint64_t now = now_ns();
	while (size > 0) {
		if (c->issued == c->answered)
			fail("an answer came that nothing asked for");
		uint64_t want = c->frame_have < 4 ? 4 - c->frame_have : c->frame_bytes - c->frame_have;
		size_t take = want < size ? (size_t)want : size;
		if (c->frame_have < head_need) {
			size_t keep = head_need - c->frame_have;
			memcpy(c->head + c->frame_have, data, take < keep ? take : keep);
		}
		c->frame_have += take;
		data += take;
		size -= take;
		if (c->frame_have == 4)
			c->frame_bytes = 4 + (uint64_t)read_u32(c->head);
		if (c->frame_have >= 4 && c->frame_have == c->frame_bytes)
			finish(c, now);
	}
}

/* What comes after the last answer is its end, or what was not asked for yet is pushed. */
static void consume_others(struct connection *c, const uint8_t *data, size_t size) {
	uint64_t now = now_ns(), complete = answers_in(&c->answers, data, size);
	if (c->answers.refusal)
		fail("%s", c->answers.refusal);
	for (; complete > 0 && c->answered != c->issued; complete--)
		count_answer(c, now);
}

static void receive(struct connection *c) {
	ssize_t n = recv(c->fd, scratch, sizeof scratch, 0);
	if (n == 0)
		fail("the server closed a connection");
	if (n < 0 && errno != EAGAIN)
		fail("recv: %s", strerror(errno));
	if (n > 0) {
		received_bytes += (uint64_t)n;
		if (options.answers.framing == FRAMING_KAFKA)
			consume(c, scratch, (size_t)n);
		else
			consume_others(c, scratch, (size_t)n);
	}
}

static void say_hello(struct connection *c) {
	if (!hello)
		return;
	uint8_t own[HELLO_BYTES_MAX];
	memcpy(own, hello, hello_bytes);
	put_number(own, hello_bytes, c->number);
	if (send(c->fd, own, hello_bytes, MSG_NOSIGNAL) != (ssize_t)hello_bytes)
		fail("the server does not take what a connection begins with");
}

static void open_connection(struct connection *c) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
	if (inet_pton(AF_INET, options.host, &address.sin_addr) != 1)
		fail("%s is not an IPv4 address", options.host);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail("connect: %s", strerror(errno));
	int on = 1;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c->answers = options.answers;
	c->request = malloc(request_bytes);
	c->out = malloc(out_capacity);
	c->sent_at_ns = calloc((size_t)options.depth, sizeof *c->sent_at_ns);
	if (!c->request || !c->out || !c->sent_at_ns)
		fail("out of memory");
	memcpy(c->request, request, request_bytes);
	put_number(c->request, request_bytes, c->number);
	say_hello(c);
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
}

static void run(int epoll, struct connection *connections) {
	for (int i = 0; i < options.connections; i++) {
		watch(epoll, &connections[i], EPOLL_CTL_ADD, 0);
		fill(&connections[i]);
		flush(epoll, &connections[i]);
	}
	struct epoll_event events[CONNECTIONS_MAX];
	while (answered < issued) {
		int ready = epoll_wait(epoll, events, options.connections, 1000);
		if (ready < 0 && errno != EINTR)
			fail("epoll_wait: %s", strerror(errno));
		if (now_ns() > deadline_ns + DRAIN_SECONDS * 1000000000ull)
			fail("%lu requests were never answered", (unsigned long)(issued - answered));
		for (int i = 0; i < ready; i++) {
			struct connection *c = events[i].data.ptr;
			if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				receive(c);
			fill(c);
			flush(epoll, c);
		}
	}
}

static enum framing framing_named(const char *name) {
	static const char *const names[] = {"kafka", "marked", "amqp"};
	for (int i = 0; i < 3; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum framing)i;
	fail("%s is no framing", name);
	return FRAMING_KAFKA;
}

static void parse_options(int argc, char **argv) {
	static const struct option names[] = {
		{"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"request", 1, 0, 'r'},
		{"connections", 1, 0, 'c'}, {"depth", 1, 0, 'd'}, {"count", 1, 0, 'n'},
		{"seconds", 1, 0, 's'}, {"error-at", 1, 0, 'e'}, {"partition-at", 1, 0, 'P'},
		{"partitions", 1, 0, 'N'}, {"offset-at", 1, 0, 'O'}, {"offset-step", 1, 0, 'S'},
		{"offset-wrap", 1, 0, 'W'}, {"response-bytes-min", 1, 0, 'm'},
		{"framing", 1, 0, 'f'}, {"hello", 1, 0, 'H'}, {"marker", 1, 0, 'k'},
		{"markers", 1, 0, 'K'}, {0, 0, 0, 0}};
	for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (name) {
		case 'h': options.host = optarg; break;
		case 'p': options.port = atoi(optarg); break;
		case 'r': options.request_path = optarg; break;
		case 'c': options.connections = atoi(optarg); break;
		case 'd': options.depth = atoi(optarg); break;
		case 'n': options.count = strtoull(optarg, NULL, 10); break;
		case 's': options.seconds = atof(optarg); break;
		case 'e': options.error_at = atoi(optarg); break;
		case 'P': options.partition_at = atoi(optarg); break;
		case 'N': options.partitions = (uint32_t)atoi(optarg); break;
		case 'O': options.offset_at = atoi(optarg); break;
		case 'S': options.offset_step = strtoull(optarg, NULL, 10); break;
		case 'W': options.offset_wrap = strtoull(optarg, NULL, 10); break;
		case 'f': options.answers.framing = framing_named(optarg); break;
		case 'H': options.hello_path = optarg; break;
		case 'k': options.answers.marker = (unsigned char)*optarg; break;
		case 'K': options.answers.markers = (uint32_t)atoi(optarg); break;
		case 'm': options.response_bytes_min = (uint32_t)atoi(optarg); break;
		default: exit(2);
		}
	}
	if (!options.request_path || options.connections < 1 || options.connections > CONNECTIONS_MAX ||
	    options.depth < 1 || options.depth > DEPTH_MAX || options.partitions < 1 ||
	    options.offset_wrap < 1 || options.answers.markers < 1 || options.error_at > (int)HEAD_BYTES - 2)
		fail("an option is missing or out of bounds");
	if (options.error_at >= 0)
		head_need = (uint32_t)options.error_at + 2;
}

int main(int argc, char **argv) {
	parse_options(argc, argv);
	load_request();
	/* Several small requests travel in one send; a large one has the buffer for itself. */
	out_capacity = request_bytes * (size_t)options.depth;
	if (out_capacity > SEND_BUFFER_BYTES)
		out_capacity = request_bytes > SEND_BUFFER_BYTES ? request_bytes : SEND_BUFFER_BYTES;

	struct connection *connections = calloc((size_t)options.connections, sizeof *connections);
	if (!connections)
		fail("out of memory");
	for (int i = 0; i < options.connections; i++) {
		connections[i].number = i;
		open_connection(&connections[i]);
	}

	uint64_t start_ns = now_ns();
	deadline_ns = start_ns + (uint64_t)(options.seconds * 1e9);
	run(epoll_create1(0), connections);
	double seconds = (double)(now_ns() - start_ns) / 1e9;

	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	double cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("{\"requests\": %lu, \"bytes_sent\": %lu, \"bytes_received\": %lu, "
	       "\"seconds\": %.6f, \"client_cpu_seconds\": %.6f, ",
	       (unsigned long)answered, (unsigned long)(issued * request_bytes),
	       (unsigned long)received_bytes, seconds, cpu_seconds);
	histogram_print(&latencies, stdout);
	printf("}\n");
	return 0;
}
