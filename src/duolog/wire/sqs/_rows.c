/* JSON of many messages at once: writes answers from columns, reads batches into columns.

   Only the usual forms are handled. The reader gives up on anything else, which is left to the
   ordinary decoder; the writer's output equals the ordinary encoder's. rows.py and
   plain_batches.py use this where it could be built; tests compare the two. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define COLUMNS_MAX 8
#define ENTRIES_MAX 10
#define ID_CHARS_MAX 80
#define ESCAPE_CHARS_MAX 6

/* Compiles one copy per instruction set; the loader picks the best. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

struct text {
    const char *at;
    Py_ssize_t size;
};

/* Writing. */

static int is_escaped(unsigned char byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\';
}

/* Without an early exit, so that the compiler vectorises the loop. */
FOR_EACH_PROCESSOR static int has_escaped(struct text text)
{
    unsigned char found = 0;
    for (Py_ssize_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        found |= (byte < 0x20) | (byte == '"') | (byte == '\\');
    }
    return found;
}

static char *write_text(char *to, struct text text)
{
    memcpy(to, text.at, (size_t)text.size);
    return to + text.size;
}

static char *write_escaped(char *to, struct text text)
{
    static const char digits[] = "0123456789abcdef";
    for (Py_ssize_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        if (!is_escaped(byte)) {
            *to++ = (char)byte;
            continue;
        }
        *to++ = '\\';
        switch (byte) {
        case '\b': *to++ = 'b'; break;
        case '\t': *to++ = 't'; break;
        case '\n': *to++ = 'n'; break;
        case '\f': *to++ = 'f'; break;
        case '\r': *to++ = 'r'; break;
        case '"':
        case '\\': *to++ = (char)byte; break;
        default:
            memcpy(to, "u00", 3);
            to[3] = digits[byte >> 4];
            to[4] = digits[byte & 15];
            to += 5;
        }
    }
    return to;
}

/* Views bytes, which are UTF-8 already, or ASCII text. */
static int text_of(PyObject *value, struct text *text)
{
    if (PyBytes_CheckExact(value)) {
        *text = (struct text){PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)};
        return 0;
    }
    if (PyUnicode_CheckExact(value) && PyUnicode_IS_COMPACT_ASCII(value)) {
        *text = (struct text){(const char *)PyUnicode_1BYTE_DATA(value),
                              PyUnicode_GET_LENGTH(value)};
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, "a column has bytes or ASCII text");
    return -1;
}

/* Values that are objects, or parts of one text, all of one size and never escaped. */
struct column {
    PyObject *values;
    /* Fast sequence, owned here; NULL if there is a text. */
    struct text text;
    Py_ssize_t size;
    /* Size of each value in the text. */
};

struct rows {
    struct text before;
    struct text behind;
    struct text labels[COLUMNS_MAX + 1];
    /* Texts before the value of each column, and after the last. */
    struct column columns[COLUMNS_MAX];
    Py_ssize_t width;
    Py_ssize_t length;
};

static int cell_of(const struct column *column, Py_ssize_t row, struct text *text)
{
    if (column->values != NULL)
        return text_of(PySequence_Fast_GET_ITEM(column->values, row), text);
    *text = (struct text){column->text.at + row * column->size, column->size};
    return 0;
}

/* Returns an upper bound of the bytes that these rows take; -1 on an error. */
static Py_ssize_t size_of(const struct rows *rows, Py_ssize_t first, Py_ssize_t last,
                          int *are_escaped)
{
    Py_ssize_t size = rows->before.size + rows->behind.size;
    *are_escaped = 0;
    for (Py_ssize_t row = first; row < last; row++) {
        size += row > first;
        size += rows->labels[rows->width].size;
        for (Py_ssize_t column = 0; column < rows->width; column++) {
            struct text text;
            if (cell_of(&rows->columns[column], row, &text) < 0)
                return -1;
            size += rows->labels[column].size + text.size;
            if (rows->columns[column].values != NULL && has_escaped(text)) {
                size += text.size * (ESCAPE_CHARS_MAX - 1);
                *are_escaped = 1;
            }
        }
    }
    return size;
}

static PyObject *written(const struct rows *rows, Py_ssize_t first, Py_ssize_t last)
{
    int are_escaped;
    Py_ssize_t size = size_of(rows, first, last, &are_escaped);
    PyObject *answer = size < 0 ? NULL : PyBytes_FromStringAndSize(NULL, size);
    if (answer == NULL)
        return NULL;
    char *to = write_text(PyBytes_AS_STRING(answer), rows->before);
    for (Py_ssize_t row = first; row < last; row++) {
        if (row > first)
            *to++ = ',';
        for (Py_ssize_t column = 0; column < rows->width; column++) {
            struct text text;
            to = write_text(to, rows->labels[column]);
            if (cell_of(&rows->columns[column], row, &text) < 0) {
                Py_DECREF(answer);
                return NULL;
            }
            to = are_escaped ? write_escaped(to, text) : write_text(to, text);
        }
        to = write_text(to, rows->labels[rows->width]);
    }
    to = write_text(to, rows->behind);
    if (are_escaped && _PyBytes_Resize(&answer, to - PyBytes_AS_STRING(answer)) < 0)
        return NULL;
    return answer;
}

/* Returns the number of values; -1 if it is not a column. */
static Py_ssize_t take_column(struct column *column, PyObject *values, Py_ssize_t size)
{
    *column = (struct column){.size = size};
    if (size == 0) {
        column->values = PySequence_Fast(values, "a column");
        return column->values == NULL ? -1 : PySequence_Fast_GET_SIZE(column->values);
    }
    if (text_of(values, &column->text) < 0)
        return -1;
    if (size < 0 || column->text.size % size) {
        PyErr_SetString(PyExc_ValueError, "values of one size fill a text");
        return -1;
    }
    return column->text.size / size;
}

static int take_columns(struct rows *rows, PyObject *labels, PyObject *columns, PyObject *sizes)
{
    Py_ssize_t width = PyTuple_GET_SIZE(columns);
    if (width < 1 || width > COLUMNS_MAX || PyTuple_GET_SIZE(labels) != width + 1 ||
        PyTuple_GET_SIZE(sizes) != width) {
        PyErr_SetString(PyExc_ValueError, "columns need a label each, and one behind them");
        return -1;
    }
    for (Py_ssize_t i = 0; i <= width; i++)
        if (text_of(PyTuple_GET_ITEM(labels, i), &rows->labels[i]) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < width; i++) {
        Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
        if (size == -1 && PyErr_Occurred())
            return -1;
        Py_ssize_t length = take_column(&rows->columns[i], PyTuple_GET_ITEM(columns, i), size);
        rows->width++;
        if (length < 0)
            return -1;
        if (i == 0)
            rows->length = length;
        if (length != rows->length) {
            PyErr_SetString(PyExc_ValueError, "columns are of one length");
            return -1;
        }
    }
    return 0;
}

static PyObject *write_each(const struct rows *rows, PyObject *counts)
{
    PyObject *wanted = PySequence_Fast(counts, "counts");
    PyObject *answers = wanted == NULL ? NULL : PyList_New(PySequence_Fast_GET_SIZE(wanted));
    Py_ssize_t first = 0;
    for (Py_ssize_t i = 0; answers != NULL && i < PyList_GET_SIZE(answers); i++) {
        Py_ssize_t count = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(wanted, i));
        PyObject *answer = NULL;
        if (count >= 0 && count <= rows->length - first)
            answer = written(rows, first, first + count);
        else if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "there are not so many rows");
        if (answer == NULL)
            Py_CLEAR(answers);
        else
            PyList_SET_ITEM(answers, i, answer);
        first += count;
    }
    Py_XDECREF(wanted);
    return answers;
}

static PyObject *json_rows(PyObject *module, PyObject *arguments)
{
    (void)module;
    struct rows rows = {.width = 0};
    PyObject *labels, *columns, *sizes, *counts, *answers = NULL;
    if (!PyArg_ParseTuple(arguments, "y#y#O!O!O!O", &rows.before.at, &rows.before.size,
                          &rows.behind.at, &rows.behind.size, &PyTuple_Type, &labels,
                          &PyTuple_Type, &columns, &PyTuple_Type, &sizes, &counts))
        return NULL;
    if (take_columns(&rows, labels, columns, sizes) == 0)
        answers = write_each(&rows, counts);
    while (rows.width > 0)
        Py_XDECREF(rows.columns[--rows.width].values);
    return answers;
}

/* Reading. Each step moves past what it found and returns 1, or returns 0. */

struct place {
    const char *at;
    const char *end;
};

static void pass_space(struct place *place)
{
    while (place->at < place->end && (*place->at == ' ' || *place->at == '\t' ||
                                      *place->at == '\n' || *place->at == '\r'))
        place->at++;
}

static int takes(struct place *place, char sign)
{
    pass_space(place);
    if (place->at == place->end || *place->at != sign)
        return 0;
    place->at++;
    return 1;
}

/* True for ASCII without escapes or control characters. */
FOR_EACH_PROCESSOR static int is_plain(struct text text)
{
    unsigned char unusual = 0;
    for (Py_ssize_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        unusual |= (byte < 0x20) | (byte >= 0x80) | (byte == '\\');
    }
    return !unusual;
}

static int takes_plain(struct place *place, struct text *text)
{
    if (!takes(place, '"'))
        return 0;
    const char *quote = memchr(place->at, '"', (size_t)(place->end - place->at));
    if (quote == NULL)
        return 0;
    *text = (struct text){place->at, quote - place->at};
    place->at = quote + 1;
    return is_plain(*text);
}

/* Character of an escape sequence; -1 for those that no message may have. */
static int unescaped(char sign)
{
    switch (sign) {
    case '"':
    case '\\':
    case '/': return sign;
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return -1;
    }
}

/* Reads a message body, still escaped: ASCII, perhaps with the usual escapes. */
static int takes_body(struct place *place, struct text *text)
{
    struct place start = *place;
    if (takes_plain(place, text))
        return 1;
    *place = start;
    if (!takes(place, '"'))
        return 0;
    text->at = place->at;
    for (; place->at < place->end && *place->at != '"'; place->at++) {
        unsigned char byte = (unsigned char)*place->at;
        if (byte < 0x20 || byte >= 0x80)
            return 0;
        if (byte == '\\' && (++place->at == place->end || unescaped(*place->at) < 0))
            return 0;
    }
    text->size = place->at - text->at;
    return takes(place, '"');
}

static int is_equal(struct text text, struct text other)
{
    return text.size == other.size && memcmp(text.at, other.at, (size_t)text.size) == 0;
}

static int is_id(struct text text)
{
    for (Py_ssize_t i = 0; i < text.size; i++) {
        char sign = text.at[i];
        if (!((sign >= '0' && sign <= '9') || (sign >= 'A' && sign <= 'Z') ||
              (sign >= 'a' && sign <= 'z') || sign == '-' || sign == '_'))
            return 0;
    }
    return text.size > 0 && text.size <= ID_CHARS_MAX;
}

/* Kind of batch: the member of its entries beside the id, and how that is read and made. */
struct kind {
    struct text member;
    int (*takes)(struct place *place, struct text *text);
    PyObject *(*made)(struct text text);
};

struct entry {
    struct text id;
    struct text value;
};

struct batch {
    struct text url;
    struct entry entries[ENTRIES_MAX];
    Py_ssize_t count;
};

/* Reads an entry of two members, each once, in any order. */
static int takes_entry(struct place *place, const struct kind *kind, struct entry *entry)
{
    static const struct text id = {"Id", 2};
    *entry = (struct entry){{NULL, 0}, {NULL, 0}};
    if (!takes(place, '{'))
        return 0;
    for (int i = 0; i < 2; i++) {
        struct text name, value;
        if ((i > 0 && !takes(place, ',')) || !takes_plain(place, &name) || !takes(place, ':') ||
            !kind->takes(place, &value))
            return 0;
        if (is_equal(name, id) && entry->id.at == NULL)
            entry->id = value;
        else if (is_equal(name, kind->member) && entry->value.at == NULL)
            entry->value = value;
        else
            return 0;
    }
    return takes(place, '}') && is_id(entry->id);
}

static int takes_entries(struct place *place, const struct kind *kind, struct batch *batch)
{
    if (!takes(place, '['))
        return 0;
    do {
        if (batch->count == ENTRIES_MAX)
            return 0;
        struct entry *entry = &batch->entries[batch->count];
        if (!takes_entry(place, kind, entry))
            return 0;
        for (Py_ssize_t i = 0; i < batch->count; i++)
            if (is_equal(batch->entries[i].id, entry->id))
                return 0;
        batch->count++;
    } while (takes(place, ','));
    return takes(place, ']');
}

static int takes_batch(struct place *place, const struct kind *kind, struct batch *batch)
{
    static const struct text url = {"QueueUrl", 8}, entries = {"Entries", 7};
    batch->url.at = NULL;
    batch->count = 0;
    if (!takes(place, '{'))
        return 0;
    for (int i = 0; i < 2; i++) {
        struct text name;
        if ((i > 0 && !takes(place, ',')) || !takes_plain(place, &name) || !takes(place, ':'))
            return 0;
        if (is_equal(name, url) && batch->url.at == NULL) {
            if (!takes_plain(place, &batch->url))
                return 0;
        } else if (is_equal(name, entries) && batch->count == 0) {
            if (!takes_entries(place, kind, batch))
                return 0;
        } else {
            return 0;
        }
    }
    if (!takes(place, '}'))
        return 0;
    pass_space(place);
    return place->at == place->end;
}

/* Makes bytes of text that may have escapes. */
static PyObject *bytes_of(struct text text)
{
    if (memchr(text.at, '\\', (size_t)text.size) == NULL)
        return PyBytes_FromStringAndSize(text.at, text.size);
    PyObject *made = PyBytes_FromStringAndSize(NULL, text.size);
    if (made == NULL)
        return NULL;
    char *to = PyBytes_AS_STRING(made);
    for (Py_ssize_t i = 0; i < text.size; i++)
        *to++ = text.at[i] == '\\' ? (char)unescaped(text.at[++i]) : text.at[i];
    if (_PyBytes_Resize(&made, to - PyBytes_AS_STRING(made)) < 0)
        return NULL;
    return made;
}

static PyObject *ascii_of(struct text text)
{
    if (text.size == 1)
        /* Python keeps one object of each. */
        return PyUnicode_FromStringAndSize(text.at, 1);
    PyObject *made = PyUnicode_New(text.size, 127);
    if (made != NULL)
        memcpy(PyUnicode_1BYTE_DATA(made), text.at, (size_t)text.size);
    return made;
}

static PyObject *columns_of(PyObject *content, const struct kind *kind)
{
    struct place place;
    struct batch batch;
    if (!PyBytes_CheckExact(content)) {
        PyErr_SetString(PyExc_TypeError, "bytes are read");
        return NULL;
    }
    place.at = PyBytes_AS_STRING(content);
    place.end = place.at + PyBytes_GET_SIZE(content);
    if (!takes_batch(&place, kind, &batch))
        Py_RETURN_NONE;
    PyObject *url = ascii_of(batch.url);
    PyObject *ids = PyList_New(batch.count), *values = PyList_New(batch.count);
    for (Py_ssize_t i = 0; url != NULL && ids != NULL && values != NULL && i < batch.count; i++) {
        PyObject *id = ascii_of(batch.entries[i].id);
        PyObject *value = kind->made(batch.entries[i].value);
        PyList_SET_ITEM(ids, i, id);
        PyList_SET_ITEM(values, i, value);
        if (id == NULL || value == NULL)
            Py_CLEAR(url);
    }
    if (url == NULL || ids == NULL || values == NULL) {
        Py_XDECREF(url);
        Py_XDECREF(ids);
        Py_XDECREF(values);
        return NULL;
    }
    return Py_BuildValue("(NNN)", url, ids, values);
}

static PyObject *plain_sends(PyObject *module, PyObject *content)
{
    static const struct kind sends = {{"MessageBody", 11}, takes_body, bytes_of};
    (void)module;
    return columns_of(content, &sends);
}

static PyObject *plain_deletes(PyObject *module, PyObject *content)
{
    static const struct kind deletes = {{"ReceiptHandle", 13}, takes_plain, ascii_of};
    (void)module;
    return columns_of(content, &deletes);
}

static PyMethodDef methods[] = {
    {"json_rows", json_rows, METH_VARARGS,
     "Writes answers from columns; each takes as many of the next rows as its count says."},
    {"plain_sends", plain_sends, METH_O,
     "Queue, ids and bodies of a SendMessageBatch with nothing else; None if it is unusual."},
    {"plain_deletes", plain_deletes, METH_O,
     "Queue, ids and receipts of a DeleteMessageBatch; None if it is unusual."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_rows", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__rows(void)
{
    return PyModuleDef_Init(&definition);
}
