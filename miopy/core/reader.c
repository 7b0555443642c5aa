/* reader.c: what every call looks at anew. Addresses of data arguments, in the common cases:
 * core/memory.py knows all of them. Versions of descriptors. Variables of the environment. In which
 * process it runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What one argument takes. */
typedef struct {
    PyObject_HEAD vectorcallfunc call;
    PyTypeObject *kind;   /* of arrays that may be read here */
    const char *formats;  /* of their elements, a letter each */
    PyObject *type;       /* their dtype where that has no letter, or None */
    PyObject *kept;       /* what holds the letters */
    PyObject *slowly;     /* called with whatever else there is */
    long long last;       /* the largest integer that is an address */
    Py_ssize_t nbytes;    /* that arrays hold at least */
    Py_ssize_t alignment; /* of addresses */
    int writable;         /* whether arrays have to be */
} reader;

static int is_address(const reader *r, long long address)
{
    return 0 < address && address <= r->last && address % r->alignment == 0;
}

/* The integer itself, or NULL without an error. */
static PyObject *read_integer(const reader *r, PyObject *value)
{
    int overflows; /* then the address is -1 */
    const long long address = PyLong_AsLongLongAndOverflow(value, &overflows);
    return is_address(r, address) ? Py_NewRef(value) : NULL;
}

/* Whether an array has the type without a letter, of which there is one object. */
static int has_type(const reader *r, PyObject *value)
{
    if (r->type == Py_None)
        return 0;
    PyObject *found = PyObject_GetAttrString(value, "dtype");
    Py_XDECREF(found); /* the array has it */
    return found == r->type;
}

/* The address of an array, or NULL without an error. */
static PyObject *read_array(const reader *r, PyObject *value)
{
    const int is_known = has_type(r, value);
    const int flags = PyBUF_C_CONTIGUOUS | (r->writable ? PyBUF_WRITABLE : 0);
    Py_buffer view;
    if (PyErr_Occurred() ||
        PyObject_GetBuffer(value, &view, flags | (is_known ? 0 : PyBUF_FORMAT))) {
        PyErr_Clear();
        return NULL;
    }
    const long long address = (long long)(intptr_t)view.buf;
    const int is_letter = view.format && view.format[0] && !view.format[1];
    const int is_right = is_known || (is_letter && strchr(r->formats, view.format[0]));
    const int fits = view.len >= r->nbytes && is_right && is_address(r, address);
    PyBuffer_Release(&view);
    return fits ? PyLong_FromLongLong(address) : NULL;
}

static PyObject *read_value(const reader *r, PyObject *value)
{
    PyObject *found = NULL;
    if (PyLong_CheckExact(value))
        found = read_integer(r, value);
    else if (Py_TYPE(value) == r->kind)
        found = read_array(r, value);
    return found || PyErr_Occurred() ? found : PyObject_CallOneArg(r->slowly, value);
}

static PyObject *reader_call(PyObject *self, PyObject *const *arguments, size_t given,
                             PyObject *names)
{
    if (PyVectorcall_NARGS(given) == 1 && !names)
        return read_value((const reader *)self, arguments[0]);
    PyErr_SetString(PyExc_TypeError, "a reader takes one value");
    return NULL;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"slowly", "kind",      "formats",  "type", "nbytes",
                            "last",   "alignment", "writable", NULL};
    reader *r = (reader *)type->tp_alloc(type, 0);
    if (!r)
        return NULL;
    PyObject *slowly, *kind, *formats, *dtype;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "OO!UOnLnp", names, &slowly, &PyType_Type,
                                     &kind, &formats, &dtype, &r->nbytes, &r->last, &r->alignment,
                                     &r->writable) ||
        !(r->formats = PyUnicode_AsUTF8(formats))) {
        Py_DECREF(r);
        return NULL;
    }
    if (r->alignment < 1) {
        PyErr_SetString(PyExc_ValueError, "alignment must be positive");
        Py_DECREF(r);
        return NULL;
    }
    r->call = reader_call;
    r->slowly = Py_NewRef(slowly);
    r->kind = (PyTypeObject *)Py_NewRef(kind);
    r->kept = Py_NewRef(formats);
    r->type = Py_NewRef(dtype);
    return (PyObject *)r;
}

static int reader_traverse(PyObject *self, visitproc visit, void *arg)
{
    reader *r = (reader *)self;
    Py_VISIT(r->slowly);
    Py_VISIT(r->kind);
    Py_VISIT(r->type);
    return 0;
}

static int reader_clear(PyObject *self)
{
    reader *r = (reader *)self;
    Py_CLEAR(r->slowly);
    Py_CLEAR(r->kind);
    Py_CLEAR(r->type);
    Py_CLEAR(r->kept);
    return 0;
}

static void reader_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject reader_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "miopy.core._reader.Reader",
    .tp_doc = "The address of a value; what it does not know it leaves to `slowly`.",
    .tp_basicsize = sizeof(reader),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(reader, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = reader_new,
    .tp_traverse = reader_traverse,
    .tp_clear = reader_clear,
    .tp_dealloc = reader_dealloc,
};

/* The `place`th of some values as its reader says; NULL with an error. */
static PyObject *read_one(PyObject *read, PyObject *values, Py_ssize_t place)
{
    if (place < 0 || place >= PyTuple_GET_SIZE(values)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_IndexError, "values have no such place");
        return NULL;
    }
    PyObject *value = PyTuple_GET_ITEM(values, place);
    return Py_IS_TYPE(read, &reader_type) ? read_value((const reader *)read, value)
                                          : PyObject_CallOneArg(read, value);
}

static PyObject *read_each(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    if (given != 2 || !PyTuple_CheckExact(arguments[0]) || !PyTuple_CheckExact(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "read_each takes two tuples");
        return NULL;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments[0]);
    PyObject *addresses = PyList_New(count);
    for (Py_ssize_t i = 0; addresses && i < count; i++) {
        PyObject *pair = PyTuple_GET_ITEM(arguments[0], i), *address = NULL;
        if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2)
            address = read_one(PyTuple_GET_ITEM(pair, 1), arguments[1],
                               PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0)));
        else
            PyErr_SetString(PyExc_TypeError, "each must be a place and a reader");
        if (!address)
            Py_CLEAR(addresses);
        else
            PyList_SET_ITEM(addresses, i, address);
    }
    return addresses;
}

static PyObject *version; /* the name of that attribute */

/* Of the `place`th of a list or tuple, which may meanwhile have become shorter. */
static PyObject *version_of(PyObject *descriptors, Py_ssize_t place)
{
    if (place >= PySequence_Fast_GET_SIZE(descriptors)) {
        PyErr_SetString(PyExc_IndexError, "descriptors have become fewer");
        return NULL;
    }
    PyObject *descriptor = Py_NewRef(PySequence_Fast_GET_ITEM(descriptors, place));
    PyObject *found = PyObject_GetAttr(descriptor, version);
    Py_DECREF(descriptor);
    return found;
}

static PyObject *versions(PyObject *module, PyObject *descriptors)
{
    if (!PyList_CheckExact(descriptors) && !PyTuple_CheckExact(descriptors)) {
        PyErr_SetString(PyExc_TypeError, "descriptors must be in a list or a tuple");
        return NULL;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(descriptors);
    PyObject **items = PySequence_Fast_ITEMS(descriptors);
    Py_ssize_t alike = 0;
    while (alike < count && items[alike] == items[0])
        alike++;
    if (count > 1 && alike == count)
        return Py_BuildValue("(Nn)", version_of(descriptors, 0), -count);
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *each = version_of(descriptors, i);
        if (!each)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, i, each);
    }
    return found;
}

static PyObject *environment(PyObject *module, PyObject *const *names, Py_ssize_t given)
{
    PyObject *found = PyTuple_New(given);
    for (Py_ssize_t i = 0; found && i < given; i++) {
        const char *name = PyBytes_AsString(names[i]);
        const char *value = name ? getenv(name) : NULL;
        PyObject *kept = value ? PyBytes_FromString(value) : name ? Py_NewRef(Py_None) : NULL;
        if (!kept)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, i, kept);
    }
    return found;
}

static unsigned long num_forks; /* between the process that loaded this and this one */
static void count_fork(void) { num_forks++; }

static PyObject *forks(PyObject *module, PyObject *nothing)
{
    return PyLong_FromUnsignedLong(num_forks);
}

static PyMethodDef functions[] = {
    {"read_each", (PyCFunction)(void (*)(void))read_each, METH_FASTCALL,
     "The addresses that pairs of a place and a reader say of a tuple's values."},
    {"environment", (PyCFunction)(void (*)(void))environment, METH_FASTCALL,
     "What variables of the process say now, as C sees them; None of those that are not set."},
    {"versions", versions, METH_O,
     "Those of an array of descriptors, one per time step; of one that all steps share its own "
     "and, as no version is negative, minus their number."},
    {"forks", forks, METH_NOARGS,
     "How often processes have forked until this one came: no ancestor has the same number."},
    {0},
};

static int fill_module(PyObject *module)
{
    if (!version && !(version = PyUnicode_InternFromString("version")))
        return -1;
    static int watches; /* it may be filled again */
    if (!watches && pthread_atfork(NULL, NULL, count_fork)) {
        PyErr_NoMemory();
        return -1;
    }
    watches = 1;
    return PyModule_AddType(module, &reader_type);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill_module}, {0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_reader",
                                        .m_methods = functions, .m_slots = slots};

PyMODINIT_FUNC PyInit__reader(void) { return PyModuleDef_Init(&definition); }
