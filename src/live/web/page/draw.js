/* The canvases: meters, spectrum, responses, and the strip of the last minutes. Each is drawn at
 * most once a frame, and only if what it shows has changed. */
"use strict";

/* ---- surfaces ---- */

const surfaces = {};
const calm = matchMedia("(prefers-reduced-motion: reduce)"), dark = matchMedia(
    "(prefers-color-scheme: dark)");
const PACE = 95, CALM = 250; /* ms between two pictures of a level; CALM: the user wants little motion */
let ink = {}, frameAsked = false, moved = 0, moving = 0;

function readInk() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "grid", "bar", "good", "warn", "bad", "in", "out", "chain",
        "other", "own"])
        ink[name] = style.getPropertyValue(`--${name}`).trim();
    for (const name of Object.keys(surfaces)) dirty(name);
}

function atFrame() {
    if (frameAsked) return;
    frameAsked = true;
    requestAnimationFrame(() => {
        showFresh();
        frameAsked = false; /* What showFresh() made dirty is drawn now. */
        for (const one of Object.values(surfaces)) {
            if (!one.dirty || !one.width) continue;
            one.dirty = false;
            one.draw(one);
        }
    });
}

/* Levels change all the time: they share a frame, and frames of levels have a distance. */
function atPace() {
    if (moving) return;
    moving = setTimeout(() => {
        moving = 0;
        moved = performance.now();
        atFrame();
    }, Math.max(0, moved + (calm.matches ? CALM : PACE) - performance.now()));
}

function dirty(name) {
    surfaces[name].dirty = true;
    atFrame();
}

function surface(id, draw) {
    const canvas = $(id);
    surfaces[id] = { canvas, pen: canvas.getContext("2d"), width: 0, height: 0, draw, dirty: false };
}

/* Takes the size of the page, in pixels of the device. */
function resize({ target: { id }, contentRect: { width, height } }) {
    const one = surfaces[id], scale = Math.min(devicePixelRatio, 2);
    Object.assign(one, { width, height, frame: "" });
    one.canvas.width = Math.round(width * scale);
    one.canvas.height = Math.round(height * scale);
    one.pen.setTransform(scale, 0, 0, scale, 0, 0);
    one.pen.font = "11px system-ui, sans-serif"; /* once: it costs a look at the styles */
    one.pen.direction = "ltr";
    dirty(id);
    if (id === "response") equaliser.place();
}

function beginDrawing() {
    const observer = new ResizeObserver(entries => entries.forEach(resize));
    for (const { canvas } of Object.values(surfaces)) observer.observe(canvas);
    dark.addEventListener("change", readInk);
    readInk();
}

function write(pen, text, x, y, color, align = "left") {
    pen.fillStyle = color;
    pen.textAlign = align;
    pen.fillText(text, x, y);
}

/* ---- meters ---- */

const DEEP = -60, WARN = -12, BAD = -3, TICKS = [-60, -48, -36, -24, -12, 0]; /* dBFS */
const FIGURES = 132, MANY_CHANNELS = 16; /* px of a channel's numbers; more channels have none */
const HEAD = 14; /* px above the bars */
const clipsBefore = { in: [], out: [] }; /* counts when the user reset them */
const db = value => value === null ? "-inf" : Math.max(value, -199.9).toFixed(1);
const shareOf = value => value === null ? 0 : clamp((value - DEEP) / -DEEP, 0, 1);

function clipsOf(side) {
    return (state.status?.[side] ?? []).map(({ clips }, i) => {
        const before = clipsBefore[side][i] ?? 0;
        return clips < before ? clips : clips - before; /* halo began to count anew */
    });
}

function resetClips(side) {
    clipsBefore[side] = (state.status?.[side] ?? []).map(({ clips }) => clips);
    showMeters(state.status);
}

/* The places of channels, in px. */
function meterGrid({ width }, count) {
    const many = count > MANY_CHANNELS, least = many ? 110 : 230, row = many ? 13 : 20;
    const columns = count > 4 ? clamp(Math.floor(width / least), 1, Math.ceil(count / 4)) : 1;
    const cell = width / columns, figures = many ? [] : cell > 2 * FIGURES ? ["peak", "rms", "hold"]
        : ["hold"];
    return { columns, rows: Math.ceil(count / columns), row, cell, figures,
        long: cell - [32, 66, 28 + FIGURES][Math.min(figures.length, 2)] };
}

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
function drawMeters(side, one) {
    const { pen } = one, readings = state.status?.[side], now = performance.now();
    if (!readings) {
        pen.clearRect(0, 0, one.width, one.height);
        one.frame = "";
        if (state.status) write(pen, "hidden", 20, 28, ink.soft);
        return;
    }
    const grid = meterGrid(one, readings.length), clips = clipsOf(side);
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
        figures.forEach((figure, k) => write(pen, db(reading[`${figure}_db`]),
            left + long + 40 + 45 * k, y + row / 2 + 4, k === 1 ? ink.ink : ink.soft, "right"));
    });
}

let spoken = 0; /* when the texts of the meters were renewed */

function showMeters(status) {
    const now = performance.now(), tells = now > spoken + 2000;
    if (tells) spoken = now;
    for (const side of ["in", "out"]) {
        const one = surfaces[side], readings = status?.[side] ?? [];
        if (!one.width) continue;
        const { rows, row } = meterGrid(one, readings.length), tall = HEAD + 2 + row * Math.max(rows, 1);
        if (one.tall !== tall) one.canvas.style.height = `${one.tall = tall}px`;
        const clips = clipsOf(side).reduce((sum, count) => sum + count, 0), reset = $(`clips-${side}`);
        put(reset, `clips ${clips}`);
        if (reset.bad !== clips > 0) reset.classList.toggle("bad", reset.bad = clips > 0);
        if (tells) one.canvas.setAttribute("aria-label", `Levels of ${side}put, dBFS. `
            + readings.map(({ peak_db: peak, rms_db: rms }, i) =>
                `${i + 1}: peak ${db(peak)}, rms ${db(rms)}`).join("; "));
        dirty(side);
    }
}

surface("in", one => drawMeters("in", one));
surface("out", one => drawMeters("out", one));

/* ---- the graph's axes ---- */

const LEAST_HZ = 20, MOST_HZ = 20000, MARGIN = { left: 40, right: 36, top: 10, bottom: 20 };
const GRID_HZ = [20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000,
    2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 20000];
const NAMED_HZ = { 20: "20", 50: "50", 100: "100", 200: "200", 500: "500", 1000: "1 k", 2000: "2 k",
    5000: "5 k", 10000: "10 k", 20000: "20 k" };
const OCTAVES = Math.log(MOST_HZ / LEAST_HZ);

function plotOf({ width, height }) {
    return { left: MARGIN.left, top: MARGIN.top, wide: width - MARGIN.left - MARGIN.right,
        tall: height - MARGIN.top - MARGIN.bottom };
}
const xOf = (plot, hz) => plot.left + plot.wide * Math.log(hz / LEAST_HZ) / OCTAVES;
const hzOf = (plot, x) => LEAST_HZ * Math.exp((x - plot.left) / plot.wide * OCTAVES);
const rangeDb = () => Number($("range").value);
const yOfDb = (plot, value) => plot.top + plot.tall * (1 - value / rangeDb()) / 2;
const dbOfY = (plot, y) => rangeDb() * (1 - 2 * (y - plot.top) / plot.tall);

function clip(pen, { left, top, wide, tall }, draw) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide, tall);
    pen.clip();
    draw();
    pen.restore();
}

/* Numbers that divide the span in about `count` steps of 1, 2 or 5. */
function ticks(least, most, count) {
    const raw = (most - least) / count, ten = 10 ** Math.floor(Math.log10(raw));
    const step = ten * ([1, 2, 5].find(times => times * ten >= raw) ?? 10), list = [];
    for (let i = Math.ceil(least / step); i * step <= most + 1e-9 * step; i++)
        list.push(Number((i * step).toPrecision(6)));
    return list;
}

/* ---- the spectrum ---- */

const BANDS = 120, FLOOR = -100; /* dBFS at the bottom */
const BAND_HZ = Array.from({ length: BANDS }, (_, i) => 1000 * 2 ** ((i - 68) / 12));
const spectra = { in: null, out: null }; /* { power, hold } by band */

function addSpectrum(message) {
    const seconds = Number($("average").value);
    if (!seconds || document.hidden) return;
    const part = 1 - Math.exp(-0.1 / seconds);
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
    surfaces.spectrum.dirty = true;
    atPace();
}

function trace(pen, xs, ys) {
    pen.beginPath();
    for (let i = 0; i < xs.length; i++)
        if (i) pen.lineTo(xs[i], ys[i]);
        else pen.moveTo(xs[i], ys[i]);
}

surface("spectrum", one => {
    const { pen } = one, plot = plotOf(one);
    pen.clearRect(0, 0, one.width, one.height);
    if (!$("average").value || responses.quantity === "impulse") return;
    const xs = one.xs?.wide === plot.wide ? one.xs.list : BAND_HZ.map(hz => xOf(plot, hz));
    one.xs = { wide: plot.wide, list: xs };
    const y = value => plot.top + plot.tall * clamp(value / FLOOR, 0, 1), bottom = plot.top + plot.tall;
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
            if ($("hold").checked) {
                pen.globalAlpha = 0.4;
                trace(pen, xs, spectra[side].hold.map(y));
                pen.stroke();
            }
            pen.globalAlpha = 1;
        }
    });
});

function restartSpectrum() {
    spectra.in = spectra.out = null;
    dirty("spectrum");
}
$("average").addEventListener("change", restartSpectrum);
$("hold").addEventListener("change", restartSpectrum);

/* ---- responses ---- */

const TRACES = ["#c678dd", "#56b6c2", "#e06c75", "#98c379", "#d19a66", "#61afef"];
const QUANTITIES = {
    magnitude: { unit: "dB", name: "Magnitude" }, phase: { unit: "°", name: "Phase" },
    group_delay: { unit: "ms", name: "Group delay" }, impulse: { unit: "", name: "Impulse" },
};
const PAUSE = 100; /* ms between two questions for curves, so that a drag does not flood halo */

/* Asks for curves one at a time, keeps them until the chain changes, and draws them. */
const responses = {
    quantity: "magnitude",
    version: 0, /* of the chain */
    kept: new Map(), /* key: { curves, version } */
    shown: new Set(), /* masks whose own response is shown */
    current: null, /* choice that is heard */
    busy: false,

    /* What is drawn, from back to front. */
    wanted() {
        const list = [], { chain, status } = state;
        if (!chain?.choices || status?.hidden || chain.blind) return list;
        for (const choice of this.shown)
            if (choice <= chain.choices.length)
                list.push({ what: "mask", choice, color: TRACES[(choice - 1) % TRACES.length] });
        const other = $("other").value;
        if (other !== "")
            list.push({ what: "chain", choice: Number(other), color: ink.other, dash: [6, 4] });
        if ($("show-chain").checked && this.current !== null)
            list.push({ what: "chain", choice: this.current, color: ink.chain, wide: true });
        for (const one of list)
            one.key = [one.what, one.choice, $("input").value, $("output").value].join(" ");
        return list;
    },

    forget() {
        this.version++;
    },

    chosen(number) {
        if (number === this.current) return;
        this.current = number;
        this.ask();
    },

    ask() {
        dirty("response");
        if (this.busy) return;
        const stale = this.wanted().reverse()
            .find(({ key }) => this.kept.get(key)?.version !== this.version);
        if (!stale) return;
        const { version } = this, [what, choice, input, output] = stale.key.split(" ");
        const done = curves => {
            this.kept.set(stale.key, { curves: curves ?? null, version });
            setTimeout(() => {
                this.busy = false;
                this.ask();
            }, PAUSE);
        };
        this.done = done;
        this.busy = send("curves", [what, Number(choice), Number(input), Number(output)], error => {
            if (error && this.done === done) done(null);
        });
        this.id = lastId;
    },

    arrived(message) {
        if (message.id !== this.id) return;
        const finite = ({ x, y }) => ({ x, y: y.map(value => value ?? NaN) });
        for (const name of Object.keys(QUANTITIES)) message[name] = finite(message[name]);
        this.done(message);
    },

    restart() { /* after the connection was lost */
        this.busy = false;
        this.kept.clear();
    },

    toggle(number) {
        if (!this.shown.delete(number)) this.shown.add(number);
        this.mark();
        this.ask();
    },

    mark() {
        for (const { number, lastChild } of maskRows()) {
            const shown = this.shown.has(number);
            if (!number) continue;
            press(lastChild, shown);
            lastChild.style.color = shown ? TRACES[(number - 1) % TRACES.length] : "";
        }
    },

    view(name) {
        this.quantity = name;
        for (const node of document.querySelectorAll("[data-do=view]"))
            press(node, node.dataset.view === name);
        set($("range").parentNode, "hidden", name !== "magnitude");
        dirty("spectrum");
        dirty("response");
        equaliser.place();
    },
};

const wrapped = value => value - 360 * Math.round(value / 360);

function drawCurve(pen, { x, y }, xAt, yAt, breaks) {
    let before = NaN;
    pen.beginPath();
    for (let i = 0; i < x.length; i++) {
        const there = yAt(y[i]);
        if (Number.isNaN(there)) {
            before = NaN;
            continue;
        }
        if (Number.isNaN(before) || Math.abs(there - before) > breaks) pen.moveTo(xAt(x[i]), there);
        else pen.lineTo(xAt(x[i]), there);
        before = there;
    }
    pen.stroke();
}

/* Least and most of the y axis. The edges of a group delay are left out: they may be huge. */
function spanOf(quantity, list) {
    if (quantity === "magnitude") return [-rangeDb(), rangeDb()];
    if (quantity === "phase") return [-180, 180];
    const values = list.flatMap(({ curves }) => {
        const { x, y } = curves[quantity];
        return y.filter((value, i) => Number.isFinite(value)
            && (quantity === "impulse" || x[i] > 30 && x[i] < 18000));
    }).sort((a, b) => a - b);
    if (!values.length) return [-1, 1];
    if (quantity === "impulse") {
        const most = Math.max(-values[0], values[values.length - 1], 1e-6);
        return [-1.05 * most, 1.05 * most];
    }
    const low = values[Math.floor(0.01 * values.length)];
    const high = values[Math.floor(0.99 * (values.length - 1))], pad = 0.1 * (high - low) + 0.5;
    return [low - pad, high + pad];
}

function drawGrid(pen, plot, quantity, [least, most], [from, to], yAt, xAt) {
    const bottom = plot.top + plot.tall, line = (x0, y0, x1, y1, alpha) => {
        pen.globalAlpha = alpha;
        pen.beginPath();
        pen.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
        pen.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
        pen.stroke();
        pen.globalAlpha = 1;
    };
    pen.strokeStyle = ink.grid;
    pen.lineWidth = 1;
    if (quantity === "impulse") {
        for (const ms of ticks(1e3 * from, 1e3 * to, plot.wide / 90)) {
            line(xAt(ms / 1e3), plot.top, xAt(ms / 1e3), bottom, 0.7);
            write(pen, `${ms} ms`, xAt(ms / 1e3), bottom + 14, ink.soft, "center");
        }
    } else {
        for (const hz of GRID_HZ)
            line(xAt(hz), plot.top, xAt(hz), bottom, NAMED_HZ[hz] ? 0.8 : 0.35);
        for (const [hz, name] of Object.entries(NAMED_HZ))
            if (plot.wide > 420 || /^(2|1.*)0$/.test(hz))
                write(pen, name, xAt(hz), bottom + 14, ink.soft, "center");
    }
    const steps = quantity === "phase" ? [-180, -90, 0, 90, 180]
        : quantity === "magnitude" ? [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1]
            .map(part => part * most) : ticks(least, most, 8);
    for (const value of steps) {
        line(plot.left, yAt(value), plot.left + plot.wide, yAt(value), value === 0 ? 1 : 0.6);
        const { unit } = QUANTITIES[quantity];
        write(pen, value === steps[steps.length - 1] && unit ? `${value} ${unit}` : value,
            plot.left - 5, yAt(value) + 4, ink.soft, "right");
    }
    if (quantity === "impulse" || !$("average").value) return;
    for (let level = 0; level > FLOOR; level -= 20)
        write(pen, level, plot.left + plot.wide + 5, plot.top + plot.tall * level / FLOOR + 4,
            ink.soft);
}

/* The shortest span of time that holds all that is above a thousandth of the largest sample. */
function impulseEnd(list) {
    let end = 1e-3;
    for (const { curves: { impulse: { x, y } } } of list) {
        const most = y.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
        for (let i = x.length - 1; i >= 0; i--)
            if (Math.abs(y[i]) > most / 1000) {
                end = Math.max(end, 1.1 * x[i]);
                break;
            }
    }
    return end;
}

let cursor = null; /* where the pointer is over the graph, in px */

surface("response", one => {
    const { pen } = one, plot = plotOf(one), { quantity } = responses, wanted = responses.wanted();
    const list = wanted.map(each => ({ ...each, curves: responses.kept.get(each.key)?.curves }))
        .filter(({ curves }) => curves);
    const span = spanOf(quantity, list), isTime = quantity === "impulse";
    const times = isTime ? [0, impulseEnd(list)] : [LEAST_HZ, MOST_HZ];
    const yAt = value => plot.top + plot.tall * (span[1] - value) / (span[1] - span[0]);
    const xAt = isTime ? x => plot.left + plot.wide * x / times[1] : hz => xOf(plot, hz);
    pen.clearRect(0, 0, one.width, one.height);
    drawGrid(pen, plot, quantity, span, times, yAt, xAt);
    clip(pen, plot, () => {
        if (quantity === "magnitude") equaliser.draw(pen, plot);
        for (const { curves, color, dash, wide } of list) {
            pen.strokeStyle = color;
            pen.lineWidth = wide ? 1.6 : 1.2;
            pen.setLineDash(dash ?? []);
            if (quantity === "phase")
                drawCurve(pen, curves.phase, xAt, value => yAt(wrapped(value)), plot.tall / 2);
            else drawCurve(pen, curves[quantity], xAt, yAt, Infinity);
        }
    });
    put($("chain-delay"), wanted.at(-1)?.wide && list.at(-1)?.wide
        ? `${(1e3 * list.at(-1).curves.delay).toFixed(1)} ms` : "");
    showReadout(plot, list, quantity);
});

/* The values under the pointer. */
function showReadout(plot, list, quantity) {
    const inside = cursor && cursor.x >= plot.left && cursor.x <= plot.left + plot.wide;
    if (!inside || quantity === "impulse") return put($("readout"), "");
    const hz = hzOf(plot, cursor.x), { unit } = QUANTITIES[quantity];
    const values = list.map(({ what, choice, curves }) => {
        const { x, y } = curves[quantity], i = x.findIndex(one => one >= hz);
        const value = i < 0 ? NaN : quantity === "phase" ? wrapped(y[i]) : y[i];
        return Number.isFinite(value) ? `${what} ${choice}: ${plain(value, 1)} ${unit}` : "";
    });
    put($("readout"), [hertz(hz), ...values.reverse().filter(Boolean)].join("   "));
}

const hertz = hz => hz >= 1000 ? `${(hz / 1000).toFixed(2)} kHz` : `${hz.toFixed(1)} Hz`;

$("graph").addEventListener("pointermove", event => {
    if (event.pointerType === "touch") return;
    const { left, top } = $("graph").getBoundingClientRect();
    cursor = { x: event.clientX - left, y: event.clientY - top };
    dirty("response");
});
$("graph").addEventListener("pointerleave", () => {
    cursor = null;
    dirty("response");
});
for (const id of ["input", "output", "other", "show-chain"])
    $(id).addEventListener("change", () => responses.ask());
$("range").addEventListener("change", () => {
    dirty("response");
    equaliser.place();
});

/* ---- the strip of the last minutes ---- */

const MINUTES = 5, SECONDS = 60 * MINUTES;
const CAUSES = { /* as in the ledger of halo */
    xrun: "the device lost sound", called_late: "the device asked for sound late",
    device_lost: "the device was gone", device_reopened: "the device was opened again",
    too_long: "the step took longer than a block lasts",
    mask_change: "a mask was changed, and two were computed",
    worker_late: "the worker of a long mask was late", gpu_late: "the GPU was late",
    page_faults: "memory was not there", preempted: "other programs ran in the step's place",
    migrated: "the step was moved to another processor", stopped: "the process was stopped",
};
const past = []; /* { load, late, lost } by second; the last is the newest */
let second = { at: -1 }, counted = {}; /* the counts of the last status; null: hidden */

/* Collects the worst load, and the late and lost blocks, of each second. */
function countSecond({ load_now: load, late, lost }) {
    const at = Math.floor(performance.now() / 1000);
    if (at !== second.at) {
        second = { at, load: 0, late: 0, lost: 0 };
        past.push(second);
        if (past.length > SECONDS) past.shift();
        dirty("strip");
    }
    second.load = Math.max(second.load, load ?? 0);
    second.late += Math.max(late - (counted.late ?? late), 0);
    second.lost += Math.max(lost - (counted.lost ?? lost), 0);
    counted = { late, lost };
}

surface("strip", one => {
    const { pen, width } = one, tall = one.height - 16, step = width / SECONDS;
    const now = Math.floor(performance.now() / 1000), time = state.status?.seconds ?? 0;
    pen.clearRect(0, 0, width, one.height);
    pen.fillStyle = ink.bar;
    pen.fillRect(0, 0, width, tall);
    for (const { at, load, late, lost } of past) {
        const x = width - (now - at + 1) * step, part = clamp(load, 0, 1);
        pen.fillStyle = part < 0.5 ? ink.good : part < 0.8 ? ink.warn : ink.bad;
        pen.fillRect(x, tall * (1 - part), Math.ceil(step), tall * part);
        if (late || lost) mark(pen, x, tall, lost > 0);
    }
    for (const { seconds, lost } of state.outages)
        if (time - seconds < SECONDS) mark(pen, width - (time - seconds) * step, tall, lost);
    for (let minute = 0; minute < MINUTES; minute++)
        write(pen, minute ? `-${minute} min` : "now", width * (1 - minute / MINUTES),
            one.height - 3, ink.soft, minute ? "center" : "right");
});

function mark(pen, x, tall, lost) {
    pen.fillStyle = lost ? ink.bad : ink.warn;
    pen.fillRect(Math.round(x), 0, 2, tall);
}

function showOutages(list) {
    remake("outages", list.slice(-5).reverse(), newest => $("outages").replaceChildren(
        ...newest.map(({ time, cause, lost, gap_ms: gap }) => element("li", {},
            element("time", {}, time.replace(/^.*T|[.+Z].*$/g, "")), " ",
            element("b", { className: lost ? "bad" : "warn" }, lost ? "lost" : "late"),
            ` ${CAUSES[cause] ?? cause}`, gap > 0 ? `, ${gap.toFixed(1)} ms` : ""))));
    dirty("strip");
}
