"""convolve of NumPy arrays, against sums in double precision."""
import itertools
import os
import threading
import unittest

import numpy

import halo_audio

random = numpy.random.default_rng(49)


def truth(x, h, mode="full"):
    """Sums in double precision, by SciPy's definition of the modes."""
    x, h = numpy.asarray(x, numpy.float64), numpy.asarray(h, numpy.float64)
    batch = numpy.broadcast_shapes(x.shape[:-1], h.shape[:-1])
    x, h = numpy.broadcast_to(x, (*batch, x.shape[-1])), numpy.broadcast_to(h, (*batch, h.shape[-1]))
    frames, taps = x.shape[-1], h.shape[-1]
    first, out = {"full": (0, frames + taps - 1), "same": ((taps - 1) // 2, frames),
                  "valid": (min(frames, taps) - 1, abs(frames - taps) + 1)}[mode]
    made = numpy.empty((*batch, out))
    for place in numpy.ndindex(*batch):
        made[place] = numpy.convolve(x[place], h[place])[first:first + out]
    return made


def decibels(made, expected, x, h):
    """Error relative to max|x| sum|h|."""
    x, h = numpy.abs(numpy.asarray(x, numpy.float64)), numpy.abs(numpy.asarray(h, numpy.float64))
    error = numpy.abs(made.astype(numpy.float64) - expected).max(initial=0)
    return 20 * numpy.log10(max(error, 1e-300) / (x.max() * h.sum(-1).max()))


def noise(*shape, dtype=numpy.float32):
    return random.uniform(-1, 1, shape).astype(dtype)


class Convolve(unittest.TestCase):
    def same(self, x, h, mode="full", bound=-120, **more):
        made, expected = halo_audio.convolve(x, h, mode, **more), truth(x, h, mode)
        self.assertEqual(made.shape, expected.shape)
        self.assertLess(decibels(made, expected, x, h), bound)
        return made

    def test_modes_and_lengths(self):
        for mode in ("full", "same", "valid"):
            for frames, taps in [(1, 1), (1, 9), (100, 1), (100, 7), (100, 8), (7, 100), (5000, 333), (3000, 9001)]:
                with self.subTest(mode=mode, frames=frames, taps=taps):
                    self.same(noise(frames), noise(taps), mode)
                    self.same(noise(frames, dtype=float), noise(taps, dtype=float), mode, bound=-270)

    def test_types(self):
        for x, h, made in [("f4", "f4", "f4"), ("f8", "f8", "f8"), ("f4", "f8", "f8"), ("f2", "f4", "f4"), ("i2", "f4", "f4"),
                           ("i4", "i4", "f8"), ("?", "u1", "f8"), (">f4", "f4", "f4"), (">f4", ">f4", "f4")]:
            with self.subTest(x=x, h=h):
                a, b = (20 * noise(300)).astype(x), (20 * noise(30)).astype(h)
                self.assertEqual(self.same(a, b).dtype, numpy.dtype(made))

    def test_halves_are_rounded_once(self):
        x, h = noise(2000, dtype=numpy.float16), noise(50, dtype=numpy.float16)
        made, expected = halo_audio.convolve(x, h), truth(x, h)
        self.assertEqual(made.dtype, numpy.float16)
        step = numpy.spacing(numpy.abs(expected).astype(numpy.float16)).astype(float)
        error = numpy.abs(made.astype(float) - expected)
        self.assertTrue((error <= step + 1e-6 * numpy.abs(h.astype(float)).sum()).all())

    def test_batches_are_broadcast(self):
        shapes = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (4, 1, 3), (4, 2, 1), (1, 1, 1)]
        for x, h in itertools.product(shapes, shapes):
            try:
                numpy.broadcast_shapes(x, h)
            except ValueError:
                with self.assertRaisesRegex(ValueError, "broadcast"):
                    halo_audio.convolve(noise(*x, 40), noise(*h, 5))
                continue
            with self.subTest(x=x, h=h):
                self.same(noise(*x, 40), noise(*h, 5), "same")

    def test_memory_as_it_lies(self):
        x, h = noise(6, 4, 80), noise(6, 4, 9)
        for name, view in {"reversed": lambda a: a[::-1, :, ::-1], "steps": lambda a: a[::2, ::3, ::2],
                           "axes": lambda a: a.transpose(1, 0, 2),
                           "time first": lambda a: numpy.moveaxis(numpy.moveaxis(a, -1, 0).copy(), 0, -1),
                           "broadcast": lambda a: numpy.broadcast_to(a[:, :1], a.shape),
                           "backwards": lambda a: a[:, ::-1],
                           "unaligned": lambda a: numpy.frombuffer(b"." + a.tobytes(), a.dtype, offset=1).reshape(a.shape)}.items():
            with self.subTest(view=name):
                self.same(view(x), view(h))
        x.flags.writeable = False
        self.same(x, h)

    def test_inputs_stay(self):
        x, h = noise(3, 1000), noise(100)
        before = x.tobytes(), h.tobytes()
        self.same(x, h)
        self.assertEqual(before, (x.tobytes(), h.tobytes()))

    def test_nothing_to_convolve(self):
        self.assertEqual(halo_audio.convolve(noise(0), noise(3)).shape, (0,))
        self.assertEqual(halo_audio.convolve(noise(3, 0), noise(3), "same").shape, (3, 0))
        self.assertEqual(halo_audio.convolve(noise(0, 9), noise(3)).shape, (0, 11))
        self.assertTrue((halo_audio.convolve(noise(5), noise(0), "same") == numpy.zeros(5)).all())

    def test_lists_of_numbers(self):
        self.assertTrue(numpy.allclose(halo_audio.convolve([1, 2, 3], [1, 1]), [1, 3, 5, 3]))

    def test_lists_of_sounds(self):
        sounds = [noise(1000), noise(2, 17), noise(1), noise(5000)]
        masks = [noise(9), noise(30), noise(3, 2), noise(1000)]
        for mode in ("full", "same", "valid"):
            for one, made in zip(sounds, halo_audio.convolve(sounds, masks[0], mode)):
                self.assertLess(decibels(made, truth(one, masks[0], mode), one, masks[0]), -120)
            for one, mask, made in zip(sounds, masks, halo_audio.convolve(sounds, masks, mode)):
                self.assertLess(decibels(made, truth(one, mask, mode), one, mask), -120)
        with self.assertRaisesRegex(ValueError, "4 sounds with 3 masks"):
            halo_audio.convolve(sounds, masks[:3])

    def test_errors_are_pythons(self):
        with self.assertRaisesRegex(TypeError, "complex128"):
            halo_audio.convolve(noise(9).astype(complex), noise(9))
        with self.assertRaisesRegex(TypeError, "<U"):
            halo_audio.convolve(numpy.array(["a"]), noise(9))
        with self.assertRaisesRegex(ValueError, "'most'"):
            halo_audio.convolve(noise(9), noise(9), "most")
        with self.assertRaisesRegex(ValueError, "single number"):
            halo_audio.convolve(noise(9), 3.0)
        with self.assertRaisesRegex(ValueError, "threads"):
            halo_audio.convolve(noise(9), noise(9), threads=1 << 20)

    def test_threads_at_once(self):
        jobs = [(noise(20000), noise(3000)) for _ in range(4)]
        expected = [halo_audio.convolve(*job) for job in jobs]
        made = [None] * len(jobs)

        def work(i):
            made[i] = halo_audio.convolve(*jobs[i])

        workers = [threading.Thread(target=work, args=(i,)) for i in range(len(jobs))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for one, other in zip(made, expected):
            self.assertTrue((one == other).all())

    def test_children_after_a_fork(self):
        x, h = noise(8, 100000), noise(5000)
        expected = halo_audio.convolve(x, h, threads=2)
        child = os.fork()
        if child == 0:
            os._exit(0 if (halo_audio.convolve(x, h, threads=2) == expected).all() else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main()
