/* Decodes plain record batches into Arrow column buffers, in one pass while they are in a cache.

   plain.py uses this if it could be built; decode.py does the same for any batch, with numpy and
   a pass over memory for each step. A batch that is malformed or not plain is left in place, for
   decode.py to open or to refuse: no input is trusted, and no byte outside of the given buffers
   is touched. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if !defined(__x86_64__) || !defined(__GNUC__)
#error "checksums are made with instructions that only x86-64 has"
#endif

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WITH_CRC __attribute__((target("sse4.2,pclmul")))

/* CRC-32C. Each instruction waits for the result of the one before, so three stretches are
   computed in parallel, and combined as if zeros had followed the first two. */

#define LARGE 1024
#define SMALL 128

static uint64_t beyond_large[2], beyond_small[2];

/* Factor that advances a CRC over so many zero bytes; the product comes out times x^33. */
static uint64_t beyond(int zeros)
{
    uint32_t power = 0x80000000u;
    for (int i = 0; i < 8 * zeros - 33; i++)
        power = power >> 1 ^ (power & 1 ? 0x82f63b78u : 0);
    return power;
}

WITH_CRC static inline uint64_t shifted(uint64_t crc, uint64_t by)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
                                           _mm_cvtsi64_si128((int64_t)by), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

static inline uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

WITH_CRC static inline uint64_t three_stretches(uint64_t first, const uint8_t *at, int size,
                                                const uint64_t by[2])
{
    uint64_t second = 0, third = 0;
    for (int i = 0; i < size; i += 8) {
        first = _mm_crc32_u64(first, word_at(at + i));
        second = _mm_crc32_u64(second, word_at(at + size + i));
        third = _mm_crc32_u64(third, word_at(at + 2 * size + i));
    }
    return shifted(first, by[1]) ^ shifted(second, by[0]) ^ third;
}

WITH_CRC static uint32_t crc32c(const uint8_t *at, const uint8_t *end)
{
    uint64_t crc = 0xffffffffu;
    for (; end - at >= 3 * LARGE; at += 3 * LARGE)
        crc = three_stretches(crc, at, LARGE, beyond_large);
    for (; end - at >= 3 * SMALL; at += 3 * SMALL)
        crc = three_stretches(crc, at, SMALL, beyond_small);
    for (; end - at >= 8; at += 8)
        crc = _mm_crc32_u64(crc, word_at(at));
    for (; at < end; at++)
        crc = _mm_crc32_u8((uint32_t)crc, *at);
    return ~(uint32_t)crc;
}

/* Reasons to stop: no complete batch follows, the part has no room, or the batch is not plain. */
enum { AT_THE_END, FULL, NOT_PLAIN };

/* Numbers. */

static inline uint64_t big_endian(const uint8_t *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | at[i];
    return number;
}

static inline int32_t int32_at(const uint8_t *at)
{
    return (int32_t)big_endian(at, 4);
}

static inline int64_t int64_at(const uint8_t *at)
{
    return (int64_t)big_endian(at, 8);
}

typedef struct {
    const uint8_t *at, *end;
    int stopped;
} cursor_t;

static int64_t longer_varint(cursor_t *cursor, int bits)
{
    uint64_t zigzag = 0;
    for (int shift = 0; shift < bits && cursor->at < cursor->end; shift += 7) {
        uint64_t byte = *cursor->at++;
        if (shift + 7 > bits && byte >> (bits - shift))
            break;
        zigzag |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
    }
    cursor->stopped = NOT_PLAIN;
    return 0;
}

/* Reads a varint; returns 0 and sets NOT_PLAIN if none of so many bits ends before the end. */
static inline int64_t varint(cursor_t *cursor, int bits)
{
    if (cursor->at < cursor->end && *cursor->at < 0x80) {
        unsigned zigzag = *cursor->at++;
        return (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
    }
    return longer_varint(cursor, bits);
}

/* Progress, and the column buffers that are filled. */

enum { ROWS, KEY_BYTES, VALUE_BYTES, BASE_OFFSET, NEXT_OFFSET, LAST_EPOCH, STOPPED, STATES };

typedef struct {
    uint8_t *bytes;
    int64_t size, taken;
    int32_t *edges;
    uint8_t *is_there;
} strings_t;

typedef struct {
    int64_t rows, rows_max;
    int64_t *offset, *timestamp;
    int32_t *timestamp_type;
    strings_t key, value;
} part_t;

typedef struct {
    const uint8_t *at, *end;
    int64_t base_offset, last_delta, base_timestamp, max_timestamp, records;
    int32_t epoch;
    bool is_append_time;
} batch_t;

#define LENGTH_AT 8
#define LENGTH_PREFIX_BYTES 12
#define EPOCH_AT 12
#define MAGIC_AT 16
#define CRC_AT 17
#define CRC_FROM 21
#define LAST_DELTA_AT 23
#define BASE_TIMESTAMP_AT 27
#define MAX_TIMESTAMP_AT 35
#define RECORDS_AT 57
#define HEADER_BYTES 61

#define MAGIC 2
#define COMPRESSION_MASK 7
#define APPEND_TIME_BIT 8
#define CONTROL_BIT 32

#define TIMESTAMP_MS_MAX (INT64_MAX / 1000)

/* True if the bytes begin with a complete batch, or with a length that no batch can have. */
static bool is_whole(const uint8_t *at, int64_t size)
{
    return size >= HEADER_BYTES && (int64_t)int32_at(at + LENGTH_AT) + LENGTH_PREFIX_BYTES <= size;
}

/* True if a complete batch is plain and intact. */
static bool open_batch(const uint8_t *at, batch_t *batch)
{
    int64_t length = (int64_t)int32_at(at + LENGTH_AT) + LENGTH_PREFIX_BYTES;
    if (length < HEADER_BYTES || at[MAGIC_AT] != MAGIC)
        return false;
    unsigned attributes = at[CRC_FROM + 1];
    batch->at = at + HEADER_BYTES;
    batch->end = at + length;
    batch->base_offset = int64_at(at);
    batch->epoch = int32_at(at + EPOCH_AT);
    batch->last_delta = int32_at(at + LAST_DELTA_AT);
    batch->base_timestamp = int64_at(at + BASE_TIMESTAMP_AT);
    batch->max_timestamp = int64_at(at + MAX_TIMESTAMP_AT);
    batch->records = int32_at(at + RECORDS_AT);
    batch->is_append_time = attributes & APPEND_TIME_BIT;
    return !(attributes & (COMPRESSION_MASK | CONTROL_BIT)) && batch->records > 0 &&
           batch->base_offset >= 0 && batch->last_delta >= 0 &&
           batch->base_offset < INT64_MAX - batch->last_delta &&
           crc32c(at + CRC_FROM, batch->end) == (uint32_t)big_endian(at + CRC_AT, 4);
}

static inline void take_string(cursor_t *cursor, strings_t *into, int64_t row)
{
    int64_t length = varint(cursor, 32);
    int64_t size = length < 0 ? 0 : length;
    if (length < -1 || size > cursor->end - cursor->at)
        cursor->stopped = NOT_PLAIN;
    else if (into->bytes && size > into->size - into->taken && !cursor->stopped)
        cursor->stopped = FULL;
    if (cursor->stopped)
        return;
    if (into->bytes) {
        memcpy(into->bytes + into->taken, cursor->at, (size_t)size);
        into->taken += size;
    }
    into->edges[row + 1] = (int32_t)into->taken;
    into->is_there[row] = length >= 0;
    cursor->at += size;
}

static inline int64_t microseconds(int64_t milliseconds)
{
    if (milliseconds > TIMESTAMP_MS_MAX)
        milliseconds = TIMESTAMP_MS_MAX;
    if (milliseconds < -TIMESTAMP_MS_MAX)
        milliseconds = -TIMESTAMP_MS_MAX;
    return milliseconds * 1000;
}

/* Takes the records between the offsets, but validates all others, too. */
static int take_records(const batch_t *batch, int64_t first_offset, int64_t end_offset,
                        part_t *part)
{
    const uint8_t *at = batch->at;
    int64_t delta_before = -1;
    for (int64_t i = 0; i < batch->records; i++) {
        cursor_t cursor = {at, batch->end, AT_THE_END};
        int64_t length = varint(&cursor, 32);
        if (cursor.stopped || length < 1 || length > batch->end - cursor.at)
            return NOT_PLAIN;
        cursor.end = at = cursor.at + length;
        /* Skips the attributes, which are unused so far. */
        cursor.at++;
        int64_t timestamp_delta = varint(&cursor, 64);
        int64_t delta = varint(&cursor, 32);
        int64_t key_bytes = part->key.taken, value_bytes = part->value.taken;
        take_string(&cursor, &part->key, part->rows);
        take_string(&cursor, &part->value, part->rows);
        /* At least the count of headers follows. */
        if (cursor.stopped)
            return cursor.stopped;
        if (cursor.at >= cursor.end || delta <= delta_before || delta > batch->last_delta)
            return NOT_PLAIN;
        delta_before = delta;
        int64_t offset = batch->base_offset + delta;
        if (offset < first_offset || offset >= end_offset) {
            part->key.taken = key_bytes;
            part->value.taken = value_bytes;
            continue;
        }
        /* Timestamps are machine words to clients: their sums wrap. */
        int64_t created = (int64_t)((uint64_t)batch->base_timestamp + (uint64_t)timestamp_delta);
        part->offset[part->rows] = offset;
        part->timestamp[part->rows] =
            microseconds(batch->is_append_time ? batch->max_timestamp : created);
        part->timestamp_type[part->rows] = batch->is_append_time;
        part->rows++;
    }
    return at == batch->end ? AT_THE_END : NOT_PLAIN;
}

/* Takes complete batches until one does not fit or is not plain; returns their bytes. */
static int64_t take_batches(const uint8_t *at, int64_t size, int64_t first_offset,
                            int64_t end_offset, int64_t state[STATES], part_t *part)
{
    const uint8_t *start = at;
    state[STOPPED] = AT_THE_END;
    while (state[NEXT_OFFSET] < end_offset && is_whole(at, size - (at - start))) {
        batch_t batch;
        part_t before = *part;
        if (!open_batch(at, &batch) || batch.base_offset < state[NEXT_OFFSET])
            state[STOPPED] = NOT_PLAIN;
        else if (batch.records > part->rows_max - part->rows)
            state[STOPPED] = FULL;
        else
            state[STOPPED] = take_records(&batch, first_offset, end_offset, part);
        if (state[STOPPED]) {
            *part = before;
            break;
        }
        if (state[BASE_OFFSET] < 0)
            state[BASE_OFFSET] = batch.base_offset;
        state[NEXT_OFFSET] = batch.base_offset + batch.last_delta + 1;
        state[LAST_EPOCH] = batch.epoch;
        at = batch.end;
    }
    return at - start;
}

static bool is_room(const Py_buffer *buffer, int64_t items, size_t size)
{
    return buffer->len / (Py_ssize_t)size >= items;
}

#define BUFFERS 8
enum { BATCHES, STATE, NUMBERS, TYPES, EDGES, FLAGS, KEYS, VALUES };

static strings_t strings_of(const Py_buffer buffers[BUFFERS], int which, int64_t column,
                            int64_t rows_max, int64_t taken)
{
    const Py_buffer *strings = &buffers[which];
    return (strings_t){strings->len ? strings->buf : NULL,
                       strings->len,
                       taken,
                       (int32_t *)buffers[EDGES].buf + column * (rows_max + 1),
                       (uint8_t *)buffers[FLAGS].buf + column * rows_max};
}

static PyObject *take(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer b[BUFFERS];
    Py_ssize_t at, filled;
    long long first_offset, end_offset;
    if (!PyArg_ParseTuple(args, "y*nnLLw*w*w*w*w*w*w*", &b[BATCHES], &at, &filled, &first_offset,
                          &end_offset, &b[STATE], &b[NUMBERS], &b[TYPES], &b[EDGES], &b[FLAGS],
                          &b[KEYS], &b[VALUES]))
        return NULL;
    PyObject *result = NULL;
    int64_t *state = b[STATE].buf;
    int64_t rows_max = b[TYPES].len / 4;
    if (!is_room(&b[STATE], STATES, 8) || !is_room(&b[NUMBERS], 2 * rows_max, 8) ||
        !is_room(&b[EDGES], 2 * (rows_max + 1), 4) || !is_room(&b[FLAGS], 2 * rows_max, 1) ||
        b[KEYS].len > INT32_MAX || b[VALUES].len > INT32_MAX || at < 0 || filled < at ||
        filled > b[BATCHES].len || state[ROWS] < 0 || state[ROWS] > rows_max ||
        state[KEY_BYTES] < 0 || state[KEY_BYTES] > b[KEYS].len || state[VALUE_BYTES] < 0 ||
        state[VALUE_BYTES] > b[VALUES].len) {
        PyErr_SetString(PyExc_ValueError, "the buffers do not fit each other");
        goto done;
    }
    int64_t *numbers = b[NUMBERS].buf;
    part_t part = {state[ROWS],
                   rows_max,
                   numbers,
                   numbers + rows_max,
                   b[TYPES].buf,
                   strings_of(b, KEYS, 0, rows_max, state[KEY_BYTES]),
                   strings_of(b, VALUES, 1, rows_max, state[VALUE_BYTES])};
    at += take_batches((const uint8_t *)b[BATCHES].buf + at, filled - at, first_offset, end_offset,
                       state, &part);
    state[ROWS] = part.rows;
    state[KEY_BYTES] = part.key.taken;
    state[VALUE_BYTES] = part.value.taken;
    result = PyLong_FromSsize_t(at);
done:
    for (int i = 0; i < BUFFERS; i++)
        PyBuffer_Release(&b[i]);
    return result;
}

static PyMethodDef methods[] = {
    {"take", take, METH_VARARGS, "Takes plain batches; returns their end."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module)
{
    (void)module;
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) {
        PyErr_SetString(PyExc_ImportError, "checksums need a processor with SSE4.2 and PCLMUL");
        return -1;
    }
    beyond_large[0] = beyond(LARGE);
    beyond_large[1] = beyond(2 * LARGE);
    beyond_small[0] = beyond(SMALL);
    beyond_small[1] = beyond(2 * SMALL);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_plain", .m_size = 0,
                                        .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__plain(void)
{
    return PyModuleDef_Init(&definition);
}
