/* Draws the responses and the strip of the last minutes: at most once a frame, and only if they
 * have changed. levels.js draws the meters and the spectrum. */
"use strict";

/* ---- surfaces ---- */

const surfaces = {};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const PACE = 240; /* ms between two statuses that the page itself shows */
const CALM = 250; /* ms between two pictures of levels if the user wants little motion */
let ink = {}, frameAsked = false, moved = 0, moving = 0, drawer = null, told = 0;

/* Sends something to the thread that draws levels. */
const tell = (what, given, transfer = []) => drawer.postMessage([what, given], transfer);

function tellLevel(what, text) {
    const now = performance.now();
    if (document.hidden || calm.matches && what === "status" && now < told + CALM) return;
    told = now;
    tell(what, text);
}

function readInk() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "grid", "bar", "good", "warn", "bad", "in", "out", "chain",
        "other", "own"])
        ink[name] = style.getPropertyValue(`--${name}`).trim();
    for (const name of Object.keys(surfaces)) dirty(name);
    tell("ink", ink);
}

function atFrame() {
    if (frameAsked) return;
    frameAsked = true;
    requestAnimationFrame(() => {
        showFresh();
        frameAsked = false; /* What showFresh() made dirty is drawn now. */
        for (const one of Object.values(surfaces))
            if (one.dirty && one.width) draw(one);
    });
}

function draw(one) {
    one.dirty = false;
    one.pen.clearRect(0, 0, one.width, one.height);
    one.draw(one);
}

/* A frame that can wait a little. */
function atPace() {
    if (moving) return;
    moving = setTimeout(() => {
        moving = 0;
        moved = performance.now();
        atFrame();
    }, Math.max(0, moved + PACE - performance.now()));
}

function dirty(name) {
    surfaces[name].dirty = true;
    atFrame();
}

function surface(id, draw) {
    const canvas = $(id);
    surfaces[id] = { canvas, pen: canvas.getContext("2d"), width: 0, height: 0, draw };
}

function resize({ target: { id }, contentRect: { width, height } }) {
    const size = { id, width, height, scale: Math.min(devicePixelRatio, 2) };
    if (!surfaces[id]) {
        $(id).wide = width;
        return tell("size", size);
    }
    fit(surfaces[id], size);
    draw(surfaces[id]); /* at once: the new size has cleared it */
    if (id === "response") equaliser.place();
}

function beginDrawing() {
    const observer = new ResizeObserver(entries => entries.forEach(resize)), canvases = {};
    drawer = new Worker("levels.js");
    for (const id of ["in", "out", "spectrum"]) canvases[id] = $(id).transferControlToOffscreen();
    tell("begin", canvases, Object.values(canvases));
    for (const canvas of document.querySelectorAll("canvas")) observer.observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readInk);
    readInk();
    showLook();
}

/* ---- meters and spectrum ---- */

const clipsBefore = { in: [], out: [] }; /* counts when the user reset them */
let spoken = 0; /* when the texts of the meters were renewed */

function resetClips(side) {
    clipsBefore[side] = (state.status?.[side] ?? []).map(({ clips }) => clips);
    tell("clips", clipsBefore);
    showMeters(state.status);
}

function showMeters(status) {
    const now = performance.now(), tells = now > spoken + 2000;
    if (tells) spoken = now;
    for (const side of ["in", "out"]) {
        const canvas = $(side), readings = status?.[side] ?? [], reset = $(`clips-${side}`);
        if (!canvas.wide) continue;
        const { rows, row } = meterGrid({ width: canvas.wide }, readings.length);
        const tall = HEAD + 2 + row * Math.max(rows, 1);
        if (canvas.tall !== tall) canvas.style.height = `${canvas.tall = tall}px`;
        const clips = clipsOf(readings, clipsBefore[side]).reduce((sum, count) => sum + count, 0);
        put(reset, `clips ${clips}`);
        set(reset, "className", clips ? "bad" : "");
        if (tells) canvas.setAttribute("aria-label", `Levels of ${side}put, dBFS. `
            + readings.map(({ peak_db: peak, rms_db: rms }, i) =>
                `${i + 1}: peak ${dbfs(peak)}, rms ${dbfs(rms)}`).join("; "));
    }
}

addEventListener("resize", () => { /* The meters' height depends on their width. */
    for (const side of ["in", "out"]) $(side).wide = $(side).clientWidth;
    showMeters(state.status);
});

function showLook() {
    const seconds = responses.quantity === "impulse" ? 0 : Number($("average").value);
    tell("look", { seconds, hold: $("hold").checked });
}
for (const id of ["average", "hold"]) $(id).addEventListener("change", () => {
    showLook();
    dirty("response");
});

/* ---- the axes of the response ---- */

const GRID_HZ = [1, 10, 100, 1000].flatMap(ten => [2, 3, 4, 5, 6, 7, 8, 9, 10].map(n => n * ten))
    .filter(hz => hz >= LEAST_HZ && hz <= MOST_HZ).concat(MOST_HZ);
const NAMED_HZ = { 20: "20", 50: "50", 100: "100", 200: "200", 500: "500", 1000: "1 k", 2000: "2 k",
    5000: "5 k", 10000: "10 k", 20000: "20 k" };
const rangeDb = () => Number($("range").value);
const yOfDb = (plot, value) => plot.top + plot.tall * (1 - value / rangeDb()) / 2;
const dbOfY = (plot, y) => rangeDb() * (1 - 2 * (y - plot.top) / plot.tall);

/* Numbers that divide the span in about `count` steps of 1, 2 or 5. */
function ticks(least, most, count) {
    const raw = (most - least) / count, ten = 10 ** Math.floor(Math.log10(raw));
    const step = ten * ([1, 2, 5].find(times => times * ten >= raw) ?? 10), list = [];
    for (let i = Math.ceil(least / step); i * step <= most + 1e-9 * step; i++)
        list.push(Number((i * step).toPrecision(6)));
    return list;
}

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
        showLook();
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
