cdef class AlphaLayer:
    cdef object _defaults
    cdef dict _matched
    cdef object _index
    cdef object _patterns
    cdef dict _kinds
    cdef dict _gates
    cdef set _counted
    cdef list _passes
    cdef list _refutes
    cdef dict _shared

    cpdef passes(self, number)
    cpdef refutes(self, number)
    cpdef match(self, fact)
    cpdef gate(self, kind)
    cpdef signals(self, kind, values)
    cpdef share(self, value)
    cpdef values(self, fact)
    cdef _table(self, kind)
    cdef _judge(self, candidates, values)
