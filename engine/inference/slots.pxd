cdef class Slot:
    cdef readonly object number
    cdef readonly tuple signal
    cdef readonly object joins
    cdef readonly bint grows


cdef class RulePlan:
    cdef readonly object number
    cdef readonly object rule
    cdef readonly object stratum
    cdef readonly tuple waits
    cdef readonly tuple signals
    cdef readonly object guards
    cdef readonly tuple positives
    cdef readonly tuple negatives
    cdef readonly tuple aggregates
    cdef readonly tuple sources
    cdef readonly tuple checks
    cdef readonly tuple conclusions
    cdef readonly bint grows
    cdef readonly bint told
    cdef readonly bint alone


cdef class Maker:
    cdef readonly object kind
    cdef readonly object strength
    cdef readonly tuple values
    cdef readonly object fact
    cdef readonly object signals
    cdef readonly bint final
    cpdef object make(self, tuple binding)
