"""`convolve` for PyTorch: the operator halo_audio::convolve with its derivatives, and a short way around it.

y[i] = c[first + i] for 0 <= i < out, where c is the whole convolution of x with h, or with h read backwards
(correlate). Every derivative is the same operator again, so that it can be differentiated any number of times.
"""
from typing import Any, Optional, Sequence

import torch
from torch import Tensor

from . import _arrays, _library

SAMPLES = {torch.float32: _arrays.FLOAT32, torch.float64: _arrays.FLOAT64, torch.float16: _arrays.FLOAT16,
           torch.bfloat16: _arrays.BFLOAT16}
PLAIN = (Tensor, torch.nn.Parameter)


def convolve(x: Tensor, h: Any, mode: str, threads: int) -> Tensor:
    x, h = alike(x, h)
    first, out = _arrays.span(x.shape[-1] if x.dim() else 0, h.shape[-1] if h.dim() else 0, mode)
    if torch.compiler.is_compiling() or not is_plain(x, h):
        return differentiable(x, h, False, first, out, threads)
    return run(x, h, False, first, out, threads)


def convolve_list(x: Sequence[Tensor], h: Sequence[Tensor], mode: str, threads: int) -> list[Tensor]:
    pairs = [alike(sound, mask) for sound, mask in zip(x, h)]
    spans = [_arrays.span(sound.shape[-1], mask.shape[-1], mode) for sound, mask in pairs]
    if all(is_plain(*pair) for pair in pairs) and len({(s.dtype, s.device) for s, _ in pairs}) == 1:
        return run_many(pairs, spans, threads)
    return [differentiable(*pair, False, *span, threads) for pair, span in zip(pairs, spans)]


def alike(x: Tensor, h: Any) -> tuple[Tensor, Tensor]:
    """Both on one device, with samples of one type that libhalo knows."""
    if not isinstance(h, Tensor):
        raise TypeError(f"cannot convolve a tensor with a {type(h).__name__}: make a tensor of it")
    if x.device != h.device:
        raise ValueError(f"cannot convolve tensors on {x.device} and {h.device}: move one of them")
    if x.dtype == h.dtype and x.dtype in SAMPLES:
        return x, h
    joint = torch.promote_types(x.dtype, h.dtype)
    if not joint.is_floating_point and not joint.is_complex:
        joint = torch.get_default_dtype()
    if joint not in SAMPLES:
        raise TypeError(f"cannot convolve samples of type {joint}: "
                        "float16, bfloat16, float32 and float64 are possible")
    return x.to(joint), h.to(joint)


def is_plain(x: Tensor, h: Tensor) -> bool:
    """Whether nobody looks on: no gradient, no transform, no mode, no subclass. The dispatcher and its Python
    take longer than a small convolution."""
    return (not (torch.is_grad_enabled() and (x.requires_grad or h.requires_grad)) and
            type(x) in PLAIN and type(h) in PLAIN and (x.is_cuda or x.is_cpu) and
            not torch._C._are_functorch_transforms_active() and torch._C._len_torch_dispatch_stack() == 0 and
            torch.autograd.forward_ad._current_level < 0 and not x.is_neg() and not h.is_neg())


def run(x: Tensor, h: Tensor, correlate: bool, first: int, out: int, threads: int) -> Tensor:
    if x.is_cuda:
        _arrays.enter_cuda()
        key = (x.shape, x.stride(), h.shape, h.stride(), x.dtype, x.device, correlate, first, out)
        plan = plans.get(key)
        if plan is not None:
            return run_again(plan, x, h, correlate)
    x, h = contiguous(x), contiguous(h)
    groups, y = groups_of(x, h, first, out)
    if groups:
        scratch = call(*groups, y, correlate, threads)
        if x.is_cuda and groups[1] == 1 and key[1] == x.stride() and key[3] == h.stride():
            if len(plans) >= PLANS_MOST:
                plans.clear()
            plans[key] = (y.shape, _arrays.unpack_arrays(groups[0]), y.data_ptr(), scratch)
    return y


PLANS_MOST = 1000
# What calls on a GPU were that had one group: a small convolution takes less time than planning it.
plans: dict[tuple, tuple] = {}


def run_again(plan: tuple, x: Tensor, h: Tensor, correlate: bool) -> Tensor:
    shape, group, y_before, scratch = plan
    y = (x.new_empty if group[7] == y_before else x.new_zeros)(shape)
    size, _, frames, x_step, _, taps, h_step, y_group, *rest = group
    arrays = _arrays.pack_arrays(size, x.data_ptr(), frames, x_step, h.data_ptr(), taps, h_step,
                                 y.data_ptr() + y_group - y_before, *rest)
    call(arrays, 1, y, correlate, 0, scratch)
    return y


def groups_of(x: Tensor, h: Tensor, first: int, out: int) -> tuple[Optional[tuple[bytes, int]], Tensor]:
    """What libhalo is asked for, if it has work, and the new array."""
    x_shape, h_shape = x.shape, h.shape
    batch = _arrays.batch_of(x_shape, h_shape)
    y = (x.new_empty if first >= 0 else x.new_zeros)((*batch, out))
    return (_arrays.groups_of(x.data_ptr(), x_shape, x.stride(), h.data_ptr(), h_shape, h.stride(), y.data_ptr(),
                              batch, x.element_size(), first, out) if y.numel() else None), y


def run_many(pairs: Sequence[tuple[Tensor, Tensor]], spans: Sequence[tuple[int, int]], threads: int) -> list[Tensor]:
    """Convolve each pair, in one call."""
    if pairs[0][0].is_cuda:
        _arrays.enter_cuda()
    pairs = [(contiguous(x), contiguous(h)) for x, h in pairs]
    made = [groups_of(*pair, *span) for pair, span in zip(pairs, spans)]
    groups = [group for group, _ in made if group]
    if groups:
        call(*_arrays.join(groups), made[0][1], False, threads)
    return [y for _, y in made]


def contiguous(array: Tensor) -> Tensor:
    return array if array.stride(-1) == 1 or array.shape[-1] == 1 else array.contiguous()


def call(arrays: bytes, groups: int, y: Tensor, correlate: bool, threads: int, scratch: int = -1) -> int:
    """Convolve. `scratch`: bytes that the call needs on a GPU; -1: unknown. Returns them."""
    sample, size = SAMPLES[y.dtype], _arrays.OPTIONS_SIZE
    if not y.is_cuda:
        threads = threads or torch.get_num_threads()
        _library.convolve(arrays, groups, _arrays.pack_options(size, sample, correlate, threads, False, 0, 0, 0))
        return 0
    if y.device.index != torch.cuda.current_device():
        with torch.cuda.device(y.device):
            return call_cuda(arrays, groups, y, sample, correlate, scratch)
    return call_cuda(arrays, groups, y, sample, correlate, scratch)


def call_cuda(arrays: bytes, groups: int, y: Tensor, sample: int, correlate: bool, scratch: int) -> int:
    stream = torch._C._cuda_getCurrentRawStream(y.device.index)
    size = _arrays.OPTIONS_SIZE
    options = _arrays.pack_options(size, sample, correlate, 0, True, stream, 0, 0)
    if scratch < 0:
        scratch = _library.scratch_bytes(arrays, groups, options)
    if scratch:
        memory = torch.empty(scratch, dtype=torch.uint8, device=y.device)
        options = _arrays.pack_options(size, sample, correlate, 0, True, stream, memory.data_ptr(), scratch)
    _library.convolve(arrays, groups, options)
    return scratch


# ---- the operator ----


@torch.library.custom_op("halo_audio::convolve", mutates_args=(), device_types=("cpu", "cuda"))
def operator(x: Tensor, h: Tensor, correlate: bool, first: int, out: int, threads: int) -> Tensor:
    return run(x, h, correlate, first, out, threads)


@operator.register_fake
def _(x, h, correlate, first, out, threads):
    return x.new_empty((*_arrays.batch_of(x.shape, h.shape), out))


def remember(ctx: Any, inputs: tuple, output: Tensor) -> None:
    x, h, ctx.correlate, ctx.first, ctx.out, ctx.threads = inputs
    ctx.save_for_backward(x, h)


def differentiable(*inputs: Any) -> Tensor:
    """The operator. PyTorch cannot differentiate custom operators within torch.func, but functions it can."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return torch.ops.halo_audio.convolve(*inputs)
    return Function.apply(*inputs)


def backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    x, h = ctx.saved_tensors
    frames, taps = x.shape[-1], h.shape[-1]
    again = differentiable
    of_x = of_h = None
    if ctx.needs_input_grad[0]:
        of_x = again(gradient, h, not ctx.correlate, taps - 1 - ctx.first, frames, ctx.threads).sum_to_size(x.shape)
    if ctx.needs_input_grad[1]:
        of_h = (again(x, gradient, True, ctx.first + ctx.out - taps, taps, ctx.threads) if ctx.correlate else
                again(gradient, x, True, frames - 1 - ctx.first, taps, ctx.threads)).sum_to_size(h.shape)
    return of_x, of_h, None, None, None, None


def mapped(info: Any, in_dims: tuple, x: Tensor, h: Tensor, *others: Any) -> tuple[Tensor, int]:
    """The operator for one more axis of the batch."""
    rank = max(array.dim() - (dim is not None) for array, dim in zip((x, h), in_dims))

    def leading(array: Tensor, dim: Optional[int]) -> Tensor:
        """The mapped axis first, then as many axes as the other array has."""
        if dim is None:
            return array
        array = array.movedim(dim, 0)
        return array.reshape(array.shape[0], *(1,) * (rank - array.dim() + 1), *array.shape[1:])

    return differentiable(leading(x, in_dims[0]), leading(h, in_dims[1]), *others), 0


class Function(torch.autograd.Function):
    """The operator for torch.func."""
    forward = staticmethod(torch.ops.halo_audio.convolve)
    setup_context = staticmethod(remember)
    backward = staticmethod(backward)
    vmap = staticmethod(mapped)


operator.register_autograd(backward, setup_context=remember)
operator.register_vmap(mapped)
