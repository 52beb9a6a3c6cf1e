/* MD5 of many texts at once by SIMD: sixteen texts, each in one lane of a vector.

   Each step of MD5 depends on the one before, so that a core that digests one text stalls most of
   the time. digests.py uses this where it could be built, and hashlib where not; a test compares
   them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define LANES 16
#define BLOCK_BYTES 64
#define STATE_WORDS 4
#define HEX_CHARS 32

#define FOUR 4

typedef uint32_t lanes_t __attribute__((vector_size(4 * LANES)));
typedef uint32_t four_t __attribute__((vector_size(4 * FOUR)));

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are read in memory order: only little-endian machines are supported"
#endif

/* Picks the words at these places out of two vectors. */
#ifdef __clang__
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (four_t){i, j, k, l})
#endif

/* Compiles one copy per instruction set; the loader picks the best. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

#define F(x, y, z) (z ^ (x & (y ^ z)))
#define G(x, y, z) (y ^ (z & (x ^ y)))
#define H(x, y, z) (x ^ y ^ z)
#define I(x, y, z) (y ^ (x | ~z))
#define STEP(f, a, b, c, d, word, shift, constant)                                                 \
    a += f(b, c, d) + word + constant##u;                                                          \
    a = (a << shift | a >> (32 - shift)) + b;

/* All steps of a block, for one text or for many: words are numbers or vectors of them. */
#define ROUNDS(a, b, c, d, w)                                                                      \
    STEP(F, a, b, c, d, w[0], 7, 0xd76aa478)                                                       \
    STEP(F, d, a, b, c, w[1], 12, 0xe8c7b756)                                                      \
    STEP(F, c, d, a, b, w[2], 17, 0x242070db)                                                      \
    STEP(F, b, c, d, a, w[3], 22, 0xc1bdceee)                                                      \
    STEP(F, a, b, c, d, w[4], 7, 0xf57c0faf)                                                       \
    STEP(F, d, a, b, c, w[5], 12, 0x4787c62a)                                                      \
    STEP(F, c, d, a, b, w[6], 17, 0xa8304613)                                                      \
    STEP(F, b, c, d, a, w[7], 22, 0xfd469501)                                                      \
    STEP(F, a, b, c, d, w[8], 7, 0x698098d8)                                                       \
    STEP(F, d, a, b, c, w[9], 12, 0x8b44f7af)                                                      \
    STEP(F, c, d, a, b, w[10], 17, 0xffff5bb1)                                                     \
    STEP(F, b, c, d, a, w[11], 22, 0x895cd7be)                                                     \
    STEP(F, a, b, c, d, w[12], 7, 0x6b901122)                                                      \
    STEP(F, d, a, b, c, w[13], 12, 0xfd987193)                                                     \
    STEP(F, c, d, a, b, w[14], 17, 0xa679438e)                                                     \
    STEP(F, b, c, d, a, w[15], 22, 0x49b40821)                                                     \
    STEP(G, a, b, c, d, w[1], 5, 0xf61e2562)                                                       \
    STEP(G, d, a, b, c, w[6], 9, 0xc040b340)                                                       \
    STEP(G, c, d, a, b, w[11], 14, 0x265e5a51)                                                     \
    STEP(G, b, c, d, a, w[0], 20, 0xe9b6c7aa)                                                      \
    STEP(G, a, b, c, d, w[5], 5, 0xd62f105d)                                                       \
    STEP(G, d, a, b, c, w[10], 9, 0x02441453)                                                      \
    STEP(G, c, d, a, b, w[15], 14, 0xd8a1e681)                                                     \
    STEP(G, b, c, d, a, w[4], 20, 0xe7d3fbc8)                                                      \
    STEP(G, a, b, c, d, w[9], 5, 0x21e1cde6)                                                       \
    STEP(G, d, a, b, c, w[14], 9, 0xc33707d6)                                                      \
    STEP(G, c, d, a, b, w[3], 14, 0xf4d50d87)                                                      \
    STEP(G, b, c, d, a, w[8], 20, 0x455a14ed)                                                      \
    STEP(G, a, b, c, d, w[13], 5, 0xa9e3e905)                                                      \
    STEP(G, d, a, b, c, w[2], 9, 0xfcefa3f8)                                                       \
    STEP(G, c, d, a, b, w[7], 14, 0x676f02d9)                                                      \
    STEP(G, b, c, d, a, w[12], 20, 0x8d2a4c8a)                                                     \
    STEP(H, a, b, c, d, w[5], 4, 0xfffa3942)                                                       \
    STEP(H, d, a, b, c, w[8], 11, 0x8771f681)                                                      \
    STEP(H, c, d, a, b, w[11], 16, 0x6d9d6122)                                                     \
    STEP(H, b, c, d, a, w[14], 23, 0xfde5380c)                                                     \
    STEP(H, a, b, c, d, w[1], 4, 0xa4beea44)                                                       \
    STEP(H, d, a, b, c, w[4], 11, 0x4bdecfa9)                                                      \
    STEP(H, c, d, a, b, w[7], 16, 0xf6bb4b60)                                                      \
    STEP(H, b, c, d, a, w[10], 23, 0xbebfbc70)                                                     \
    STEP(H, a, b, c, d, w[13], 4, 0x289b7ec6)                                                      \
    STEP(H, d, a, b, c, w[0], 11, 0xeaa127fa)                                                      \
    STEP(H, c, d, a, b, w[3], 16, 0xd4ef3085)                                                      \
    STEP(H, b, c, d, a, w[6], 23, 0x04881d05)                                                      \
    STEP(H, a, b, c, d, w[9], 4, 0xd9d4d039)                                                       \
    STEP(H, d, a, b, c, w[12], 11, 0xe6db99e5)                                                     \
    STEP(H, c, d, a, b, w[15], 16, 0x1fa27cf8)                                                     \
    STEP(H, b, c, d, a, w[2], 23, 0xc4ac5665)                                                      \
    STEP(I, a, b, c, d, w[0], 6, 0xf4292244)                                                       \
    STEP(I, d, a, b, c, w[7], 10, 0x432aff97)                                                      \
    STEP(I, c, d, a, b, w[14], 15, 0xab9423a7)                                                     \
    STEP(I, b, c, d, a, w[5], 21, 0xfc93a039)                                                      \
    STEP(I, a, b, c, d, w[12], 6, 0x655b59c3)                                                      \
    STEP(I, d, a, b, c, w[3], 10, 0x8f0ccc92)                                                      \
    STEP(I, c, d, a, b, w[10], 15, 0xffeff47d)                                                     \
    STEP(I, b, c, d, a, w[1], 21, 0x85845dd1)                                                      \
    STEP(I, a, b, c, d, w[8], 6, 0x6fa87e4f)                                                       \
    STEP(I, d, a, b, c, w[15], 10, 0xfe2ce6e0)                                                     \
    STEP(I, c, d, a, b, w[6], 15, 0xa3014314)                                                      \
    STEP(I, b, c, d, a, w[13], 21, 0x4e0811a1)                                                     \
    STEP(I, a, b, c, d, w[4], 6, 0xf7537e82)                                                       \
    STEP(I, d, a, b, c, w[11], 10, 0xbd3af235)                                                     \
    STEP(I, c, d, a, b, w[2], 15, 0x2ad7d2bb)                                                      \
    STEP(I, b, c, d, a, w[9], 21, 0xeb86d391)

static const uint32_t START[STATE_WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

struct text {
    const uint8_t *data;
    size_t whole;                   /* Number of blocks without padding. */
    size_t blocks;                  /* Number of blocks with the one or two padded ones. */
    uint8_t tail[2 * BLOCK_BYTES];  /* Content of the padded blocks. */
};

static uint32_t word_at(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static void prepare(struct text *text, const uint8_t *data, size_t size)
{
    size_t rest = size % BLOCK_BYTES;
    size_t tail_bytes = rest < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    uint64_t bits = (uint64_t)size << 3;
    text->data = data;
    text->whole = size / BLOCK_BYTES;
    text->blocks = text->whole + tail_bytes / BLOCK_BYTES;
    memset(text->tail, 0, tail_bytes);
    memcpy(text->tail, data + size - rest, rest);
    text->tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        text->tail[tail_bytes - 8 + i] = (uint8_t)(bits >> 8 * i);
}

static const uint8_t *block_of(const struct text *text, size_t number)
{
    return number < text->whole ? text->data + number * BLOCK_BYTES
                                : text->tail + (number - text->whole) * BLOCK_BYTES;
}

/* Transposes a block of each of four texts into four lanes of the words, four words at a time: a
   quarter of the loads and stores of a loop over words. */
static inline __attribute__((always_inline)) void load_four(const struct text *texts[FOUR],
                                                            size_t number, lanes_t w[16], int lane)
{
    const uint8_t *blocks[FOUR];
    for (int i = 0; i < FOUR; i++)
        blocks[i] = block_of(texts[i], number);
    for (int i = 0; i < 16; i += FOUR) {
        four_t rows[FOUR];
        for (int j = 0; j < FOUR; j++)
            memcpy(&rows[j], blocks[j] + 4 * i, sizeof rows[j]);
        four_t low_01 = PICK(rows[0], rows[1], 0, 4, 1, 5);
        four_t low_23 = PICK(rows[2], rows[3], 0, 4, 1, 5);
        four_t high_01 = PICK(rows[0], rows[1], 2, 6, 3, 7);
        four_t high_23 = PICK(rows[2], rows[3], 2, 6, 3, 7);
        const four_t columns[FOUR] = {
            PICK(low_01, low_23, 0, 1, 4, 5),
            PICK(low_01, low_23, 2, 3, 6, 7),
            PICK(high_01, high_23, 0, 1, 4, 5),
            PICK(high_01, high_23, 2, 3, 6, 7),
        };
        for (int j = 0; j < FOUR; j++)
            memcpy((uint32_t *)&w[i + j] + lane, &columns[j], sizeof columns[j]);
    }
}

/* Computes the state after the first `blocks` blocks of every text; none has fewer. */
FOR_EACH_PROCESSOR
static void digest_side_by_side(const struct text *texts[LANES], size_t blocks,
                                uint32_t states[LANES][STATE_WORDS])
{
    lanes_t a, b, c, d;
    for (int lane = 0; lane < LANES; lane++) {
        a[lane] = START[0];
        b[lane] = START[1];
        c[lane] = START[2];
        d[lane] = START[3];
    }
    for (size_t number = 0; number < blocks; number++) {
        lanes_t w[16], a0 = a, b0 = b, c0 = c, d0 = d;
        for (int lane = 0; lane < LANES; lane += FOUR)
            load_four(texts + lane, number, w, lane);
        ROUNDS(a, b, c, d, w)
        a += a0;
        b += b0;
        c += c0;
        d += d0;
    }
    for (int lane = 0; lane < LANES; lane++) {
        states[lane][0] = a[lane];
        states[lane][1] = b[lane];
        states[lane][2] = c[lane];
        states[lane][3] = d[lane];
    }
}

static void digest_rest(const struct text *text, size_t number, uint32_t state[STATE_WORDS])
{
    for (; number < text->blocks; number++) {
        const uint8_t *block = block_of(text, number);
        uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3];
        for (int i = 0; i < 16; i++)
            w[i] = word_at(block + 4 * i);
        ROUNDS(a, b, c, d, w)
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
    }
}

static void write_hex(Py_UCS1 *to, const uint32_t state[STATE_WORDS])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < HEX_CHARS / 2; i++) {
        uint8_t byte = (uint8_t)(state[i / 4] >> 8 * (i % 4));
        to[2 * i] = (Py_UCS1)digits[byte >> 4];
        to[2 * i + 1] = (Py_UCS1)digits[byte & 15];
    }
}

/* Digests up to LANES texts, from a place in the list on. */
static int digest_some(PyObject *values, Py_ssize_t first, Py_ssize_t count, Py_UCS1 *to)
{
    struct text texts[LANES];
    const struct text *lanes[LANES];
    uint32_t states[LANES][STATE_WORDS];
    size_t together = SIZE_MAX;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyList_GET_ITEM(values, first + i);
        if (!PyBytes_CheckExact(value)) {
            PyErr_SetString(PyExc_TypeError, "a list of bytes is digested");
            return -1;
        }
        prepare(&texts[i], (const uint8_t *)PyBytes_AS_STRING(value),
                (size_t)PyBytes_GET_SIZE(value));
        lanes[i] = &texts[i];
        if (texts[i].blocks < together)
            together = texts[i].blocks;
    }
    for (Py_ssize_t i = count; i < LANES; i++)
        lanes[i] = &texts[0];
    digest_side_by_side(lanes, together, states);
    for (Py_ssize_t i = 0; i < count; i++) {
        digest_rest(&texts[i], together, states[i]);
        write_hex(to + i * HEX_CHARS, states[i]);
    }
    return 0;
}

static PyObject *md5_of_each(PyObject *module, PyObject *values)
{
    (void)module;
    if (!PyList_CheckExact(values)) {
        PyErr_SetString(PyExc_TypeError, "a list of bytes is digested");
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(values);
    if (count > PY_SSIZE_T_MAX / HEX_CHARS)
        return PyErr_NoMemory();
    PyObject *digests = PyUnicode_New(count * HEX_CHARS, 127);
    if (digests == NULL)
        return NULL;
    for (Py_ssize_t first = 0; first < count; first += LANES) {
        Py_ssize_t some = count - first < LANES ? count - first : LANES;
        Py_UCS1 *to = PyUnicode_1BYTE_DATA(digests) + first * HEX_CHARS;
        if (digest_some(values, first, some, to) < 0) {
            Py_DECREF(digests);
            return NULL;
        }
    }
    return digests;
}

static PyMethodDef methods[] = {
    {"md5_of_each", md5_of_each, METH_O,
     "Digests a list of bytes with MD5; returns the hexadecimal digests as one text."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_md5", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__md5(void)
{
    return PyModuleDef_Init(&definition);
}
