"""Masks of files, and convolution block by block."""
import dataclasses
import os
import threading
import weakref
from ctypes import byref, c_uint64, c_void_p, sizeof
from typing import Any, Optional, Union

import numpy

from ._library import ConvolverOptions, MaskInfo, Taps, check, failures, library


@dataclasses.dataclass(frozen=True)
class Mask:
    """Impulse responses: `taps` of shape (columns, taps), float32, and their rate in Hz. A Mask is an array for
    NumPy; for PyTorch take torch.from_numpy(mask.taps)."""
    taps: numpy.ndarray
    rate: int

    @classmethod
    def read(cls, spec: Union[str, os.PathLike]) -> "Mask":
        """Read what `halo render --mask` reads, at its own rate: a sound file, text, SOFA, or a configuration of
        another program, with options behind commas ("room.wav,gain=-3"). Raises OSError, ValueError."""
        mask = c_void_p()
        check(library.halo_mask_read(os.fsencode(spec), byref(mask), failures.address), OSError)
        try:
            info = MaskInfo(size=sizeof(MaskInfo))
            library.halo_mask_describe(mask, byref(info))
            taps = numpy.empty((info.columns, info.taps), numpy.float32)
            for column, row in enumerate(taps):
                library.halo_mask_taps(mask, column, row.ctypes.data)
            return cls(taps, info.rate)
        finally:
            library.halo_mask_destroy(mask)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> numpy.ndarray:
        return numpy.array(self.taps, dtype) if copy else numpy.asarray(self.taps, dtype)


def destroy(convolver: c_void_p, process: int) -> None:
    """Its threads do not survive a fork, and cannot be awaited there."""
    if process == os.getpid():
        library.halo_convolver_destroy(convolver)


class Convolver:
    """Convolves a stream without latency, block by block, on the CPU: the call that takes frame i gives frame i.

    h: taps of shape (taps,) or (columns, taps), or a Mask. One column filters each channel; as many columns as
        channels filter one channel each; four columns for two channels are left to left, left to right, right to
        left, right to right; several columns for one channel make as many outputs.
    block: frames of every call; 0: any number, which costs a little more.
    channels: of the input.
    taps: most taps of later masks; 0: as many as h has.
    threads: that share the work of long masks; 0: only the caller's.
    """

    def __init__(self, h: Any, block: int = 0, *, channels: int = 1, taps: int = 0, threads: int = 0) -> None:
        self._channels = channels
        self._processing, self._control = threading.Lock(), threading.Lock()
        self._convolver, self._process_id = c_void_p(), os.getpid()
        mask, self._outputs = self._mask_of(h)
        try:
            options = ConvolverOptions(sizeof(ConvolverOptions), b"cpu", block, taps, threads)
            check(library.halo_convolver_create(mask, byref(options), byref(self._convolver), failures.address))
        finally:
            library.halo_mask_destroy(mask)
        weakref.finalize(self, destroy, self._convolver, self._process_id)

    def _mask_of(self, h: Any) -> tuple[c_void_p, int]:
        """A mask of libhalo, which the caller destroys, and its outputs."""
        taps = numpy.ascontiguousarray(numpy.atleast_2d(numpy.asarray(h)), numpy.float32)
        if taps.ndim != 2:
            raise ValueError(f"cannot convolve with a mask of shape {taps.shape}: (taps,) or (columns, taps) is possible")
        made, mask, info = Taps(), c_void_p(), MaskInfo(size=sizeof(MaskInfo))
        made.size, made.samples, made.stride = sizeof(Taps), taps.ctypes.data, taps.shape[1]
        made.columns, made.taps = taps.shape
        check(library.halo_mask_from_taps(byref(made), 48000, self._channels, byref(mask), failures.address))
        library.halo_mask_describe(mask, byref(info))
        return mask, info.outputs

    def _check_process(self) -> None:
        if self._process_id != os.getpid():
            raise RuntimeError("cannot use a Convolver in a forked process: its threads are in the parent; make another")

    def process(self, x: Any) -> numpy.ndarray:
        """Convolve the next frames, of shape (frames,) for one channel or (channels, frames). Returns as many, of
        shape (frames,) if both have one channel and x had one axis, else (outputs, frames)."""
        self._check_process()
        given = numpy.asarray(x)
        sound = numpy.ascontiguousarray(numpy.atleast_2d(given), numpy.float32)
        if sound.ndim != 2 or sound.shape[0] != self._channels:
            raise ValueError(f"cannot convolve a block of shape {given.shape}: ({self._channels}, frames) is expected")
        frames = sound.shape[1]
        made = numpy.empty((self._outputs, frames), numpy.float32)
        with self._processing:
            status = library.halo_convolver_process(self._convolver, sound.ctypes.data, frames, made.ctypes.data,
                                                    frames, frames)
        if status:
            raise ValueError(f"cannot convolve {frames} frames: the convolver was made for blocks of another length")
        return made[0] if given.ndim == 1 and self._outputs == 1 else made

    __call__ = process

    def switch(self, h: Any, fade: int = 0) -> None:
        """Crossfade to another mask over `fade` frames, as soon as possible. Both sound as if they had run from the
        beginning. Another thread may be in process(). Raises RuntimeError while an earlier switch is under way."""
        self._check_process()
        with self._control:
            mask, outputs = self._mask_of(h)
            try:
                if outputs != self._outputs:
                    raise ValueError(f"cannot switch from {self._outputs} outputs to {outputs}")
                check(library.halo_convolver_switch(self._convolver, mask, 0, fade, failures.address))
            finally:
                library.halo_mask_destroy(mask)

    @property
    def switched(self) -> bool:
        """Whether no switch is under way."""
        with self._control:
            return library.halo_convolver_switched(self._convolver, byref(c_uint64()))

    def reset(self) -> None:
        """Forget all sound. A switch is completed at once."""
        self._check_process()
        with self._processing, self._control:
            library.halo_convolver_reset(self._convolver)
