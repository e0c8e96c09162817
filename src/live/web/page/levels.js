/* Draws the meters and the spectrum, on a thread of its own: the page stays quick.
 *
 * The page sends the texts of `status` and `spectrum` as they come, sizes, colours and choices. A
 * hidden page sends nothing. */
"use strict";
importScripts("plot.js");

const surfaces = {};
let ink = {}, status = null, before = { in: [], out: [] }; /* before: clips that the user reset */
let look = { seconds: 0, hold: false }; /* averaging time of the spectrum, 0: none is shown */

/* ---- meters ---- */

const DEEP = -60, WARN = -12, BAD = -3, TICKS = [-60, -48, -36, -24, -12, 0]; /* dBFS */
const shareOf = value => value === null ? 0 : clamp((value - DEEP) / -DEEP, 0, 1);

function drawBar(pen, { peak_db: peak, rms_db: rms, hold_db: hold }, left, y, { row, long }) {
    const at = value => long * shareOf(value), [a, b] = [WARN, BAD].map(at), gap = row / 5;
    pen.clearRect(left - 2, y, long + 3, row);
    pen.fillStyle = ink.bar;
    pen.fillRect(left, y + gap, long, row - 2 * gap);
    const fill = (to, alpha) => {
        pen.globalAlpha = alpha;
        for (const [color, from, end] of [["good", 0, a], ["warn", a, b], ["bad", b, long]]) {
            if (to <= from) break;
            pen.fillStyle = ink[color];
            pen.fillRect(left + from, y + gap, Math.min(to, end) - from, row - 2 * gap);
        }
        pen.globalAlpha = 1;
    };
    fill(at(peak), 0.4);
    fill(at(rms), 1);
    if (hold === null || hold <= DEEP) return;
    pen.fillStyle = hold < WARN ? ink.good : hold < BAD ? ink.warn : ink.bad;
    pen.fillRect(left + at(hold) - 2, y + gap / 2, 2, row - gap);
}

/* Draws what is around the bars: the scale, the names of columns, and the channels' numbers. */
function drawMeterFrame({ pen, width, height }, grid, clips) {
    const { columns, rows, row, cell, long, figures } = grid;
    pen.clearRect(0, 0, width, height);
    for (let left = 20, column = 0; column < columns; column++, left += cell) {
        for (const tick of long < 150 ? [-60, -36, -12] : TICKS)
            write(pen, tick, left + long * shareOf(tick), 10, ink.soft, tick ? "center" : "right");
        figures.forEach((word, i) => write(pen, word, left + long + 40 + 45 * i, 10, ink.soft,
            "right"));
    }
    clips.forEach((count, i) => write(pen, i + 1, Math.floor(i / rows) * cell + 14,
        HEAD + (i % rows + 0.5) * row + 4, count ? ink.bad : ink.soft, "right"));
}

/* Only bars are drawn each time. */
function drawMeters(side) {
    const one = surfaces[side], { pen } = one, readings = status?.[side], now = performance.now();
    if (!readings) {
        pen.clearRect(0, 0, one.width, one.height);
        one.frame = "";
        if (status) write(pen, "hidden", 20, 28, ink.soft);
        return;
    }
    const grid = meterGrid(one, readings.length), clips = clipsOf(readings, before[side]);
    const { rows, row, cell, long, figures } = grid, frame = [ink.bar, one.width, clips].join();
    const whole = one.frame !== frame, numbers = whole || now > one.numbered + 250;
    if (whole) drawMeterFrame(one, grid, clips);
    if (numbers) one.numbered = now;
    one.frame = frame;
    readings.forEach((reading, i) => {
        const left = Math.floor(i / rows) * cell + 20, y = HEAD + i % rows * row;
        drawBar(pen, reading, left, y, grid);
        if (!numbers) return;
        pen.clearRect(left + long + 2, y, 45 * figures.length, row);
        figures.forEach((figure, k) => write(pen, dbfs(reading[`${figure}_db`]),
            left + long + 40 + 45 * k, y + row / 2 + 4, k === 1 ? ink.ink : ink.soft, "right"));
    });
}

/* ---- the spectrum ---- */

const BANDS = 120;
const BAND_HZ = Array.from({ length: BANDS }, (_, i) => 1000 * 2 ** ((i - 68) / 12));
const spectra = { in: null, out: null }; /* { power, hold } by band */

function addSpectrum(message) {
    const part = 1 - Math.exp(-0.1 / look.seconds);
    for (const side of ["in", "out"]) {
        const list = message[side];
        if (!list) {
            spectra[side] = null;
            continue;
        }
        spectra[side] ??= { power: list.map(value => 10 ** (value / 10)), hold: [...list] };
        const { power, hold } = spectra[side];
        for (let i = 0; i < BANDS; i++) {
            power[i] += part * (10 ** (list[i] / 10) - power[i]);
            hold[i] = Math.max(hold[i], list[i]);
        }
    }
}

function drawSpectrum() {
    const one = surfaces.spectrum, { pen } = one, plot = plotOf(one), bottom = plot.top + plot.tall;
    pen.clearRect(0, 0, one.width, one.height);
    if (!look.seconds) return;
    const xs = BAND_HZ.map(hz => xOf(plot, hz));
    const y = value => plot.top + plot.tall * clamp(value / FLOOR, 0, 1);
    clip(pen, plot, () => {
        for (const side of ["in", "out"]) {
            if (!spectra[side]) continue;
            pen.strokeStyle = pen.fillStyle = ink[side];
            pen.lineWidth = 1;
            trace(pen, xs, spectra[side].power.map(value => y(10 * Math.log10(value + 1e-15))));
            pen.globalAlpha = 0.8;
            pen.stroke();
            pen.lineTo(xs[BANDS - 1], bottom);
            pen.lineTo(xs[0], bottom);
            pen.globalAlpha = 0.1;
            pen.fill();
            if (look.hold) {
                pen.globalAlpha = 0.4;
                trace(pen, xs, spectra[side].hold.map(y));
                pen.stroke();
            }
            pen.globalAlpha = 1;
        }
    });
}

/* ---- what the page sends ---- */

function drawAll() {
    drawMeters("in");
    drawMeters("out");
    drawSpectrum();
}

const take = {
    begin(canvases) {
        for (const [id, canvas] of Object.entries(canvases))
            surfaces[id] = { canvas, pen: canvas.getContext("2d"), width: 0, height: 0, frame: "" };
    },
    size(given) {
        fit(surfaces[given.id], given);
        drawAll();
    },
    ink(given) {
        ink = given;
        drawAll();
    },
    clips(given) {
        before = given;
        drawAll();
    },
    look(given) { /* The averages begin anew. */
        look = given;
        spectra.in = spectra.out = null;
        drawSpectrum();
    },
    status(text) {
        status = JSON.parse(text);
        drawMeters("in");
        drawMeters("out");
    },
    spectrum(text) {
        if (!look.seconds) return;
        addSpectrum(JSON.parse(text));
        drawSpectrum();
    },
};

onmessage = ({ data: [what, given] }) => take[what](given);
