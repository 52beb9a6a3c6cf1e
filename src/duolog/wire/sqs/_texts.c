/* Writes texts that differ only in the number at their end, one after another.

   texts.py uses this where it could be built; a test compares it with the Python fallback. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#define DIGITS_MAX 15
#define BEFORE_CHARS_MAX 1024
#define COUNT_MAX (1 << 20)

struct kind {
    const Py_UCS1 *before;
    Py_ssize_t size;
    long long first;
    long long count;
};

static int takes_kind(struct kind *kind, PyObject *before, PyObject *first, PyObject *count,
                      int digits)
{
    if (!PyUnicode_CheckExact(before) || !PyUnicode_IS_COMPACT_ASCII(before)) {
        PyErr_SetString(PyExc_TypeError, "ASCII text precedes a number");
        return 0;
    }
    kind->before = PyUnicode_1BYTE_DATA(before);
    kind->size = PyUnicode_GET_LENGTH(before);
    kind->first = PyLong_AsLongLong(first);
    kind->count = PyErr_Occurred() ? -1 : PyLong_AsLongLong(count);
    if (PyErr_Occurred())
        return 0;
    long long end = 1LL << 4 * digits;
    if (kind->size > BEFORE_CHARS_MAX || kind->count < 0 || kind->count > COUNT_MAX ||
        kind->first < 0 || kind->first > end - kind->count) {
        PyErr_SetString(PyExc_ValueError, "there are not so many numbers");
        return 0;
    }
    return 1;
}

static Py_UCS1 *write_kind(Py_UCS1 *to, const struct kind *kind, int digits)
{
    static const char signs[] = "0123456789abcdef";
    for (long long i = 0; i < kind->count; i++) {
        long long rest = kind->first + i;
        memcpy(to, kind->before, (size_t)kind->size);
        to += kind->size + digits;
        for (int digit = 1; digit <= digits; digit++, rest >>= 4)
            to[-digit] = (Py_UCS1)signs[rest & 15];
    }
    return to;
}

static PyObject *written(const struct kind *kinds, Py_ssize_t count, int digits)
{
    Py_ssize_t size = 0;
    for (Py_ssize_t i = 0; i < count; i++)
        size += (Py_ssize_t)kinds[i].count * (kinds[i].size + digits);
    PyObject *text = PyUnicode_New(size, 127);
    if (text == NULL || size == 0)
        return text;
    Py_UCS1 *to = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t i = 0; i < count; i++)
        to = write_kind(to, &kinds[i], digits);
    return text;
}

static PyObject *number_each(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *befores, *firsts, *counts, *text = NULL;
    int digits;
    if (!PyArg_ParseTuple(arguments, "O!O!O!i", &PyList_Type, &befores, &PyList_Type, &firsts,
                          &PyList_Type, &counts, &digits))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(befores);
    if (digits < 1 || digits > DIGITS_MAX || PyList_GET_SIZE(firsts) != count ||
        PyList_GET_SIZE(counts) != count) {
        PyErr_SetString(PyExc_ValueError, "every kind has a first number and a count");
        return NULL;
    }
    struct kind *kinds = PyMem_New(struct kind, count);
    if (kinds == NULL)
        return PyErr_NoMemory();
    Py_ssize_t taken = 0;
    while (taken < count &&
           takes_kind(&kinds[taken], PyList_GET_ITEM(befores, taken),
                      PyList_GET_ITEM(firsts, taken), PyList_GET_ITEM(counts, taken), digits))
        taken++;
    if (taken == count)
        text = written(kinds, count, digits);
    PyMem_Free(kinds);
    return text;
}

static PyMethodDef methods[] = {
    {"number_each", number_each, METH_VARARGS,
     "Writes so many texts of each kind: its prefix, and a number that counts up from the first."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_texts", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__texts(void)
{
    return PyModuleDef_Init(&definition);
}
