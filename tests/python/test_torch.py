"""convolve of PyTorch tensors and CuPy arrays, on the CPU and on a GPU. Exit code 77: there is no PyTorch."""
import sys
import unittest

import numpy

try:
    import torch
except ImportError:
    print("skipped: no PyTorch is installed")
    sys.exit(77)
try:
    import cupy
except ImportError:
    cupy = None

import halo_audio

HAS_GPU = torch.cuda.is_available()
DEVICES = ["cpu"] + ["cuda"] * HAS_GPU
on_gpu = unittest.skipUnless(HAS_GPU, "there is no GPU")
operator = halo_audio.convolve
torch.manual_seed(49)


def truth(x, h, mode="full"):
    """By transforms in double precision, on the CPU."""
    x, h = x.detach().double().cpu(), h.detach().double().cpu()
    frames, taps = x.shape[-1], h.shape[-1]
    length = 1 << (frames + taps).bit_length()
    whole = torch.fft.irfft(torch.fft.rfft(x, length) * torch.fft.rfft(h, length), length)
    first, out = {"full": (0, frames + taps - 1), "same": ((taps - 1) // 2, frames),
                  "valid": (min(frames, taps) - 1, abs(frames - taps) + 1)}[mode]
    return whole[..., first:first + out]


def noise(*shape, device="cpu", dtype=torch.float32, **more):
    return (torch.rand(*shape, device=device, dtype=torch.float64) * 2 - 1).to(dtype).requires_grad_(
        more.get("requires_grad", False))


def decibels(made, expected, x, h):
    error = (made.detach().double().cpu() - expected).abs().max()
    return 20 * torch.log10(error / (x.abs().max() * h.abs().sum(-1).max()).double().cpu()).item()


class Everywhere(unittest.TestCase):
    def close(self, x, h, mode="full", bound=-120):
        made, expected = operator(x, h, mode), truth(x, h, mode)
        self.assertEqual((made.shape, made.device, made.dtype), (expected.shape, x.device, x.dtype))
        self.assertLess(decibels(made, expected, x, h), bound)
        # A second call of a shape is planned no more on a GPU: in other memory it gives the same bits.
        self.assertTrue(torch.equal(operator(x.clone(), h.clone(), mode), made))

    def test_modes_and_batches(self):
        for device in DEVICES:
            for x, h in [((100,), (9,)), ((3, 5000), (333,)), ((2, 1, 700), (5, 900)), ((1000,), (4, 20)), ((9,), (100,)),
                         ((2, 3, 50), (2, 1, 60)), ((2, 20000), (2, 9000))]:
                for mode in ("full", "same", "valid"):
                    with self.subTest(device=device, x=x, h=h, mode=mode):
                        self.close(noise(*x, device=device), noise(*h, device=device), mode)
                        self.close(noise(*x, device=device, dtype=torch.float64),
                                   noise(*h, device=device, dtype=torch.float64), mode, -270)

    def test_sounds_that_add_up(self):
        """Rounding adds up in what has one sign, in bass, and where quiet follows loud."""
        def sounds(n):
            t = torch.arange(n, dtype=torch.float64)
            loud_and_quiet = torch.where(t < n / 2, 1.0, 1e-6 * torch.rand(n, dtype=torch.float64))
            return [torch.full((n,), 0.7, dtype=torch.float64), torch.sin(2 * torch.pi * 20 / 48000 * t),
                    (-1.0) ** t, torch.rand(n, dtype=torch.float64), loud_and_quiet]
        for device in DEVICES:
            for frames, taps in ((5000, 64), (48000, 1000), (60000, 48000), (300000, 200000)):
                for x in sounds(frames):
                    for h in sounds(taps):
                        self.close(x.float().to(device), h.float().to(device))
                self.close(sounds(frames)[0].to(device), sounds(taps)[0].to(device), "full", -270)

    def test_views(self):
        for device in DEVICES:
            x, h = noise(4, 3, 100, device=device), noise(4, 3, 30, device=device)
            for view in (lambda a: a[:, 1:, 1:], lambda a: a[::2, :, ::2], lambda a: a.transpose(0, 1),
                         lambda a: a.movedim(-1, 0).contiguous().movedim(0, -1), lambda a: a[:1].expand(4, -1, -1),
                         lambda a: torch.view_as_complex(torch.stack([a, a], -1)).conj().imag):
                self.close(view(x), view(h), "same")

    def test_halves(self):
        for device in DEVICES:
            for dtype in (torch.float16, torch.bfloat16):
                x, h = noise(3, 2000, device=device, dtype=dtype), noise(60, device=device, dtype=dtype)
                made, expected = operator(x, h), truth(x, h)
                self.assertEqual(made.dtype, dtype)
                exponent = torch.frexp(expected).exponent
                step = torch.ldexp(torch.tensor(torch.finfo(dtype).eps / 2, dtype=torch.float64), exponent)  # last place
                error = (made.double().cpu() - expected).abs()
                self.assertTrue((error <= step + 1e-6 * h.double().cpu().abs().sum()).all())

    def test_lists(self):
        for device in DEVICES:
            sounds = [noise(n, device=device, requires_grad=grad) for grad in (False, True) for n in (30, 1000, 1, 40000)]
            h = noise(50, device=device)
            for part in (sounds[:4], sounds):
                for x, made in zip(part, operator(part, h, "same")):
                    self.assertLess(decibels(made, truth(x, h, "same"), x, h), -120)
                    self.assertEqual(made.requires_grad, len(part) == 8 and x.requires_grad)

    def test_types(self):
        made = operator(torch.arange(5), torch.arange(3))
        self.assertTrue(torch.allclose(made, torch.tensor([0.0, 0, 1, 4, 7, 10, 8]), atol=1e-5))
        self.assertEqual(operator(noise(5, dtype=torch.float16), noise(5)).dtype, torch.float32)
        with self.assertRaisesRegex(TypeError, "complex"):
            operator(noise(5).to(torch.complex64), noise(5))
        with self.assertRaisesRegex(TypeError, "ndarray"):
            operator(noise(5), numpy.zeros(5))
        with self.assertRaisesRegex(ValueError, "meta"):
            operator(noise(5), noise(5).to("meta"))
        with self.assertRaisesRegex(ValueError, "broadcast"):
            operator(noise(2, 5), noise(3, 5))
        self.assertEqual(operator(noise(2, 5).to("meta"), noise(3).to("meta")).shape, (2, 7))


SHAPES = [((7,), (4,)), ((3, 4), (6,)), ((2, 1, 5), (3, 4)), ((3,), (9,)), ((1, 9), (3, 2))]


class Derivatives(unittest.TestCase):
    def test_gradients_once_and_twice(self):
        for device in DEVICES:
            for x, h in SHAPES:
                for mode in ("full", "same", "valid"):
                    with self.subTest(device=device, x=x, h=h, mode=mode):
                        inputs = [noise(*shape, device=device, dtype=torch.float64, requires_grad=True) for shape in (x, h)]
                        self.assertTrue(torch.autograd.gradcheck(lambda a, b: operator(a, b, mode), inputs))
                        self.assertTrue(torch.autograd.gradgradcheck(lambda a, b: operator(a, b, mode), inputs))

    def test_the_operator_is_sound(self):
        for device in DEVICES:
            x, h = (noise(*shape, device=device, dtype=torch.float64, requires_grad=True) for shape in ((2, 30), (5,)))
            for correlate, first, out in [(False, 0, 34), (True, 3, 7), (True, -2, 40), (False, 50, 3)]:
                torch.library.opcheck(torch.ops.halo_audio.convolve.default, (x, h, correlate, first, out, 0))

    def test_one_gradient_alone(self):
        x, h = noise(50), noise(9, requires_grad=True)
        operator(x, h).sum().backward()
        self.assertTrue(torch.allclose(h.grad, x.sum().expand(9), atol=1e-5))
        self.assertFalse(x.requires_grad)
        with torch.no_grad():
            self.assertFalse(operator(x, h).requires_grad)

    def test_compiled_whole(self):
        def work(x, h):
            return (operator(torch.tanh(x), h, "same") * 2).square().sum()

        for device in DEVICES:
            compiled = torch.compile(work, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
            for frames in (100, 130, 170):
                x, h = noise(2, frames, device=device, requires_grad=True), noise(9, device=device, requires_grad=True)
                made = torch.autograd.grad(compiled(x, h), (x, h))
                expected = torch.autograd.grad(work(x, h), (x, h))
                for one, other in zip(made, expected):
                    self.assertTrue(torch.allclose(one, other, atol=1e-4))
                with torch.no_grad():
                    self.assertTrue(torch.allclose(compiled(x, h), work(x, h), rtol=1e-5))

    def test_mapped(self):
        for device in DEVICES:
            x, h = noise(4, 3, 50, device=device), noise(4, 9, device=device)
            for in_dims, arrays in [((0, 0), (x, h)), ((0, None), (x, h[0])), ((None, 0), (x[0], h)), ((2, 1), (x, h)),
                                    ((1, None), (x, h[:, None]))]:
                with self.subTest(in_dims=in_dims):
                    if in_dims == (2, 1):
                        arrays = x.permute(1, 2, 0), h.T
                    made = torch.vmap(operator, in_dims)(*arrays)
                    mapped = 4 if in_dims != (1, None) else 3
                    pick = lambda a, dim, i: a if dim is None else a.select(dim, i)
                    expected = torch.stack([operator(*(pick(a, dim, i) for a, dim in zip(arrays, in_dims)))
                                            for i in range(mapped)])
                    self.assertTrue(torch.allclose(made, expected, atol=1e-5))
            loss = lambda mask, sound: operator(sound, mask).square().sum()
            made = torch.vmap(torch.func.grad(loss), (0, None))(h, x[0])
            expected = torch.stack([torch.func.grad(loss)(mask, x[0]) for mask in h])
            self.assertTrue(torch.allclose(made, expected, rtol=1e-4, atol=1e-3))

    def test_forward_mode_is_refused(self):
        with self.assertRaises((RuntimeError, NotImplementedError)):
            torch.func.jvp(lambda a: operator(a, noise(5)), (noise(9),), (noise(9),))


class Sounds(torch.utils.data.Dataset):
    def __init__(self, device="cpu"):
        self.x, self.h = noise(8, 30000, device=device), noise(3000, device=device)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if self.x.is_cuda:  # indexing would fail before
            return operator(self.x, self.h)
        return operator(self.x[i], self.h)


class Workers(unittest.TestCase):
    def test_fork_and_spawn(self):
        sounds = Sounds()
        expected = operator(sounds.x, sounds.h)
        for method in ("fork", "spawn"):
            loader = torch.utils.data.DataLoader(sounds, 2, num_workers=2, multiprocessing_context=method, timeout=120)
            self.assertTrue(torch.allclose(torch.cat(list(loader)), expected, atol=1e-4))

    @on_gpu
    def test_a_forked_child_has_no_gpu(self):
        sounds = Sounds("cuda")
        loader = torch.utils.data.DataLoader(sounds, 2, num_workers=1, multiprocessing_context="fork", timeout=120)
        with self.assertRaisesRegex(RuntimeError, "in a forked process: its parent had used CUDA"):
            list(loader)


@on_gpu
class Device(unittest.TestCase):
    def test_streams_and_order(self):
        side, h = torch.cuda.Stream(), noise(4000, device="cuda")
        expected = truth(torch.ones(8, 200000), h, "same")
        side.wait_stream(torch.cuda.current_stream())
        for _ in range(20):
            with torch.cuda.stream(side):
                x = torch.full((8, 200000), 0.0, device="cuda")
                x.add_(1)
                made = operator(x, h, "same")
                del x  # its memory may be used again, by later work of the stream
                torch.full((8, 200000), 9.0, device="cuda")
            self.assertLess(decibels(made, expected, torch.ones(1), h), -120)

    def test_a_captured_graph(self):
        x, h = noise(4, 50000, device="cuda"), noise(3000, device="cuda")
        operator(x, h)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            made = operator(x, h)
        for _ in range(3):
            x.copy_(noise(4, 50000, device="cuda"))
            graph.replay()
            self.assertLess(decibels(made, truth(x, h), x, h), -120)

    @unittest.skipUnless(cupy, "there is no CuPy")
    def test_cupy(self):
        x, h = noise(3, 5000, device="cuda"), noise(400, device="cuda")
        for dtype, bound in ((torch.float32, -120), (torch.float64, -270), (torch.float16, -60)):
            a, b = x.to(dtype), h.to(dtype)
            for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
                with stream:
                    torch.cuda.synchronize()
                    made = halo_audio.convolve(cupy.asarray(a), cupy.asarray(b), "same")
                    self.assertIsInstance(made, cupy.ndarray)
                    made = torch.from_numpy(cupy.asnumpy(made))
                    self.assertEqual(made.dtype, dtype)
                    self.assertLess(decibels(made, truth(a, b, "same"), a, b), bound)
        made = halo_audio.convolve([cupy.asarray(x[0]), cupy.asarray(x[1, :9])], cupy.asarray(h))
        self.assertLess(decibels(torch.from_numpy(cupy.asnumpy(made[1])), truth(x[1, :9], h), x, h), -120)
        with self.assertRaisesRegex(TypeError, "ndarray"):
            halo_audio.convolve(cupy.asarray(x), numpy.zeros(5))


if __name__ == "__main__":
    unittest.main()
