"""halo's convolution for NumPy arrays, PyTorch tensors and CuPy arrays, on their own device.

    y = halo_audio.convolve(x, h)

See docs/python.md.
"""
from ._arrays import convolve
from ._library import version
from ._render import render
from ._stream import Convolver, Mask

__all__ = ["Convolver", "Mask", "convolve", "render"]
__version__ = version
