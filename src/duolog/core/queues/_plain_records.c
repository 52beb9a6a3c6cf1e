/* Codec for consecutive records that are only a value.

   All other bytes of such a record follow from its length and its index. plain_batch.py uses this
   where it could be built; a test compares it with the Python fallback there. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define VALUE_BYTES_MAX (INT32_MAX / 2)
#define VARINT_BYTES_MAX 5
#define NO_ATTRIBUTES 0
#define SAME_TIMESTAMP 0
#define NO_KEY 1
/* Minus one, as a varint. */
#define NO_HEADERS 0

/* Varint size of a number that is not negative; zigzag encoding doubles it. */
static int varint_bytes(uint32_t number)
{
    int size = 1;
    for (uint32_t rest = (number << 1) >> 7; rest; rest >>= 7)
        size++;
    return size;
}

static char *write_varint(char *to, uint32_t number)
{
    uint32_t rest = number << 1;
    for (; rest >= 0x80; rest >>= 7)
        *to++ = (char)(rest | 0x80);
    *to++ = (char)rest;
    return to;
}

/* Bytes of a record after its length field. */
static uint32_t record_bytes(uint32_t value_bytes, uint32_t place)
{
    return 4 + (uint32_t)varint_bytes(place) + (uint32_t)varint_bytes(value_bytes) + value_bytes;
}

static PyObject *join_records(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *values;
    Py_ssize_t room, size;
    if (!PyArg_ParseTuple(arguments, "O!n", &PyList_Type, &values, &room))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(values);
    size = room;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        if (!PyBytes_CheckExact(value) || PyBytes_GET_SIZE(value) > VALUE_BYTES_MAX) {
            PyErr_SetString(PyExc_TypeError, "records have values of bytes");
            return NULL;
        }
        uint32_t length = record_bytes((uint32_t)PyBytes_GET_SIZE(value), (uint32_t)i);
        size += varint_bytes(length) + (Py_ssize_t)length;
    }
    PyObject *batch = PyByteArray_FromStringAndSize(NULL, size);
    if (batch == NULL)
        return NULL;
    char *to = PyByteArray_AS_STRING(batch);
    memset(to, 0, (size_t)room);
    to += room;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        uint32_t value_bytes = (uint32_t)PyBytes_GET_SIZE(value);
        to = write_varint(to, record_bytes(value_bytes, (uint32_t)i));
        *to++ = NO_ATTRIBUTES;
        *to++ = SAME_TIMESTAMP;
        to = write_varint(to, (uint32_t)i);
        *to++ = NO_KEY;
        to = write_varint(to, value_bytes);
        memcpy(to, PyBytes_AS_STRING(value), value_bytes);
        to += value_bytes;
        *to++ = NO_HEADERS;
    }
    return batch;
}

struct place {
    const unsigned char *at;
    const unsigned char *end;
};

static int takes(struct place *place, unsigned char byte)
{
    return place->at < place->end && *place->at++ == byte;
}

/* Reads a number that is not negative and in its shortest form; 0 if it is neither. */
static int takes_varint(struct place *place, uint32_t *number)
{
    uint64_t found = 0;
    for (int i = 0; i < VARINT_BYTES_MAX && place->at < place->end; i++) {
        unsigned char byte = *place->at++;
        found |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            *number = (uint32_t)(found >> 1);
            return found <= UINT32_MAX && !(found & 1) && (byte || i == 0);
        }
    }
    return 0;
}

/* Returns the value of the next record, inside the body; NULL if the record is not plain. */
static const unsigned char *takes_record(struct place *place, uint32_t number, uint32_t *size)
{
    uint32_t length, delta;
    if (!takes_varint(place, &length) || length > (uint64_t)(place->end - place->at))
        return NULL;
    struct place record = {place->at, place->at + length};
    place->at = record.end;
    if (!takes(&record, NO_ATTRIBUTES) || !takes(&record, SAME_TIMESTAMP) ||
        !takes_varint(&record, &delta) || delta != number || !takes(&record, NO_KEY) ||
        !takes_varint(&record, size) || *size >= (uint64_t)(record.end - record.at))
        return NULL;
    const unsigned char *value = record.at;
    record.at += *size;
    return takes(&record, NO_HEADERS) && record.at == record.end ? value : NULL;
}

static PyObject *split_records(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer body;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(arguments, "y*n", &body, &count))
        return NULL;
    struct place place = {body.buf, (const unsigned char *)body.buf + body.len};
    /* Each record takes a byte at least: a lying count allocates no more than the body. */
    int is_plain = count >= 0 && count <= body.len;
    PyObject *values = PyList_New(is_plain ? count : 0);
    for (Py_ssize_t i = 0; values != NULL && is_plain && i < count; i++) {
        uint32_t size;
        const unsigned char *at = takes_record(&place, (uint32_t)i, &size);
        if (at == NULL) {
            is_plain = 0;
            break;
        }
        PyObject *value = PyBytes_FromStringAndSize((const char *)at, (Py_ssize_t)size);
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyList_SET_ITEM(values, i, value);
    }
    if (values != NULL && (!is_plain || place.at != place.end)) {
        Py_DECREF(values);
        values = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&body);
    return values;
}

static PyMethodDef methods[] = {
    {"join_records", join_records, METH_VARARGS,
     "Encodes a list of values as records, after so many bytes of room."},
    {"split_records", split_records, METH_VARARGS,
     "Decodes the values of so many records; None if one is not plain, or bytes are missing."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_plain_records", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__plain_records(void)
{
    return PyModuleDef_Init(&definition);
}
