"""Buffers that are not numpy's, and bad ones: none of them ends the process, and what is lent is given back."""

import pytest

from tests.programs.running import simulated

LENT = """
import ctypes, gc, sys
import numpy as np
from mpi4py import MPI

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

class Lent:
    "Frees its description with the capsule, as a producer may."
    def __init__(self, array, device=1, length=None, strides=None, address=None):
        self.array = array
        self.args = device, length or len(array), strides, address or array.ctypes.data
    def __dlpack_device__(self):
        return self.args[0], 0
    def __dlpack__(self, stream=None):
        device, length, strides, address = self.args
        self.kept = (ctypes.c_int64 * 1)(length), (ctypes.c_int64 * 1)(strides or 1)
        code = {"f": 2, "i": 0}[self.array.dtype.kind]
        self.tensor = Tensor(address, device, 0, 1, code, 8 * self.array.itemsize, 1, *self.kept, 0, None, None)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

class OnGpu:
    def __init__(self, array, address=None, **more):
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3,
            "data": (array.ctypes.data if address is None else address, False), **more}

comm, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
def told(buf):
    try:
        comm.Bcast(buf)
    except (TypeError, ValueError, BufferError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
    return "fine"
"""


def test_arrays_of_other_libraries_are_sent_and_filled(tmp_path):
    body = """
for wrap in (Lent, OnGpu, lambda array: memoryview(array), lambda array: [OnGpu(array), MPI.DOUBLE]):
    total, came = np.zeros(3), np.zeros(3)
    comm.Allreduce(wrap(np.full(3, rank + 1.0)), wrap(total))
    comm.Sendrecv(wrap(np.full(3, float(rank))), 1 - rank, 0, wrap(came), 1 - rank, 0)
    print(total.tolist(), came.tolist())
"""
    lines = simulated(LENT + body, tmp_path, 2).output.splitlines()
    assert sorted(lines) == ["[3.0, 3.0, 3.0] [0.0, 0.0, 0.0]"] * 4 + ["[3.0, 3.0, 3.0] [1.0, 1.0, 1.0]"] * 4


def test_a_lent_array_is_given_back_when_the_call_is_over(tmp_path):
    body = """
array = np.zeros(3)
before = sys.getrefcount(array)
for k in range(5):
    comm.Sendrecv(Lent(array), 1 - rank, 0, Lent(array), 1 - rank, 0)
    comm.Allreduce(MPI.IN_PLACE, Lent(array))
    comm.Allgather(MPI.IN_PLACE, OnGpu(np.zeros(2)))
print(sys.getrefcount(array) - before)
"""
    assert simulated(LENT + body, tmp_path, 2).output == "0\n0\n"


@pytest.mark.parametrize(
    "buf, part",
    [
        ("OnGpu(np.zeros(3), address=64)", "24 bytes at 0x40 are no memory of this process"),
        ("OnGpu(np.zeros(3), address=2**63)", "no memory of this process"),
        ("OnGpu(np.zeros((2, 2)), strides=(8, 24))", "not contiguous"),
        ("Lent(np.zeros(3), address=4096)", "no memory of this process"),
        ("Lent(np.zeros(3), device=2)", "memory of device 2 is not in reach"),
        ("Lent(np.zeros(4), length=2, strides=2)", "not contiguous"),
        ("Lent(np.zeros(3), length=-3)", "shape item is negative"),
        ("np.arange(6)[::2]", "not contiguous"),
        ("'text'", "expecting buffer"),
        ("[np.zeros(3)]", "expecting 2 to 4 items"),
        ("[np.zeros(3), 4, MPI.DOUBLE]", "reach 4"),
        ("[np.zeros(3), MPI.DATATYPE_NULL]", "Invalid datatype"),
        ("[MPI.BOTTOM, 1, MPI.INT]", "MPI.BOTTOM"),
        ("object()", "expecting buffer"),
        ("np.array(['a', None], object)", "no datatype"),
    ],
)
def test_a_bad_buffer_is_an_exception_and_the_program_goes_on(tmp_path, buf, part):
    body = f"""
try:
    print(told({buf}))
except MPI.Exception as error:
    print(error)
print(comm.allreduce(1))
"""
    outcome = simulated(LENT + body, tmp_path, 1)
    assert outcome.failure is None
    assert part in outcome.output
    assert outcome.output.endswith("1\n")


def test_a_derived_type_of_more_elements_than_memory_holds_is_an_exception(tmp_path):
    body = """
for make in (lambda: MPI.BYTE.Create_contiguous(2**31 - 1), lambda: MPI.INT.Create_vector(2**20, 2**10, 2**11),
             lambda: MPI.INT.Create_subarray([2**20] * 3, [1] * 3, [0] * 3),
             lambda: MPI.INT.Create_indexed([2**40], [0]),
             lambda: MPI.Datatype.Create_struct([2**40], [0], [MPI.INT])):
    try:
        make()
    except NotImplementedError as error:
        print("elements is not simulated" in str(error))
"""
    assert simulated(LENT + body, tmp_path, 1).output == "True\n" * 5


def test_an_exchange_that_fails_leaves_neither_a_receive_nor_a_message(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_SELF
        data, first, second = np.arange(4.0), np.zeros(4), np.zeros(4)
        for call in (comm.Sendrecv, comm.Isendrecv):
            for send, dest, recv, source in (([data, 1, 2, 3, 4], 0, first, 0), (data, 0, b"read-only", 0),
                                             (data, 7, first, 0), (data, 0, first, 7)):
                try:
                    call(send, dest, 0, recv, source, 0)
                except (ValueError, MPI.Exception):
                    pass
                else:
                    print("went through")
        for bad in (dict(dest=7, source=0), dict(dest=0, source=7), dict(dest=0, source=0, sendtag=-2)):
            try:
                comm.sendrecv("x", **bad)
            except MPI.Exception as error:
                print(error.Get_error_class())
        comm.Sendrecv(data, 0, 0, second, 0, 0)
        print(first.tolist(), second.tolist(), comm.Iprobe(), comm.sendrecv(5, 0, 0, None, 0))
    """
    expected = "6\n6\n4\n[0.0, 0.0, 0.0, 0.0] [0.0, 1.0, 2.0, 3.0] False 5\n"
    assert simulated(script, tmp_path, 1).output == expected


PACKED = """
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
matrix, back = np.arange(12, dtype="i").reshape(3, 4), np.zeros((3, 4), "i")
column = MPI.INT.Create_resized(0, 4).Create_vector(3, 1, 4).Commit()
room = bytearray(MPI.INT.Pack_size(4, comm) + MPI.DOUBLE.Pack_size(1, comm))
at = MPI.INT.Pack(matrix[1], room, 0, comm)
at = MPI.DOUBLE.Pack(np.array([0.5]), room, at, comm)
print(at, len(room))
numbers, half = np.zeros(4, "i"), np.zeros(1)
at = MPI.INT.Unpack(room, 0, numbers, comm)
print(at, MPI.DOUBLE.Unpack(room, at, half, comm), numbers.tolist(), half.tolist())
pairs = MPI.INT.Create_vector(2, 1, 2).Create_resized(0, 16).Commit()
few = bytearray(pairs.Pack_size(3, comm))
print(pairs.Pack(matrix, few, 0, comm), np.frombuffer(few, "i").tolist())
print(pairs.Unpack(few, 0, back, comm), back.tolist())
for what in (lambda: MPI.INT.Pack(matrix, few, 0, comm), lambda: MPI.INT.Unpack(few, 8, back, comm)):
    try:
        what()
    except MPI.Exception as error:
        print(error.Get_error_class() == MPI.ERR_TRUNCATE)
"""


def test_data_is_packed_into_bytes_and_unpacked(tmp_path):
    assert simulated(PACKED, tmp_path, 1).output.splitlines() == [
        "24 24",
        "16 24 [4, 5, 6, 7] [0.5]",
        "24 [0, 2, 4, 6, 8, 10]",
        "24 [[0, 0, 2, 0], [4, 0, 6, 0], [8, 0, 10, 0]]",
        "True",
        "True",
    ]


def test_a_datatype_tells_how_it_was_made_and_outlives_what_it_was_made_of(tmp_path):
    script = """
        import pickle
        from mpi4py import MPI
        pair = MPI.INT.Create_contiguous(2)
        made = [MPI.DOUBLE.Create_vector(2, 1, 3), MPI.INT.Create_hindexed([2, 1], [0, 24]), pair.Create_resized(0, 12),
                MPI.INT.Create_subarray([2, 3], [1, 2], [0, 1]), MPI.CHAR.Dup(),
                MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, pair])]
        pair.Free()
        for datatype in made:
            integers, addresses, counts, datatypes = datatype.Get_contents()
            lengths = len(integers), len(addresses), len(counts), len(datatypes)
            assert datatype.envelope == (*lengths, datatype.combiner) and datatype.contents[:2] == (integers, addresses)
            again = pickle.loads(pickle.dumps(datatype))
            assert again.envelope == datatype.envelope and again.Get_extent() == datatype.Get_extent()
            print(integers, addresses, [kind.combiner == MPI.COMBINER_NAMED for kind in datatypes])
            for kind in datatypes:
                kind.free()
        assert datatype.Get_contents()[3][1].size == 8 and MPI.INT.envelope == (0, 0, 0, 0, MPI.COMBINER_NAMED)
        try:
            MPI.INT.Get_contents()
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_TYPE)
        print(MPI.CHAR.Dup().Dup().tocode(), MPI.Datatype.Get_value_index(MPI.FLOAT, MPI.INT) == MPI.FLOAT_INT,
              MPI.Datatype.Get_value_index(MPI.INT, MPI.FLOAT) == MPI.DATATYPE_NULL,
              MPI.Datatype.Match_size(MPI.TYPECLASS_LOGICAL, 4) == MPI.LOGICAL4)
    """
    assert simulated(script, tmp_path, 1).output == (
        "[2, 1, 3] [] [True]\n[2, 2, 1] [0, 24] [True]\n[] [0, 12] [False]\n[2, 2, 3, 1, 2, 0, 1, 56] [] [True]\n"
        "[] [] [True]\n[2, 1, 2] [0, 8] [True, False]\nTrue\nc True True True\n"
    )
