/* The parametric equaliser: its bands are drawn in the response, and edited there by pointer, wheel
 * and keys, or as numbers in the table. halo takes them as the text of `parametric:`.
 *
 * The drawn curve follows the RBJ cookbook, as src/signal/biquad.c does. */
"use strict";

const KINDS = { PK: "peak", LS: "low shelf", HS: "high shelf", LP: "low-pass", HP: "high-pass",
    BP: "band-pass", NO: "notch" };
const KNOWN = Object.keys(KINDS).join(" ");
const hasGain = kind => kind === "PK" || kind === "LS" || kind === "HS";
const BANDS_MOST = 64; /* of `parametric:` */
const LIMITS = { hz: [10, 24000], db: [-60, 60], q: [0.05, 100] };
const POINTS = 320; /* of the drawn curve */

/* ---- second-order sections ---- */

/* [b0, b1, b2, a0, a1, a2] */
function biquad({ kind, hz, db, q }, rate) {
    const turn = 2 * Math.PI * hz / rate, c = Math.cos(turn), alpha = Math.sin(turn) / (2 * q);
    const a = 10 ** (db / 40), root = 2 * Math.sqrt(a) * alpha, up = a + 1, down = a - 1;
    const shelf = side => [a * (up - side * down * c + root), side * 2 * a * (down - side * up * c),
        a * (up - side * down * c - root), up + side * down * c + root,
        side * -2 * (down + side * up * c), up + side * down * c - root];
    const below = [1 + alpha, -2 * c, 1 - alpha];
    switch (kind) {
    case "LS": return shelf(1);
    case "HS": return shelf(-1);
    case "LP": return [(1 - c) / 2, 1 - c, (1 - c) / 2, ...below];
    case "HP": return [(1 + c) / 2, -1 - c, (1 + c) / 2, ...below];
    case "BP": return [alpha, 0, -alpha, ...below];
    case "NO": return [1, -2 * c, 1, ...below];
    default: return [1 + alpha * a, -2 * c, 1 - alpha * a, 1 + alpha / a, -2 * c, 1 - alpha / a];
    }
}

/* Squared magnitude of three coefficients. s is the squared sine of half the angle: this form is
 * exact at low frequencies too. */
const power = (x, y, z, s) => (x + y + z) ** 2 - 4 * (x * y + 4 * x * z + y * z) * s
    + 16 * x * z * s * s;

function bandDb(band, rate, hertzes) {
    const [b0, b1, b2, a0, a1, a2] = biquad(band, rate);
    return hertzes.map(hz => {
        const s = Math.sin(Math.PI * hz / rate) ** 2;
        return 10 * Math.log10(Math.max(power(b0, b1, b2, s), 1e-20) / power(a0, a1, a2, s));
    });
}

/* ---- Equalizer APO's and AutoEq's text ---- */

/* Q of a band of some octaves. */
const octavesToQ = (octaves, hz, rate) => {
    const turn = 2 * Math.PI * hz / rate;
    return 1 / (2 * Math.sinh(Math.LN2 / 2 * octaves * turn / Math.sin(turn)));
};

/* As Equalizer APO, takes a separator before exactly three last digits for one of thousands. */
function readHertz(text) {
    const thousands = /^[1-9]\d{0,2}([.,']\d{3})+$/.test(text);
    return Number(thousands ? text.replace(/[.,']/g, "") : text.replace(",", "."));
}

/* LS and HS with Q or slope name the corner of a shelf. LSC and HSC name its middle, as halo does.
 * Without Q and slope, the slope is 0.9, and both name the middle. */
function readShelf(band, name, q, slope) {
    const a = 10 ** (band.db / 40);
    let steep = slope ? slope / 12 : 0.9;
    if (q && !slope) steep = 1 / ((1 / (q * q) - 2) / (a + 1 / a) + 1);
    band.q = q && !slope ? q : 1 / Math.sqrt((a + 1 / a) * (1 / steep - 1) + 2);
    if (name.length > 2 || !q && !slope) return;
    const factor = 10 ** (Math.abs(band.db) / 80 / steep);
    band.hz = band.kind === "LS" ? band.hz * factor : band.hz / factor;
}

function readFilter(text, rate) {
    const [, name, slope] = /^\s*([a-z]+(?: Q)?)\s*([\d.,]+(?=\s*dB))?/i.exec(text) ?? [];
    const kind = { PEQ: "PK", MODAL: "PK", LPQ: "LP", HPQ: "HP", LSC: "LS", HSC: "HS", LSQ: "LS",
        HSQ: "HS", NOTCH: "NO" }[name?.toUpperCase().replace(" ", "")] ?? name?.toUpperCase();
    const value = pattern => pattern.exec(text)?.[1].replace(",", ".");
    const written = /\bFc\s+([\d.,']+)/i.exec(text)?.[1], hz = written ? readHertz(written) : 0;
    if (!KINDS[kind] || !(hz > 0 && hz < rate / 2)) return null;
    const q = Number(value(/\bQ\s+([\d.,]+)/i) ?? 0), octaves = value(/\bBW\s+Oct\s+([\d.,]+)/i);
    const band = { kind, hz, db: hasGain(kind) ? Number(value(/\bGain\s+([-+\d.,]+)/i) ?? 0) : 0 };
    if (kind === "LS" || kind === "HS") readShelf(band, name, q, Number(slope?.replace(",", ".")));
    else band.q = octaves ? octavesToQ(Number(octaves), hz, rate)
        : q || (kind === "NO" ? 30 : Math.SQRT1_2);
    return [band.hz, band.db, band.q].every(Number.isFinite) && band.q > 0 ? band : null;
}

/* Returns { bands, preamp, left }: left is the number of filters that have no band here. */
function readListing(text, rate) {
    const result = { bands: [], preamp: 0, left: 0 };
    for (const line of text.split(/\r?\n/)) {
        const preamp = /^\s*Preamp:\s*([-+\d.,]+)/i.exec(line);
        const filter = /^\s*Filter(?:\s*\d+)?:\s*ON\s+(.*)/i.exec(line);
        if (preamp) result.preamp += Number(preamp[1].replace(",", ".")) || 0;
        const band = filter && readFilter(filter[1], rate);
        if (band && result.bands.length < BANDS_MOST) result.bands.push(band);
        else if (filter) result.left++;
    }
    return result;
}

/* A frequency never gets three decimals: Equalizer APO would read them as thousands. */
function writeListing({ preamp, bands }) {
    const names = { LS: "LSC", HS: "HSC", LP: "LPQ", HP: "HPQ" };
    const exact = (value, usual, most) => {
        const number = Number(value.toFixed(most)) || 0;
        return Number(number.toFixed(usual)) === number ? number.toFixed(usual) : number;
    };
    const gain = ({ kind, db }) => hasGain(kind) ? ` Gain ${exact(db, 1, 2)} dB` : "";
    return [`Preamp: ${exact(preamp, 1, 2)} dB`, ...bands.map((band, i) =>
        `Filter ${i + 1}: ON ${names[band.kind] ?? band.kind} Fc ${Number(band.hz.toFixed(2))} Hz${
            gain(band)} Q ${exact(band.q, 2, 5)}`), ""].join("\n");
}

/* ---- the equaliser ---- */

const equaliser = {
    stage: 0, /* number of its stage; 0: there is none */
    preamp: 0,
    bands: [],
    chosen: 0,
    handles: [],
    rows: [],
    drag: null,

    text() {
        const number = (value, digits) => String(Number(value.toFixed(digits)));
        return this.bands.map(({ kind, hz, db, q }) => [kind, number(hz, 2),
            ...hasGain(kind) ? [number(db, 2)] : [], number(q, 4)].join(" ")).join("; ");
    },

    rate: () => state.chain?.rate ?? 48000,

    /* Shows the bands that halo has, unless the user changes them at the moment. */
    show({ stages }) {
        const options = (stages ?? []).flatMap(({ eq, name }, i) =>
            eq ? [[i + 1, `${i + 1} ${short(name)}`]] : []);
        offer($("equaliser-stage"), options);
        set($("equaliser-which"), "hidden", options.length < 2);
        set($("panel-equaliser"), "hidden", stages === null);
        set($("equaliser-add"), "hidden", options.length > 0);
        for (const id of ["equaliser-tools", "equaliser-save"])
            set($(id), "hidden", !options.length);
        const before = this.stage;
        this.stage = Number($("equaliser-stage").value);
        if (this.stage === before && (this.drag || isMine("eq"))) return;
        const { bands = [], preamp = 0 } = stages?.[this.stage - 1]?.eq ?? {};
        this.bands = bands.map(band => ({ ...band, db: band.db ?? 0 }));
        this.preamp = preamp;
        this.refresh();
    },

    /* Shows the bands everywhere. */
    refresh() {
        this.chosen = clamp(this.chosen, 0, Math.max(this.bands.length - 1, 0));
        if (this.handles.length !== this.bands.length) this.remake();
        for (const [i, band] of this.bands.entries()) this.fill(this.rows[i], band);
        if (document.activeElement !== $("preamp"))
            set($("preamp"), "value", plain(this.preamp, 1));
        const band = this.bands[this.chosen];
        set($("q"), "disabled", !band);
        put($("q-of"), band ? String(this.chosen + 1) : "–");
        if (band) {
            const [least, most] = LIMITS.q;
            set($("q"), "value", String(Math.round(
                1000 * Math.log(band.q / least) / Math.log(most / least))));
            $("q").setAttribute("aria-valuetext", band.q.toFixed(2));
        }
        this.place();
        dirty("response");
    },

    fill(row, { kind, hz, db, q }) {
        const show = (field, value) => {
            if (document.activeElement !== field) set(field, "value", String(value));
        };
        show(row.kind, kind);
        show(row.hz, Number(hz.toFixed(2)));
        show(row.db, hasGain(kind) ? plain(db, 1) : "");
        show(row.q, Number(q.toFixed(3)));
        set(row.db, "disabled", !hasGain(kind));
    },

    /* The user changed something: shows it, and sends it. The first bands become a new stage. */
    changed() {
        this.refresh();
        if (this.stage) return steady("eq", "eq", [this.stage, this.text(), this.preamp]);
        const gain = this.preamp ? `,gain=${this.preamp}` : "";
        return send("stage/add", [1, "mask", `parametric:${this.text()}${gain}`], error => {
            report(error);
            showSoon("chain");
        });
    },

    change(index, values) {
        const band = Object.assign(this.bands[index], values);
        for (const name of ["hz", "db", "q"]) band[name] = clamp(band[name], ...LIMITS[name]);
        band.hz = Math.min(band.hz, 0.49 * this.rate());
        this.chosen = index;
        this.changed();
    },

    remove(index) {
        this.bands.splice(index, 1);
        this.changed();
        this.handles[this.chosen]?.focus();
    },

    add(hz = 1000, db = 0) {
        if (this.bands.length === BANDS_MOST) return report(`At most ${BANDS_MOST} bands`);
        this.chosen = this.bands.push({ kind: "PK", hz, db, q: 1.41 }) - 1;
        this.changed();
        return this.focus();
    },

    focus() {
        this.handles[this.chosen]?.focus();
    },

    /* ---- handles and rows ---- */

    remake() {
        this.handles = this.bands.map((_, i) => element("button", { type: "button", role: "slider",
            className: "handle", "data-do": "band", "data-n": i + 1, "aria-orientation": "vertical",
            "aria-valuemin": LIMITS.db[0], "aria-valuemax": LIMITS.db[1] }, i + 1));
        $("handles").replaceChildren(...this.handles);
        const field = (i, name, properties) => element("input", { type: "number", "data-do": "band",
            "data-n": i + 1, "data-field": name, min: LIMITS[name][0], max: LIMITS[name][1],
            step: "any", ...properties });
        this.rows = this.bands.map((_, i) => ({
            kind: element("select", { "data-do": "band", "data-n": i + 1, "data-field": "kind",
                "aria-label": `Kind of band ${i + 1}` }, ...Object.entries(KINDS).map(
                ([value, name]) => element("option", { value, title: name }, value))),
            hz: field(i, "hz", { "aria-label": `Frequency of band ${i + 1}, Hz` }),
            db: field(i, "db", { "aria-label": `Gain of band ${i + 1}, dB`, step: 0.1 }),
            q: field(i, "q", { "aria-label": `Q of band ${i + 1}`, step: 0.01 }),
        }));
        const unit = text => element("i", {}, text);
        $("bands").replaceChildren(...this.rows.map(({ kind, hz, db, q }, i) =>
            element("div", { className: "band", role: "listitem" }, i + 1, kind, hz,
                unit("Hz"), db, unit("dB"), q, unit("Q"), button("✕", "band-remove",
                    { "data-n": i + 1, "aria-label": `Remove band ${i + 1}` }))));
    },

    /* Moves the handles to their places. */
    place() {
        const one = surfaces.response, plot = plotOf(one);
        const shown = responses.quantity === "magnitude";
        set($("handles"), "hidden", !shown);
        if (!shown || !one.width) return;
        for (const [i, handle] of this.handles.entries()) {
            const { kind, hz, db, q } = this.bands[i];
            const y = yOfDb(plot, hasGain(kind) ? clamp(db, -rangeDb(), rangeDb()) : 0);
            const x = clamp(xOf(plot, hz), plot.left, plot.left + plot.wide);
            handle.at = { x, y };
            handle.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
            set(handle, "className", i === this.chosen ? "handle chosen" : "handle");
            const text = [KINDS[kind], hertz(hz), hasGain(kind) && signed(db), `Q ${q.toFixed(2)}`]
                .filter(Boolean).join(", ");
            if (handle.spoken === text) continue;
            handle.spoken = text;
            handle.setAttribute("aria-label", `Band ${i + 1}`);
            handle.setAttribute("aria-valuenow", db);
            handle.setAttribute("aria-valuetext", text);
        }
    },

    draw(pen, plot) {
        if (!this.bands.length) return;
        const rate = this.rate(), hertzes = Array.from({ length: POINTS }, (_, i) =>
            hzOf(plot, plot.left + plot.wide * i / (POINTS - 1))).filter(hz => hz < rate / 2);
        const xs = hertzes.map(hz => xOf(plot, hz)), sum = hertzes.map(() => this.preamp);
        const fill = (list, base, color, alpha) => {
            trace(pen, xs, list.map(db => yOfDb(plot, db)));
            pen.lineTo(xs.at(-1), yOfDb(plot, base));
            pen.lineTo(xs[0], yOfDb(plot, base));
            pen.globalAlpha = alpha;
            pen.fillStyle = color;
            pen.fill();
            pen.globalAlpha = 1;
        };
        this.bands.forEach((band, index) => {
            const list = bandDb(band, rate, hertzes);
            list.forEach((db, i) => { sum[i] += db; });
            if (index === this.chosen) fill(list, 0, ink.own, 0.2);
        });
        fill(sum, 0, ink.own, 0.12);
        trace(pen, xs, sum.map(db => yOfDb(plot, db)));
        pen.strokeStyle = ink.own;
        pen.lineWidth = 2;
        pen.stroke();
    },
};

/* ---- pointer ---- */

const rounded = hz => Number(hz.toPrecision(4));
const tenth = value => Number(value.toFixed(1));
const gainAt = (plot, y) => tenth(clamp(dbOfY(plot, y), -rangeDb(), rangeDb()));
const bandOf = node => node.dataset?.do === "band" || node.dataset?.do === "band-remove"
    ? Number(node.dataset.n) - 1 : -1;

/* Takes the nearest band: handles may lie over each other. */
$("handles").addEventListener("pointerdown", event => {
    if (bandOf(event.target) < 0 || event.button) return;
    event.preventDefault();
    event.target.setPointerCapture(event.pointerId);
    const { left, top } = $("handles").getBoundingClientRect();
    const far = ({ x, y }) => Math.hypot(x - event.clientX + left, y - event.clientY + top);
    const index = equaliser.handles.reduce((best, handle, i, all) =>
        far(handle.at) < far(all[best].at) ? i : best, 0);
    const { hz, db } = equaliser.bands[index], plot = plotOf(surfaces.response);
    equaliser.drag = { index, x: event.clientX - xOf(plot, hz),
        y: event.clientY - yOfDb(plot, db) };
    equaliser.chosen = index;
    equaliser.focus();
    equaliser.refresh();
});

$("handles").addEventListener("pointermove", event => {
    const { drag } = equaliser, plot = plotOf(surfaces.response);
    if (!drag || !connected) return;
    const { kind } = equaliser.bands[drag.index], values = { hz: rounded(
        clamp(hzOf(plot, event.clientX - drag.x), LEAST_HZ, MOST_HZ)) };
    if (hasGain(kind)) values.db = gainAt(plot, event.clientY - drag.y);
    equaliser.change(drag.index, values);
});

for (const type of ["pointerup", "pointercancel", "lostpointercapture"])
    $("handles").addEventListener(type, () => { equaliser.drag = null; });

$("handles").addEventListener("wheel", event => {
    const index = bandOf(event.target);
    if (index < 0 || !connected) return;
    event.preventDefault();
    equaliser.change(index, { q: Number((equaliser.bands[index].q
        * 1.08 ** -Math.sign(event.deltaY)).toFixed(3)) });
}, { passive: false });

$("handles").addEventListener("focusin", ({ target }) => {
    if (bandOf(target) < 0 || equaliser.drag) return;
    equaliser.chosen = bandOf(target);
    equaliser.refresh();
});

$("response").addEventListener("dblclick", event => {
    if (responses.quantity !== "magnitude" || !connected || $("panel-equaliser").hidden) return;
    const plot = plotOf(surfaces.response), hz = rounded(hzOf(plot, event.offsetX));
    if (hz >= LEAST_HZ && hz <= MOST_HZ)
        equaliser.add(hz, gainAt(plot, event.offsetY));
});

/* ---- keys ---- */

$("handles").addEventListener("keydown", event => {
    const index = bandOf(event.target), { key, shiftKey: fine } = event;
    if (index < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const { kind, hz, db, q } = equaliser.bands[index];
    const turn = by => ({ hz: rounded(hz * 2 ** (by / (fine ? 96 : 12))) });
    const lift = by => ({ db: hasGain(kind) ? tenth(db + by * (fine ? 0.1 : 0.5)) : db });
    const widen = by => ({ q: Number((q * 1.1 ** by).toFixed(3)) });
    const values = { ArrowLeft: () => turn(-1), ArrowRight: () => turn(1), ArrowUp: () => lift(1),
        ArrowDown: () => lift(-1), PageUp: () => widen(1), PageDown: () => widen(-1) }[key]?.();
    if (values) equaliser.change(index, values);
    else if (key === "Delete" || key === "Backspace") equaliser.remove(index);
    else if (key === "Insert") equaliser.add();
    else return;
    event.preventDefault();
});

/* ---- fields and buttons ---- */

$("preamp").addEventListener("change", ({ target }) => {
    equaliser.preamp = clamp(Number(target.value) || 0, ...LIMITS.db);
    equaliser.changed();
});

$("bands").addEventListener("change", ({ target }) => {
    const { field } = target.dataset, index = bandOf(target);
    if (field === "kind") return equaliser.change(index, { kind: target.value });
    const value = Number(target.value), [least, most] = LIMITS[field];
    if (target.value === "" || value < least || value > most)
        return report(`${target.getAttribute("aria-label")}: ${least} to ${most}`);
    return equaliser.change(index, { [field]: value });
});

$("bands").addEventListener("focusin", ({ target }) => {
    if (bandOf(target) < 0) return;
    equaliser.chosen = bandOf(target);
    equaliser.refresh();
});

$("q").addEventListener("input", () => {
    const [least, most] = LIMITS.q;
    equaliser.change(equaliser.chosen, { q: Number((least * (most / least)
        ** ($("q").value / 1000)).toPrecision(3)) });
});

$("equaliser-stage").addEventListener("change", () => equaliser.show(state.chain));

$("equaliser-file").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    if (!file) return;
    const { bands, preamp, left } = readListing(await file.text(), equaliser.rate());
    target.value = "";
    if (left) report(`${file.name}: ${left} of ${left + bands.length} filters were left out: ${
        KNOWN} with Q are known`);
    if (!bands.length) return report(`${file.name} has no lines such as `
        + "'Filter 1: ON PK Fc 105 Hz Gain -2.4 dB Q 0.70'");
    Object.assign(equaliser, { bands, preamp, chosen: 0 });
    equaliser.changed();
});

Object.assign(actions, {
    band() {},
    "band-add": () => equaliser.add(),
    "band-remove": node => equaliser.remove(bandOf(node)),
    "equaliser-add": () => equaliser.add(),
    "equaliser-save"() {
        const file = new Blob([writeListing(equaliser)], { type: "text/plain" });
        const link = element("a", { href: URL.createObjectURL(file), download: "equaliser.txt" });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    },
});
