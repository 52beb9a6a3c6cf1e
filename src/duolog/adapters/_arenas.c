/* Arena allocator that puts Python's small objects on huge pages, if the system has any.

   Python asks for memory in arenas of a megabyte, one by one and anywhere. Here two of them share
   a page of two megabytes, so that the processor's TLB, with entries for a few thousand pages,
   covers all objects of a node. memory.py uses this where it could be built. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <sys/mman.h>

#define PAGE_BYTES ((size_t)2 << 20)
#define ARENA_BYTES (PAGE_BYTES / 2)
#define SPARE_MAX 16
#define SMALL_MAX 16

/* Python holds the GIL during both calls, so the state below needs no lock. */

/* Number of arenas on small pages. The first SMALL_MAX stay there: a node with few objects has few
   TLB misses anyway, and small pages are cleared only as they are used. */
static int small_count;

/* Second half of the last huge page, while it is free. */
static void *half;

/* Freed arenas, kept for the next turn of the event loop: to have the kernel clear a huge page in
   each turn would cost more than small pages do. */
static void *spare[SPARE_MAX];
static int spare_count;

static void *mapped(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Maps an aligned huge page: maps twice the size, and unmaps what is before and after it. */
static uint8_t *new_page(void)
{
    uint8_t *found = mapped(2 * PAGE_BYTES);
    if (found == NULL)
        return NULL;
    size_t before = -(uintptr_t)found % PAGE_BYTES;
    if (before)
        munmap(found, before);
    munmap(found + before + PAGE_BYTES, PAGE_BYTES - before);
    /* May be refused; the small pages then serve as well. */
    madvise(found + before, PAGE_BYTES, MADV_HUGEPAGE);
    return found + before;
}

static void *take(void *context, size_t size)
{
    (void)context;
    if (size != ARENA_BYTES)
        return mapped(size);
    if (spare_count > 0)
        return spare[--spare_count];
    if (small_count < SMALL_MAX) {
        small_count++;
        return mapped(size);
    }
    void *taken = half;
    if (taken != NULL) {
        half = NULL;
    } else {
        taken = new_page();
        if (taken != NULL)
            half = (uint8_t *)taken + ARENA_BYTES;
    }
    return taken;
}

/* Also receives arenas that Python itself mapped before this allocator was set. */
static void give_back(void *context, void *at, size_t size)
{
    (void)context;
    if (size == ARENA_BYTES && spare_count < SPARE_MAX)
        spare[spare_count++] = at;
    else
        munmap(at, size);
}

static PyObject *use_huge_pages(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObjectArenaAllocator allocator = {NULL, take, give_back};
    PyObject_SetArenaAllocator(&allocator);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"use_huge_pages", use_huge_pages, METH_NOARGS, "Installs the allocator for objects that are made from now on."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_arenas", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit__arenas(void)
{
    return PyModuleDef_Init(&definition);
}
