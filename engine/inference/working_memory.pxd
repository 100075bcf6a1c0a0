cimport cython

from .alpha cimport AlphaLayer


cdef class WorkingMemory:
    cdef readonly AlphaLayer alpha
    cdef public dict facts
    cdef public dict matches
    cdef set _given
    cdef dict _by_kind
    cdef object _counted

    cpdef add(self, fact)

    cpdef add_derived(self, fact, signals)

    @cython.locals(matches=dict)
    cpdef file(self, token, values, signals)

    @cython.locals(matches=dict)
    cpdef file_flat(self, items)

    cpdef file_one(self, place, item)

    cpdef of_kind(self, kind)
