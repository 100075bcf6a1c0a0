# The order is that in which a fact that passes by reads.

cdef class AlphaNode:
    cdef readonly object op
    cdef readonly object attribute
    cdef readonly object bound
    cdef readonly object check
    cdef readonly tuple signal
    cdef readonly bint known
    cdef readonly tuple alone
    cdef readonly tuple others
    cdef readonly AlphaNode next

    cpdef bint passes(self, fact) except -1
    cpdef find(self, backend)
