/* Encodes records from Arrow columns, one after the other in one pass.

   encode.py uses this if it could be built, else does the same with numpy in more steps; tests
   compare both. No byte outside of the given buffers is touched. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* An Arrow array of byte strings. */
typedef struct {
    Py_ssize_t offset;
    Py_buffer is_there, edges, bytes;
} strings_t;

typedef struct {
    const uint8_t *at;
    int64_t size;
    bool is_there;
} string_t;

static bool has_rows(const strings_t *strings, Py_ssize_t rows)
{
    if (strings->offset < 0 || strings->offset > PY_SSIZE_T_MAX - rows)
        return false;
    Py_ssize_t last = strings->offset + rows;
    return strings->edges.len / 4 > last &&
           (!strings->is_there.buf || strings->is_there.len > (last - 1) / 8);
}

/* Finds the string of a row; false if it lies outside of the bytes. */
static inline bool find(const strings_t *strings, Py_ssize_t row, string_t *found)
{
    Py_ssize_t at = strings->offset + row;
    const int32_t *edges = strings->edges.buf;
    const uint8_t *bits = strings->is_there.buf;
    found->is_there = !bits || bits[at / 8] >> at % 8 & 1;
    found->size = found->is_there ? (int64_t)edges[at + 1] - edges[at] : 0;
    found->at = found->size ? (const uint8_t *)strings->bytes.buf + edges[at] : NULL;
    return !found->size ||
           (edges[at] >= 0 && found->size > 0 && edges[at + 1] <= strings->bytes.len);
}

/* Zigzag varints. */

static inline uint64_t zigzag(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static inline int64_t varint_size(int64_t number)
{
    int64_t size = 1;
    for (uint64_t rest = zigzag(number) >> 7; rest; rest >>= 7)
        size++;
    return size;
}

static inline uint8_t *write_varint(uint8_t *to, int64_t number)
{
    uint64_t rest = zigzag(number);
    for (; rest >= 0x80; rest >>= 7)
        *to++ = (uint8_t)(rest | 0x80);
    *to++ = (uint8_t)rest;
    return to;
}

static inline uint8_t *write_bytes(uint8_t *to, const string_t *string)
{
    if (string->size)
        memcpy(to, string->at, (size_t)string->size);
    return to + string->size;
}

static inline int64_t length_of(const string_t *string)
{
    return string->is_there ? string->size : -1;
}

/* Returns the end of the written bytes; NULL if the columns are inconsistent or room is lacking. */
static uint8_t *write_records(uint8_t *to, const uint8_t *end, const int64_t *timestamps,
                              Py_ssize_t first, Py_ssize_t stop, const strings_t *keys,
                              const strings_t *values, const strings_t *headers)
{
    for (Py_ssize_t row = first; row < stop; row++) {
        string_t key, value, header;
        if (!find(keys, row, &key) || !find(values, row, &value) || !find(headers, row, &header))
            return NULL;
        /* Timestamps are machine words to clients: their differences wrap. */
        int64_t time_delta = (int64_t)((uint64_t)timestamps[row] - (uint64_t)timestamps[first]);
        int64_t size = 1 + varint_size(time_delta) + varint_size(row - first) +
                       varint_size(length_of(&key)) + key.size + varint_size(length_of(&value)) +
                       value.size + header.size;
        if (varint_size(size) + size > end - to)
            return NULL;
        to = write_varint(to, size);
        *to++ = 0; /* Attributes, which are unused so far. */
        to = write_varint(to, time_delta);
        to = write_varint(to, row - first);
        to = write_varint(to, length_of(&key));
        to = write_bytes(to, &key);
        to = write_varint(to, length_of(&value));
        to = write_bytes(to, &value);
        to = write_bytes(to, &header);
    }
    return to;
}

enum { KEYS, VALUES, HEADERS, COLUMNS };

static PyObject *write_rows(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer into, timestamps;
    strings_t c[COLUMNS];
    Py_ssize_t at, first, stop;
    if (!PyArg_ParseTuple(args, "w*nnny*(nz*y*z*)(nz*y*z*)(nz*y*z*)", &into, &at, &first, &stop,
                          &timestamps, &c[KEYS].offset, &c[KEYS].is_there, &c[KEYS].edges,
                          &c[KEYS].bytes, &c[VALUES].offset, &c[VALUES].is_there,
                          &c[VALUES].edges, &c[VALUES].bytes, &c[HEADERS].offset,
                          &c[HEADERS].is_there, &c[HEADERS].edges, &c[HEADERS].bytes))
        return NULL;
    bool fits = at >= 0 && at <= into.len && first >= 0 && first <= stop &&
                timestamps.len / 8 >= stop;
    for (int i = 0; i < COLUMNS; i++)
        fits = fits && has_rows(&c[i], stop);
    uint8_t *start = into.buf, *written = NULL;
    if (fits)
        written = write_records(start + at, start + into.len, timestamps.buf, first, stop,
                                &c[KEYS], &c[VALUES], &c[HEADERS]);
    PyObject *result = NULL;
    if (written)
        result = PyLong_FromSsize_t(written - start);
    else
        PyErr_SetString(PyExc_ValueError, "the columns do not fit each other, or the room");
    for (int i = 0; i < COLUMNS; i++) {
        PyBuffer_Release(&c[i].is_there);
        PyBuffer_Release(&c[i].edges);
        PyBuffer_Release(&c[i].bytes);
    }
    PyBuffer_Release(&timestamps);
    PyBuffer_Release(&into);
    return result;
}

static PyMethodDef methods[] = {
    {"write", write_rows, METH_VARARGS, "Writes the records of some rows and returns their end."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_records", .m_size = 0,
                                        .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__records(void)
{
    return PyModuleDef_Init(&definition);
}
