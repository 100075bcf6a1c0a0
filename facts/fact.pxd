cdef class Fact:
    cdef public object kind
    cdef public object values
    cdef public object provenance
    cdef public Py_hash_t _hash
    cdef public object _order
