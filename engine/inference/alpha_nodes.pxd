cdef class AlphaNode:
    cdef readonly tuple signal
    cdef readonly object check
    cdef readonly tuple alone
    cdef readonly tuple others
    cdef readonly bint known

    cpdef find(self, backend)
