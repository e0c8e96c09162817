"""Masks of files, convolution block by block, and the program. Arguments: the source tree, the program."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

import halo_audio

SOURCE, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
random = numpy.random.default_rng(7)


def noise(*shape):
    return random.uniform(-1, 1, shape).astype(numpy.float32)


def convolved(x, h):
    return numpy.convolve(x.astype(float), h.astype(float))[:len(x)]


class Masks(unittest.TestCase):
    def test_a_file_has_its_own_rate(self):
        mask = halo_audio.Mask.read(SOURCE / "filters" / "hall.wav")
        shown = subprocess.run([PROGRAM, "mask", "convert", SOURCE / "filters" / "hall.wav", "hall.txt"],
                               check=True, capture_output=True)
        expected = numpy.loadtxt("hall.txt", skiprows=1, ndmin=2).T
        self.assertEqual(mask.rate, 48000, shown)
        self.assertEqual(mask.taps.dtype, numpy.float32)
        self.assertEqual(mask.taps.shape, expected.shape)
        self.assertLess(numpy.abs(mask.taps - expected).max(), 1e-6)

    def test_text_and_options(self):
        pathlib.Path("two,columns.txt").write_text("1 2\n-0.5 0.25\n")
        mask = halo_audio.Mask.read("two\\,columns.txt,rate=44100")
        self.assertEqual(mask.rate, 44100)
        self.assertEqual(mask.taps.tolist(), [[1, -0.5], [2, 0.25]])

    def test_a_mask_is_an_array(self):
        mask = halo_audio.Mask(noise(2, 5), 48000)
        x = noise(2, 50)
        self.assertTrue((halo_audio.convolve(x, mask) == halo_audio.convolve(x, mask.taps)).all())

    def test_errors(self):
        with self.assertRaisesRegex(OSError, "nothing.wav"):
            halo_audio.Mask.read("nothing.wav")
        with self.assertRaisesRegex(ValueError, "gain"):
            halo_audio.Mask.read(f"{SOURCE}/filters/hall.wav,gain=loud")


class Streams(unittest.TestCase):
    def test_blocks_are_the_whole(self):
        for taps, block, frames in [(1, 64, 640), (300, 64, 6400), (20000, 128, 64000), (5000, 0, 10001)]:
            with self.subTest(taps=taps, block=block):
                x, h = noise(frames), noise(taps)
                convolver = halo_audio.Convolver(h, block)
                parts = numpy.split(x, range(block, frames, block)) if block else numpy.split(x, [1, 80, 7000])
                made = numpy.concatenate([convolver(part) for part in parts])
                self.assertLess(numpy.abs(made - convolved(x, h)).max(), 1e-6 * numpy.abs(h).sum())
                convolver.reset()
                self.assertTrue((convolver(parts[0]) == made[:len(parts[0])]).all())

    def test_columns_and_channels(self):
        x, h = noise(2, 1000), noise(4, 50)
        for taps, channels, pairs in [(h[:1], 2, [[(0, 0)], [(1, 0)]]), (h[:2], 2, [[(0, 0)], [(1, 1)]]),
                                      (h, 2, [[(0, 0), (1, 2)], [(0, 1), (1, 3)]]),
                                      (h[:3], 1, [[(0, 0)], [(0, 1)], [(0, 2)]])]:
            made = halo_audio.Convolver(taps, channels=channels, threads=2)(x[:channels])
            expected = numpy.stack([sum(convolved(x[i], taps[c]) for i, c in row) for row in pairs])
            self.assertLess(numpy.abs(made - expected).max(), 1e-4)

    def test_a_switch_fades(self):
        x, first, second, fade = noise(20000), noise(2000), noise(1500), 480
        convolver = halo_audio.Convolver(first, 100, taps=2000)
        made = [convolver(x[i:i + 100]) for i in range(0, 5000, 100)]
        convolver.switch(second, fade)
        made += [convolver(x[i:i + 100]) for i in range(5000, 20000, 100)]
        self.assertTrue(convolver.switched)
        made, old, new = numpy.concatenate(made), convolved(x, first), convolved(x, second)
        begin = numpy.flatnonzero(numpy.abs(made - old) > 1e-2)[0]
        self.assertTrue(5000 <= begin < 15000, begin)
        self.assertLess(numpy.abs(made[begin + fade:] - new[begin + fade:]).max(), 1e-3)
        middle = slice(begin, begin + fade)
        self.assertTrue((numpy.abs(made[middle]) <= numpy.maximum(abs(old[middle]), abs(new[middle])) + 1e-3).all())

    def test_errors(self):
        convolver = halo_audio.Convolver(noise(50), 64)
        with self.assertRaisesRegex(ValueError, "65 frames"):
            convolver(noise(65))
        with self.assertRaisesRegex(ValueError, r"\(2, 64\)"):
            convolver(noise(2, 64))
        with self.assertRaisesRegex(ValueError, "taps"):
            convolver.switch(noise(51))
        with self.assertRaisesRegex(ValueError, "not finite"):
            halo_audio.Convolver([0, numpy.nan])

    def test_not_in_a_forked_child(self):
        convolver = halo_audio.Convolver(noise(100000), 64, threads=2)
        child = os.fork()
        if child == 0:
            try:
                convolver(noise(64))
            except RuntimeError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class Render(unittest.TestCase):
    def test_is_the_program(self):
        voice, hall = SOURCE / "wav" / "voice.wav", SOURCE / "filters" / "hall.wav"
        report = halo_audio.render(voice, "out.wav", mask=[hall, "lowpass:3000"], gain=-3, format="float", force=True)
        subprocess.run([PROGRAM, "render", voice, "truth.wav", "--mask", hall, "--mask", "lowpass:3000", "--gain", "-3",
                        "--format", "float"], check=True, capture_output=True)
        self.assertEqual(pathlib.Path("out.wav").read_bytes(), pathlib.Path("truth.wav").read_bytes())
        self.assertEqual(report["channels"], 2)

    def test_errors_are_pythons(self):
        pathlib.Path("there.wav").touch()
        voice = SOURCE / "wav" / "voice.wav"
        for kind, source, output, options in [(FileNotFoundError, "nothing.wav", "out.wav", {}),
                                              (FileExistsError, voice, "there.wav", {}),
                                              (ValueError, voice, "no.wav", {"mask": "lowpass:x"}),
                                              (ValueError, voice, "no.wav", {"no_such_option": 1})]:
            with self.assertRaises(kind) as caught:
                halo_audio.render(source, output, **options)
            self.assertGreater(len(str(caught.exception)), 20)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() or os._exit(1)
        os.chdir("/")
