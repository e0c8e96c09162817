/* The stages of the chain: a card for each, with its controls, and the list of what can be added.
 *
 * Cards are made anew only if the chain changes, and never while a pointer is down on them. If only
 * values change, the present cards show the values. */
"use strict";

const MANY = 24; /* controls; a card with more is closed at first and can be searched */
const POSITIONS = 1000; /* of a logarithmic slider */

/* ---- values of a control ---- */

/* A slider: its properties, and value <-> position. */
function sliderOf({ logarithmic, integer, least, most }) {
    if (!logarithmic || integer || !(least > 0)) {
        const step = integer ? 1 : 10 ** Math.floor(Math.log10((most - least) / 500));
        return { range: { min: least, max: most, step }, to: value => value,
            from: position => Number(position.toPrecision(6)) };
    }
    const turns = Math.log(most / least);
    return { range: { min: 0, max: POSITIONS, step: "any" },
        to: value => POSITIONS * Math.log(Math.max(value, least) / least) / turns,
        from: position => Number((least * Math.exp(position / POSITIONS * turns)).toPrecision(4)) };
}

/* As the terminal shows a control: "1.2 kHz", "-6 dB". */
function worded({ unit, points }, value) {
    const point = points?.find(one => one.value === value);
    if (point) return point.label;
    const kilo = unit?.toLowerCase() === "hz" && Math.abs(value) >= 1000;
    const number = String(Number((kilo ? value / 1000 : value).toPrecision(4)));
    return unit ? `${number} ${kilo ? "kHz" : unit}` : number;
}

/* ---- a control ---- */

/* A control in the page: { node, show(value) }. `changed` takes a value and sends it. */
function makeControl(control, id, changed) {
    const { symbol, name, unit, points, toggle, least, most } = control;
    const data = { "data-do": "control", "data-symbol": symbol };
    const row = (...children) => element("div", { className: "setting", title: symbol,
        "data-name": name.toLowerCase() }, element("label", { htmlFor: id }, short(name)),
    ...children);
    if (points) {
        const select = element("select", { id, ...data }, ...points.map(({ value, label }) =>
            element("option", { value }, label)));
        select.addEventListener("change", () => changed(Number(select.value)));
        return { node: row(select), show: value => set(select, "value", String(value)) };
    }
    if (toggle) {
        const box = element("input", { type: "checkbox", id, ...data });
        box.addEventListener("change", () => changed(box.checked ? 1 : 0));
        return { node: row(box), show: value => set(box, "checked", value > 0) };
    }
    const bounded = least !== null && most !== null && most > least;
    const { range, to, from } = bounded ? sliderOf(control) : {};
    const number = element("input", { type: "number", step: control.integer ? 1 : "any",
        id: bounded ? `${id}-number` : id, "aria-label": unit ? `${name}, ${unit}` : name,
        ...bounded ? { min: least, max: most } : {}, ...data });
    const slider = bounded && element("input", { type: "range", id, ...data, ...range });
    const show = value => {
        const { digits } = control;
        const text = digits ? plain(value, digits) : String(Number(value.toPrecision(6)));
        if (document.activeElement !== number) set(number, "value", text);
        if (!slider || slider.text === text) return;
        slider.value = to(value);
        slider.setAttribute("aria-valuetext", worded(control, value));
        slider.text = text;
    };
    number.addEventListener("change", () => {
        if (number.value === "" || !number.checkValidity())
            return report(`${name}: ${least} to ${most}`);
        show(Number(number.value));
        changed(Number(number.value));
    });
    slider && slider.addEventListener("input", () => {
        const value = from(Number(slider.value));
        show(value);
        changed(value);
    });
    slider && slider.addEventListener("dblclick", () => {
        show(control.default);
        changed(control.default);
    });
    return { node: row(slider || element("span"), number,
        element("span", { className: "soft" }, unit ?? "")), show };
}

function command({ kind, symbol }, stage, value) {
    if (kind === "mix") return ["mix", [stage, value]];
    if (kind === "bypass") return ["bypass", [stage, value]];
    return ["control", [stage, symbol, value]];
}

/* ---- cards ---- */

let cards = []; /* by stage: { node, controls: [{ key, show, shown }] } */
let held = false, waiting = null; /* whether a pointer is down on a card, and the chain meanwhile */
const opened = new Map(); /* name of a stage: whether the user opened or closed its card */

function makeHead(stage, number, count) {
    const about = [stage.option, stage.taps ? `${stage.taps} taps` : "",
        stage.chooses ? "the mask that is chosen" : "", stage.failed ? "FAILED" : ""];
    const act = (label, text, action, to, off) => button(label, action, { "data-n": number,
        "data-to": to, "aria-label": `${text} stage ${number}`, title: text, disabled: off });
    return [element("span", { className: "soft" }, number),
        element("span", { title: stage.text }, element("b", {}, short(stage.name)), " ",
            element("span", { className: stage.failed ? "bad" : "soft" },
                about.filter(Boolean).join(", "))),
        element("span", { className: "bar" },
            act("↑", "Move up", "stage/move", number - 1, number === 1),
            act("↓", "Move down", "stage/move", number + 1, number === count),
            act("✕", "Remove", "stage/remove", 0, false))];
}

function makeCard(stage, index, { length }) {
    const number = index + 1, controls = [], body = element("div", { className: "controls" });
    const ends = element("div", { className: "controls" }); /* mix and bypass */
    for (const [i, control] of stage.controls.entries()) {
        const key = `control ${number} ${control.kind} ${control.symbol}`;
        const one = makeControl(control, `control-${number}-${i}`, value => {
            one.shown = null;
            steady(key, ...command(control, number, value));
        });
        controls.push(Object.assign(one, { key, shown: null })); /* shown: halo's value */
        (control.kind === "port" ? body : ends).append(one.node);
    }
    const ports = body.children.length, many = ports > MANY;
    const search = many && element("input", { type: "search", placeholder: "Search controls",
        "aria-label": `Search controls of stage ${number}`, "data-do": "search",
        "data-n": number });
    search && search.addEventListener("input", () => {
        const word = search.value.trim().toLowerCase();
        for (const node of body.children) node.hidden = !node.dataset.name.includes(word);
    });
    const key = `${stage.option} ${stage.text.split(",")[0]}`;
    const details = ports > 0 && element("details", { open: opened.get(key) ?? !many },
        element("summary", {}, ports === 1 ? "1 control" : `${ports} controls`), search, body);
    details && details.addEventListener("toggle", () => opened.set(key, details.open));
    const node = element("article", { className: stage.failed ? "card failed" : "card",
        "data-stage": number, "aria-label": `Stage ${number}: ${stage.name}` },
    element("header", {}, ...makeHead(stage, number, length)),
    details, ends);
    return { node, controls };
}

/* What cards are made of, without the values that they show. */
const structure = stages => stages?.map(({ controls, eq, taps, text, ...rest }) =>
    ({ ...rest, text: eq ? "" : text.split(",")[0], taps: eq ? 0 : taps,
        controls: controls.map(({ value, ...about }) => about) }));

function showStages(chain) {
    if (held) {
        waiting = chain;
        return;
    }
    const { stages } = chain;
    remake("stages", structure(stages) ?? null, () => {
        const { activeElement } = document, { id, dataset } = activeElement;
        const within = $("stages").contains(activeElement);
        cards = (stages ?? []).map(makeCard);
        $("stages").replaceChildren(...cards.map(({ node }) => node));
        if (within) ($(id) ?? document.querySelector(`#stages [data-do="${dataset.do}"][data-n="${
            clamp(Number(dataset.to) || Number(dataset.n), 1, cards.length)}"]`))?.focus();
    });
    set($("stages-hidden"), "hidden", stages !== null);
    set($("add"), "hidden", stages === null);
    for (const [i, { controls }] of cards.entries())
        for (const [j, one] of controls.entries()) {
            const { value } = stages[i].controls[j];
            if (one.shown !== value && !isMine(one.key)) one.show(one.shown = value);
        }
    offer($("add-at"), [[1, "at the start"], ...(stages ?? []).map(({ name }, i) =>
        [i + 2, `after ${i + 1} ${short(name)}`])]);
    if (chain.offers !== listed) showOffers();
}

$("stages").addEventListener("pointerdown", ({ target }) => {
    held = !target.matches("select, option"); /* A list may swallow the end. */
});
for (const type of ["pointerup", "pointercancel"])
    addEventListener(type, () => setTimeout(() => { /* A click comes after the pointer is up. */
        held = false;
        const chain = waiting;
        waiting = null;
        if (chain) showStages(chain);
    }));

Object.assign(actions, {
    "stage/move": ({ dataset: { n, to } }) => send("stage/move", [Number(n), Number(to)]),
    "stage/remove": ({ dataset: { n } }) => send("stage/remove", [Number(n)]),
    "stage/add"() {
        const { option, spec } = offers[$("add-offer").value] ?? {};
        if (spec) send("stage/add", [Number($("add-at").value), option, spec]);
        else report("Choose a mask or a plugin from the list first");
    },
});

/* ---- what can be added ---- */

let offers = []; /* { option, spec, label } */
let listed = null; /* what halo offers, as shown last */

function showOffers() {
    const { masks = [], plugins = [] } = state.chain.offers ?? {}, before = $("add-offer").value;
    listed = state.chain.offers;
    offers = [...masks.map(({ text, name }) => ({ option: "mask", spec: text, name })), ...plugins]
        .map(({ option, spec, name }) => ({ option, spec, label: `${short(name)} (${option})` }));
    const words = $("add-search").value.toLowerCase().split(" ").filter(Boolean);
    $("add-offer").replaceChildren(...offers.flatMap(({ label, spec }, value) => {
        const text = `${label} ${spec}`.toLowerCase();
        return words.every(word => text.includes(word))
            ? element("option", { value, title: spec }, label) : [];
    }));
    $("add-offer").value = before;
    if ($("add-offer").selectedIndex < 0) $("add-offer").selectedIndex = 0;
}

$("add-search").addEventListener("input", showOffers);
$("add-search").addEventListener("keydown", event => {
    if (event.key === "Enter") actions["stage/add"]();
});

/* ---- keys ---- */

/* The controls that the keys reach, without the numbers beside sliders. */
const reached = () => [...document.querySelectorAll("#stages .setting > [data-do=control]")]
    .filter(node => node.id && !node.id.endsWith("-number") && node.checkVisibility());

function nextControl(by) {
    const list = reached(), at = list.indexOf(document.activeElement);
    list[at < 0 ? by > 0 ? 0 : list.length - 1 : (at + by + list.length) % list.length]?.focus();
}

/* Steps as in the terminal: the other state, the next label, or a fiftieth of the range. */
function stepControl(by) {
    const node = document.activeElement;
    if (!reached().includes(node)) return;
    if (node.type === "checkbox") return node.click();
    if (node.type === "range")
        node.value = Number(node.value) + by * (node.step === "1" ? 1 : (node.max - node.min) / 50);
    else node.selectedIndex = clamp(node.selectedIndex + by, 0, node.options.length - 1);
    node.dispatchEvent(new Event(node.type === "range" ? "input" : "change"));
}

function toggleBypass() {
    const card = document.activeElement.closest(".card") ?? $("stages");
    const controls = state.chain?.stages?.flatMap(({ controls }, i) =>
        controls.map((control, j) => ({ control, id: `control-${i + 1}-${j}` }))) ?? [];
    const one = controls.find(({ control, id }) => control.kind === "bypass"
        && card.contains($(id)));
    if (one) $(one.id).click();
}
