"""`convolve`: what is asked for as structs of libhalo, and the arrays of NumPy and CuPy."""
import itertools
import os
import struct
import sys
from typing import Any, Iterable, Literal, Sequence, TypeVar

import numpy

from . import _library

Array = TypeVar("Array")
Mode = Literal["full", "same", "valid"]

FLOAT32, FLOAT64, FLOAT16, BFLOAT16 = range(4)  # enum halo_sample
SAMPLES = {numpy.dtype(name): sample for name, sample in (("f4", FLOAT32), ("f8", FLOAT64), ("f2", FLOAT16))}
STRUCT = struct.Struct("@NPNnPNnPNNnN")  # struct halo_arrays
pack_arrays, unpack_arrays, ARRAYS_SIZE = STRUCT.pack, STRUCT.unpack, STRUCT.size
OPTIONS_FORMAT = "@Ni?N?PPN"  # struct halo_arrays_options
OPTIONS_SIZE = struct.calcsize(OPTIONS_FORMAT)
pack_options = struct.Struct(OPTIONS_FORMAT).pack


def convolve(x: Array, h: Any, mode: Mode = "full", *, threads: int = 0) -> Array:
    """Convolve sounds with masks along their last axis: y[i] = sum over k of x[i - k] h[k].

    x, h: NumPy arrays, PyTorch tensors or CuPy arrays, both of one kind and on one device. The other axes are
        broadcast. float32, float64, float16 and bfloat16 are kept; integers become floats. x may also be a list
        of such arrays of different lengths; h is then one array for all, or a list of as many.
    mode: "full" has frames + taps - 1 samples; "same" has the frames of x from the middle of these; "valid" has
        those in which the shorter one lies within the longer one.
    threads: on the CPU; 0: as many as PyTorch uses for tensors, and one per processor for others.
    Returns a new array, or a list of arrays. On a GPU the work is queued on the framework's current stream.
    PyTorch's gradients of any order flow to x and h.
    Raises TypeError, ValueError, MemoryError; RuntimeError if a GPU cannot be used.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        from . import _torch
        return _torch.convolve(x, h, mode, threads)
    if isinstance(x, (list, tuple)) and x and hasattr(x[0], "shape"):
        return convolve_list(x, h, mode, threads)  # type: ignore[return-value]
    kind = NumPy if not hasattr(x, "__cuda_array_interface__") else CuPy
    return convolve_many(kind, [x], [h], mode, threads)[0]


def convolve_list(x: Sequence[Any], h: Any, mode: Mode, threads: int) -> list:
    masks = list(h) if isinstance(h, (list, tuple)) else [h] * len(x)
    if len(masks) != len(x):
        raise ValueError(f"cannot convolve {len(x)} sounds with {len(masks)} masks: give one mask for all, or one each")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x[0], torch.Tensor):
        from . import _torch
        return _torch.convolve_list(x, masks, mode, threads)
    return convolve_many(CuPy if hasattr(x[0], "__cuda_array_interface__") else NumPy, x, masks, mode, threads)


# ---- what is asked for ----


def span(frames: int, taps: int, mode: str) -> tuple[int, int]:
    """First sample of the whole convolution that is asked for, and their number."""
    if mode == "full":
        return 0, frames + taps - 1 if frames and taps else 0
    if mode == "same":
        return (taps - 1) // 2 if taps else 0, frames
    if mode == "valid":
        return max(min(frames, taps) - 1, 0), abs(frames - taps) + 1 if frames and taps else 0
    raise ValueError(f"cannot convolve with mode {mode!r}: there are 'full', 'same' and 'valid'")


def batch_of(x: Sequence[int], h: Sequence[int]) -> tuple[int, ...]:
    """Shape of the batch, from shapes with the time."""
    if len(x) == len(h) == 1:
        return ()
    if len(h) == 1 and x or x[:-1] == h[:-1] and h:
        return tuple(x[:-1])
    if not x or not h:
        raise ValueError("cannot convolve a single number: give arrays of at least one axis")
    long, short = (x, h) if len(x) >= len(h) else (h, x)
    pairs = zip(long[:-1], (1,) * (len(long) - len(short)) + tuple(short[:-1]))
    batch = tuple(b if a == 1 else a for a, b in pairs)
    for own in (x, h):
        if any(size not in (1, all_) for size, all_ in zip(own[-2::-1], batch[::-1])):
            raise ValueError(f"cannot convolve shapes {tuple(x)} and {tuple(h)}: "
                             "the axes before the last cannot be broadcast")
    return batch


def steps_of(shape: Sequence[int], strides: Sequence[int], rank: int) -> list[int]:
    """Steps along the axes of a batch of `rank` axes, in samples; 0 where the array is broadcast."""
    own = [stride if size != 1 else 0 for size, stride in zip(shape[:-1], strides)]
    return [0] * (rank - len(own)) + own


def groups_of(x: int, x_shape: Sequence[int], x_strides: Sequence[int], h: int, h_shape: Sequence[int],
              h_strides: Sequence[int], y: int, batch: Sequence[int], bytes_each: int, first: int,
              out: int) -> tuple[bytes, int]:
    """Packed groups for arrays at addresses x and h, and a new one at y, and how many there are. The strides are
    in samples. `first` may be negative: y is all zeros then."""
    before = min(max(-first, 0), out)
    fixed = max(first, 0), out - before
    frames, taps = x_shape[-1], h_shape[-1]
    y += before * bytes_each
    rank = len(batch)
    if not rank:
        return pack_arrays(ARRAYS_SIZE, x, frames, 0, h, taps, 0, y, *fixed, out, 1), 1
    axes: list[list[int]] = []  # size, and steps of x, h and y; from the last, axes that follow on are one
    y_step = out
    for size, x_step, h_step in zip(batch[::-1], steps_of(x_shape, x_strides, rank)[::-1],
                                    steps_of(h_shape, h_strides, rank)[::-1]):
        last = axes[-1] if axes else None
        if last and x_step == last[0] * last[1] and h_step == last[0] * last[2]:
            last[0] *= size
        elif size != 1:
            axes.append([size, x_step, h_step, y_step])
        y_step *= size
    axes.sort()
    count, x_step, h_step, step = axes.pop() if axes else [1, 0, 0, out]
    parts = []
    for place in itertools.product(*(range(size) for size, *_ in axes)):
        at = [bytes_each * sum(i * axis[s] for i, axis in zip(place, axes)) for s in (1, 2, 3)]
        parts.append(pack_arrays(ARRAYS_SIZE, x + at[0], frames, x_step, h + at[1], taps, h_step, y + at[2], *fixed,
                                 step, count))
    return b"".join(parts), len(parts)


def join(groups: Iterable[tuple[bytes, int]]) -> tuple[bytes, int]:
    parts, counts = zip(*groups)
    return b"".join(parts), sum(counts)


# ---- GPUs and forks ----

cuda_is_used = False
is_forked_from_cuda = False


def before_fork() -> None:
    global cuda_is_used
    torch = sys.modules.get("torch")
    cuda_is_used = cuda_is_used or torch is not None and torch.cuda.is_initialized()


def after_fork() -> None:
    global is_forked_from_cuda
    is_forked_from_cuda = cuda_is_used


os.register_at_fork(before=before_fork, after_in_child=after_fork)


def enter_cuda() -> None:
    """Before each use of CUDA. It cannot be used in a child of a process that has used it."""
    global cuda_is_used
    if is_forked_from_cuda:
        raise RuntimeError("cannot convolve on a GPU in a forked process: its parent had used CUDA, which does not "
                           "survive a fork; start workers with the 'spawn' method, or convolve on the CPU there")
    cuda_is_used = True


# ---- NumPy and CuPy ----


class NumPy:
    """Arrays in the host's memory."""
    @staticmethod
    def array(given: Any) -> numpy.ndarray:
        if hasattr(given, "__cuda_array_interface__"):
            raise TypeError(f"cannot convolve a NumPy array with a {type(given).__name__}: move it to the host first")
        return numpy.asarray(given)

    @staticmethod
    def address(array: numpy.ndarray) -> int:
        return array.__array_interface__["data"][0]

    empty = staticmethod(numpy.empty)

    @staticmethod
    def run(arrays: bytes, groups: int, sample: int, threads: int) -> None:
        _library.convolve(arrays, groups, pack_options(OPTIONS_SIZE, sample, False, threads, False, 0, 0, 0))


class CuPy:
    """Arrays of CuPy, and what it takes as such."""
    @staticmethod
    def array(given: Any) -> Any:
        import cupy
        if not hasattr(given, "__cuda_array_interface__"):
            raise TypeError(f"cannot convolve a CuPy array with a {type(given).__name__}: move it to the GPU first")
        return cupy.asarray(given)

    @staticmethod
    def address(array: Any) -> int:
        return array.data.ptr

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: Any) -> Any:
        import cupy
        return cupy.empty(shape, dtype)

    @staticmethod
    def run(arrays: bytes, groups: int, sample: int, _: int) -> None:
        import cupy
        stream = cupy.cuda.get_current_stream().ptr
        options = pack_options(OPTIONS_SIZE, sample, False, 0, True, stream, 0, 0)
        size = _library.scratch_bytes(arrays, groups, options)
        if size:
            scratch = cupy.cuda.alloc(size)
            options = pack_options(OPTIONS_SIZE, sample, False, 0, True, stream, scratch.ptr, size)
        _library.convolve(arrays, groups, options)


def samples_of(arrays: Sequence[Any]) -> tuple[Any, int]:
    """Type of the samples: what NumPy makes of all, at least a float. And its enum halo_sample."""
    joint = arrays[0].dtype
    if any(array.dtype is not joint for array in arrays):
        joint = numpy.result_type(*{array.dtype for array in arrays})
    sample = SAMPLES.get(joint)
    if sample is None:
        joint = numpy.dtype(numpy.float64) if joint.kind in "biu" else joint.newbyteorder("=")
        sample = BFLOAT16 if joint.name == "bfloat16" else SAMPLES.get(joint)  # a type of ml_dtypes
    if sample is None:
        raise TypeError(f"cannot convolve samples of type {joint}: float16, float32 and float64 are possible")
    return joint, sample


def prepare(kind: Any, array: Any, dtype: Any) -> tuple[Any, int, Sequence[int], list[int]]:
    """The array as libhalo can read it, itself if possible; its address, shape, and strides in samples."""
    each, shape, strides, address = dtype.itemsize, array.shape, array.strides, kind.address(array)
    if (array.dtype != dtype or strides[-1] != each and shape[-1] != 1 or address % each or
            any(stride % each for stride in strides)):
        array = array.astype(dtype, "C")
        strides, address = array.strides, kind.address(array)
    return array, address, shape, [stride // each for stride in strides]


def convolve_many(kind: Any, x: Sequence[Any], h: Sequence[Any], mode: Mode, threads: int) -> list:
    """x[i] with h[i], in one call."""
    masks = {id(mask): kind.array(mask) for mask in h}
    x, h = [kind.array(sound) for sound in x], [masks[id(mask)] for mask in h]
    dtype, sample = samples_of([*x, *masks.values()])
    if kind is NumPy:
        return convolve_alike(kind, x, h, dtype, sample, mode, threads)
    enter_cuda()
    if len({array.device.id for array in [*x, *h]}) != 1:
        raise ValueError("cannot convolve arrays that are on different GPUs")
    with x[0].device:
        return convolve_alike(kind, x, h, dtype, sample, mode, threads)


def convolve_alike(kind: Any, x: Sequence[Any], h: Sequence[Any], dtype: Any, sample: int, mode: Mode,
                   threads: int) -> list:
    groups, results, kept = [], [], []
    for sound, mask in zip(x, h):
        batch = batch_of(sound.shape, mask.shape)
        first, out = span(sound.shape[-1], mask.shape[-1], mode)
        sound, *sound_is = prepare(kind, sound, dtype)
        mask, *mask_is = prepare(kind, mask, dtype)
        made = kind.empty((*batch, out), dtype)
        results.append(made)
        kept += [sound, mask]
        if made.size:
            groups.append(groups_of(*sound_is, *mask_is, kind.address(made), batch, dtype.itemsize, first, out))
    if groups:
        kind.run(*join(groups), sample, threads)
    return results
