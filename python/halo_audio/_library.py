"""libhalo by ctypes: its functions, and its errors as Python's."""
import ctypes
import os
import pathlib
import threading
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

FOLDER = pathlib.Path(__file__).resolve().parent
FAILED, USAGE, NO_MEMORY = 1, 2, 3  # enum halo_status
ERRORS = {USAGE: ValueError, NO_MEMORY: MemoryError}


class Failure(ctypes.Structure):
    """struct halo_error"""
    _fields_ = [("status", c_int), ("text", ctypes.c_char * 1024)]


class Taps(ctypes.Structure):
    """struct halo_taps"""
    _fields_ = [("size", c_size_t), ("samples", c_void_p), ("stride", c_size_t), ("columns", c_size_t),
                ("taps", c_size_t), ("rate", c_uint32), ("paths", c_void_p), ("path_count", c_size_t)]


class MaskInfo(ctypes.Structure):
    """struct halo_mask_info"""
    _fields_ = [(name, c_size_t) for name in ("size", "inputs", "outputs", "columns", "paths", "taps", "origin")
                ] + [("rate", c_uint32)]


class ConvolverOptions(ctypes.Structure):
    """struct halo_convolver_options"""
    _fields_ = [("size", c_size_t), ("backend", c_char_p), ("block", c_size_t), ("taps", c_size_t),
                ("threads", c_size_t)]


# Arrays and options of arrays are packed bytes: structs of ctypes take longer than small convolutions.
PROTOTYPES = {
    "halo_version": (c_char_p,),
    "halo_arrays_scratch": (c_int, c_char_p, c_size_t, c_char_p, POINTER(c_size_t), c_void_p),
    "halo_arrays_convolve": (c_int, c_char_p, c_size_t, c_char_p, c_void_p),
    "halo_mask_read": (c_int, c_char_p, POINTER(c_void_p), c_void_p),
    "halo_mask_taps": (None, c_void_p, c_size_t, c_void_p),
    "halo_mask_from_taps": (c_int, POINTER(Taps), c_uint32, c_size_t, POINTER(c_void_p), c_void_p),
    "halo_mask_describe": (None, c_void_p, POINTER(MaskInfo)),
    "halo_mask_destroy": (None, c_void_p),
    "halo_convolver_create": (c_int, c_void_p, POINTER(ConvolverOptions), POINTER(c_void_p), c_void_p),
    "halo_convolver_destroy": (None, c_void_p),
    "halo_convolver_process": (c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_size_t),
    "halo_convolver_switch": (c_int, c_void_p, c_void_p, c_uint64, c_uint64, c_void_p),
    "halo_convolver_switched": (c_bool, c_void_p, POINTER(c_uint64)),
    "halo_convolver_reset": (None, c_void_p),
}


def load() -> ctypes.CDLL:
    """Load $HALO_LIBRARY, the package's own libhalo, or the system's."""
    own = FOLDER / "libhalo.so"
    name = os.environ.get("HALO_LIBRARY") or (str(own) if own.exists() else "libhalo.so.0")
    try:
        loaded = ctypes.CDLL(name)
        for function, (result, *arguments) in PROTOTYPES.items():
            getattr(loaded, function).restype = result
            getattr(loaded, function).argtypes = arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot use libhalo: {error}; install halo-audio by pip, or set HALO_LIBRARY to the "
                          "path of a libhalo.so of this version") from None
    return loaded


library = load()
version: str = library.halo_version().decode()


class Failures(threading.local):
    """The calling thread's struct halo_error, and its address."""
    def __init__(self) -> None:
        self.failure = Failure()
        self.address = ctypes.addressof(self.failure)


failures = Failures()


def check(status: int, failed: type = RuntimeError) -> None:
    """Raise the exception for the status of a call with failures.address; `failed`: class for HALO_FAILED."""
    if status:
        text = failures.failure.text.decode(errors="replace")
        raise ERRORS.get(status, failed if status == FAILED else RuntimeError)(text or "libhalo failed")


def scratch_bytes(arrays: bytes, groups: int, options: bytes) -> int:
    """Bytes of device memory that a convolution needs beside its arrays."""
    size = c_size_t()
    check(library.halo_arrays_scratch(arrays, groups, options, byref(size), failures.address))
    return size.value


def convolve(arrays: bytes, groups: int, options: bytes) -> None:
    """Call halo_arrays_convolve with packed structs."""
    status = library.halo_arrays_convolve(arrays, groups, options, failures.address)
    if status:
        check(status)
