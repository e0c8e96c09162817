"""Small SOFA files for tests/mask/test_sofa.c, and the samples of any SOFA file, by netCDF4.

    sofa_files.py make FOLDER               writes the files below
    sofa_files.py taps FILE AZ,EL...        writes AZ,EL.txt: the responses there, a column an ear
"""
import math
import sys

import netCDF4
import numpy

TAPS = 48


def save(path, responses, sources, dimensions="MRN", convention="SimpleFreeFieldHRIR",
         data_type="FIR", delays=None, delay_dimensions="IR", left=0.09, view=None, api="1.1.3",
         sources_type="spherical", source_dimensions="MC", rates=(48000,)):
    sizes = {"I": 1, "C": 3, "E": 1, **dict(zip(dimensions, responses.shape))}
    with netCDF4.Dataset(path, "w") as file:
        file.setncatts({"Conventions": "SOFA", "Version": "1.0", "SOFAConventions": convention,
                        "SOFAConventionsVersion": "1.0", "DataType": data_type,
                        "RoomType": "free field", "DatabaseName": "made",
                        "APIName": "ARI SOFA API for Matlab/Octave", "APIVersion": api})
        for name in "ICRENM":
            file.createDimension(name, sizes[name])

        def add(name, names, values, **attributes):
            variable = file.createVariable(name, "f8", tuple(names))
            variable[:] = numpy.broadcast_to(values, [sizes[n] for n in names])
            variable.setncatts(attributes)

        ears = numpy.zeros((sizes["R"], 3, 1))
        ears[0, 1], ears[-1, 1] = left, -left
        add("ListenerPosition", "IC", 0, Type="cartesian")
        add("ReceiverPosition", "RCI", ears, Type="cartesian")
        add("SourcePosition", source_dimensions, sources, Type=sources_type)
        add("EmitterPosition", "ECI", 0, Type="cartesian")
        add("ListenerView", "IC" if view is None else "MC", [[1, 0, 0]] if view is None else view,
            Type="cartesian")
        add("ListenerUp", "IC", [[0, 0, 1]])
        add("Data.IR" if "FIR" in data_type else "Data.SOS", dimensions, responses)
        add("Data.SamplingRate", "I" if len(rates) == 1 else "M", rates)
        add("Data.Delay", delay_dimensions, 0 if delays is None else delays)


def pulse(at, taps=TAPS):
    """A band-limited pulse, so that it can be shifted by a part of a frame."""
    return numpy.exp(-((numpy.arange(taps) - at) / 3.0) ** 2)


def counted(*shape):
    """Each sample tells its place: the first index in thousands, and so on."""
    total = numpy.zeros(shape)
    for axis, size in enumerate(shape):
        along = numpy.arange(1, size + 1).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        total = total * 100 + along
    return total / 2.0**24


def make(folder):
    ring = [[azimuth, 0, 2] for azimuth in range(0, 360, 30)] + [[0, 60, 2], [0, 90, 2]]
    ring.append([30, 0, 1])  # nearer: not taken
    plain = counted(len(ring), 2, 8)
    save(f"{folder}/plain.sofa", plain, ring)
    save(f"{folder}/delays.sofa", plain, ring,
         delays=[[m, 2 * m] for m in range(len(ring))], delay_dimensions="MR")
    xyz = [[r * math.cos(math.radians(a)) * math.cos(math.radians(e)),
            r * math.sin(math.radians(a)) * math.cos(math.radians(e)),
            r * math.sin(math.radians(e))] for a, e, r in ring]
    save(f"{folder}/cartesian.sofa", plain, xyz, sources_type="cartesian")
    # Nowhere two directions are as near to a third.
    any_ = numpy.random.default_rng(5)
    scattered = [[any_.uniform(0, 360), any_.uniform(-60, 90), any_.uniform(1, 2)] for _ in range(80)]
    save(f"{folder}/scattered.sofa", any_.standard_normal((80, 2, 8)), scattered)
    save(f"{folder}/scattered-xyz.sofa", any_.standard_normal((80, 2, 8)),
         [[r * math.cos(math.radians(a)) * math.cos(math.radians(e)),
           r * math.sin(math.radians(a)) * math.cos(math.radians(e)),
           r * math.sin(math.radians(e))] for a, e, r in scattered], sources_type="cartesian")
    save(f"{folder}/exchanged.sofa", plain, ring, left=-0.09)
    save(f"{folder}/wrong-sign.sofa", plain, ring, left=-0.09, api="1.0.2")
    # The sound reaches an ear later the farther it is to the side.
    shifted = numpy.array([[pulse(16 + a / 60.0), pulse(16 - a / 60.0)] for a in (0, 30, 60)])
    save(f"{folder}/pulses.sofa", shifted, [[0, 0, 1], [30, 0, 1], [60, 0, 1]])
    fast = numpy.array([[pulse(9000 + 100 * a, 200000), pulse(9000 - 100 * a, 200000)]
                        for a in (0, 60)])
    save(f"{folder}/fast.sofa", fast, [[0, 0, 1], [60, 0, 1]], rates=[10000000])
    save(f"{folder}/fraction.sofa", pulse(16).reshape(1, 1, -1), [[0, 0, 1]], delays=[[2.25]],
         convention="GeneralFIR")
    # Two loudspeakers, a head that turns: left by 0, 40 and 80 degrees.
    views = [[math.cos(a), math.sin(a), 0] for a in map(math.radians, (0, 40, 80))]
    save(f"{folder}/room.sofa", counted(3, 2, 2, 8), [[0, 0, 0]], dimensions="MREN",
         convention="MultiSpeakerBRIR", data_type="FIR-E", view=views, source_dimensions="IC",
         delay_dimensions="IRE", delays=[[[0, 1], [2, 3]]])
    save(f"{folder}/turned.sofa", counted(3, 2, 8), [[60, 0, 1]], source_dimensions="IC", view=views,
         convention="SingleRoomDRIR")
    save(f"{folder}/sos.sofa", counted(1, 2, 6), [[0, 0, 1]], convention="SimpleFreeFieldSOS",
         data_type="SOS")
    save(f"{folder}/rates.sofa", plain, ring, rates=[48000] * 14 + [44100])
    save(f"{folder}/negative.sofa", plain, ring, delays=[[-1, 0]])


def save_taps(path, directions):
    with netCDF4.Dataset(path) as file:
        sources = numpy.array(file["SourcePosition"][:])
        for direction in directions:
            azimuth, elevation = map(float, direction.split(","))
            apart = (sources[:, 0] - azimuth + 180) % 360 - 180
            nearest = numpy.argmin(abs(apart) + abs(sources[:, 1] - elevation))
            numpy.savetxt(direction + ".txt", numpy.array(file["Data.IR"][nearest]).T, "%.17g")


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    save_taps(sys.argv[2], sys.argv[3:])
