/* The page of `halo live --web`: its session, its commands, and the panels with plain controls.
 *
 * levels.js and draw.js draw the canvases, stages.js makes the cards of the chain, and equaliser.js
 * edits bands.
 * Controls show what halo reports, so that all pages agree. Names are only set as text. */
"use strict";

/* ---- small helpers ---- */

const $ = id => document.getElementById(id);
const plain = (value, digits) => (Number(value.toFixed(digits)) || 0).toFixed(digits); /* no -0 */
const signed = db => `${db < 0 ? "" : "+"}${plain(db, 1)} dB`;
const percent = share => share === null ? "hidden" : `${(100 * share).toFixed(0)} %`;

/* A long name, without its middle: the end often tells names apart. The whole is the title. */
const short = name => name.length > 48 ? `${name.slice(0, 28)} … ${name.slice(-16)}` : name;

/* Strings are never read as HTML. */
function element(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties))
        if (name in node) node[name] = value;
        else node.setAttribute(name, value);
    node.append(...children.filter(child => child || child === 0));
    return node;
}

const button = (label, action, properties = {}) =>
    element("button", { type: "button", "data-do": action, ...properties }, label);

/* These change the page only if something is new. */
function put(node, text) {
    if (node.shown !== text) node.textContent = node.shown = text;
}
function set(node, name, value) {
    if (node[name] !== value) node[name] = value;
}
function press(node, pressed) {
    if (node.pressed !== pressed) node.setAttribute("aria-pressed", node.pressed = pressed);
}

const made = {}; /* what each part was made from, as JSON */
function remake(part, from, make) {
    const text = JSON.stringify(from);
    if (made[part] === text) return false;
    made[part] = text;
    make(from);
    return true;
}

/* Replaces the options of a select, each [value, label]. Keeps what is selected if it remains. */
function offer(select, options) {
    const before = select.value;
    remake(select.id, options, () => {
        select.replaceChildren(...options.map(([value, label]) => element("option",
            { value }, label)));
        if (options.some(([value]) => String(value) === before)) select.value = before;
    });
}

/* ---- messages for the user ---- */

let lastReport = {};
function report(text, warning = true) {
    const now = performance.now();
    if (!text || text === lastReport.text && now < lastReport.at + 2000) return;
    lastReport = { text, at: now };
    const line = element("p", { className: warning ? "warning" : "" }, text);
    $("messages").append(line);
    while ($("messages").children.length > 4) $("messages").firstChild.remove();
    setTimeout(() => line.remove(), 12000);
}

/* ---- the connection ---- */

const NOT_CONNECTED = "Not connected: halo does not answer. This page tries again.";
const NO_SESSION = "halo does not know this page. Open the link that halo prints.";
const TOO_MANY = "Too many wrong links were tried. Wait a minute, then open the link again.";
const RETRY = [500, 3000]; /* ms until the page tries to connect again: at first, at most */
const SILENCE = 4000; /* ms without a message until the connection counts as lost */

const state = { status: null, chain: null, outages: [] };
let socket = null, connected = false, retry = RETRY[0], timer = 0, heard = 0, focused = null;

function show(trouble) {
    connected = !trouble;
    put($("banner"), trouble);
    set($("banner"), "hidden", connected);
    if (!connected && !$("all").disabled) focused = document.activeElement;
    set($("all"), "disabled", !connected);
    if (connected && document.activeElement === document.body) focused?.focus();
    document.title = connected ? "halo live" : "halo live (not connected)";
}

function later(trouble) {
    show(trouble);
    asked.clear();
    lines.clear();
    responses.restart();
    clearTimeout(timer);
    timer = setTimeout(connect, retry);
    retry = Math.min(retry * 1.5, RETRY[1]);
}

/* Exchanges the token of the link for a cookie. Returns what is wrong, or "". */
async function openSession(token) {
    const reply = await fetch("session", { method: "POST", body: JSON.stringify({ token }),
        headers: { "Content-Type": "application/json" } }).catch(() => null);
    if (!reply) return NOT_CONNECTED;
    if (reply.status === 429) return TOO_MANY;
    history.replaceState(null, "", location.pathname);
    return reply.ok ? "" : NO_SESSION;
}

async function connect() {
    const token = location.hash.slice(1), trouble = token ? await openSession(token) : "";
    if (trouble === TOO_MANY) return show(trouble); /* Another try would count as well. */
    if (trouble) return later(trouble);
    const mine = socket = new WebSocket(new URL("live", location.href.replace(/^http/, "ws")));
    let opened = false;
    socket.onopen = () => {
        opened = true;
        retry = RETRY[0];
        heard = performance.now();
        show("");
    };
    socket.onmessage = ({ data }) => {
        heard = performance.now();
        receive(data);
    };
    socket.onclose = async ({ code }) => {
        if (mine !== socket) return;
        if (code === 1008) report("halo closed the connection: too many messages at once");
        const reply = !opened && await fetch("live").catch(() => null); /* tells why */
        later(reply?.status === 403 ? NO_SESSION : NOT_CONNECTED);
    };
}

/* A connection may end without a word, as when a phone sleeps. */
setInterval(() => {
    if (!connected || document.hidden || performance.now() < heard + SILENCE) return;
    drop();
    later(NOT_CONNECTED);
}, 1000);

/* Gives up the connection without a word from it. */
function drop() {
    const old = socket;
    socket = null;
    old?.close();
    show(NOT_CONNECTED);
}

/* ---- commands ---- */

const asked = new Map(); /* id: what takes the answer's error, which is null if it went well */
let lastId = 0;

function send(name, args = [], answered = report) {
    if (!connected) return false;
    asked.set(++lastId, answered);
    socket.send(JSON.stringify({ id: lastId, do: name, with: args }));
    return true;
}

const lines = new Map(); /* key: { busy, next } */
const touched = new Map(); /* key: when the user changed it last */
const MINE = 400; /* ms for which a value stays the user's: halo's last message may be older */

/* Sends only the newest values of `key`: the next message waits for the answer to the last. */
function steady(key, name, args) {
    if (!lines.has(key)) lines.set(key, { busy: false, next: null });
    const line = lines.get(key);
    line.next = [name, args];
    touched.set(key, performance.now());
    if (!line.busy) advance(key);
}

function advance(key) {
    const line = lines.get(key), { next } = line;
    line.next = null;
    line.busy = next !== null && send(...next, error => {
        report(error);
        if (error) touched.delete(key);
        advance(key);
    });
    if (!line.busy) setTimeout(() => state.chain && showSoon("chain"), touched.has(key) ? MINE : 0);
}

/* Whether the user is changing this value. Then the page shows the user's value, not halo's. */
const isMine = key => lines.get(key)?.busy
    || performance.now() < (touched.get(key) ?? -MINE) + MINE;

/* ---- messages from halo ---- */

const handlers = {
    status(message) {
        state.status = message;
        countSecond(message);
        showStatus(message);
    },
    offers(message) {
        state.offers = message;
        if (state.chain) handlers.chain(state.chain);
    },
    chain(message) {
        state.chain = message;
        message.offers = state.offers;
        responses.forget();
        showSoon("chain");
    },
    outages({ list }) {
        state.outages = list;
        showSoon("outages");
    },
    curves(message) {
        asked.delete(message.id);
        responses.arrived(message);
    },
    answer({ id, error }) {
        asked.get(id)?.(error);
        asked.delete(id);
    },
    message: ({ text, warning }) => report(text, warning),
};

/* Shows what is new at the next frame. Hidden pages have no frames, so they cost little. */
const fresh = new Set();
let statusText = ""; /* the last status, not parsed yet: not every status is shown */

function showSoon(part) {
    fresh.add(part);
    atFrame();
}

/* Most messages are levels: they are drawn by their own thread, and not read here. */
function receive(text) {
    if (text.startsWith('{"event":"status"')) {
        tellLevel("status", text);
        statusText = text;
        return atPace();
    }
    if (text.startsWith('{"event":"spectrum"')) return tellLevel("spectrum", text);
    const message = JSON.parse(text);
    return handlers[message.event]?.(message);
}

function showFresh() {
    if (fresh.delete("chain")) showChain(state.chain);
    if (fresh.delete("outages")) showOutages(state.outages);
    if (statusText) handlers.status(JSON.parse(statusText));
    statusText = "";
}

/* ---- the status ---- */

function showFormat({ rate, block, seconds }) {
    const whole = Math.floor(seconds), two = number => String(Math.floor(number)).padStart(2, "0");
    const clock = [whole / 3600, whole / 60 % 60, whole % 60].map(two).join(":");
    const ms = (1e3 * block / rate).toFixed(2);
    put($("format"), `${rate} Hz  ${block} frames (${ms} ms)  ${clock}`);
}

function showDelay(status) {
    const parts = ["input", "mask", "plugins", "output", "adapter", "bridge"]
        .filter(part => part.length < 7 && part !== "bridge" || status[`latency_${part}`])
        .map(part => `${part} ${status[`latency_${part}`]}`);
    put($("delay"), `${(1e3 * status.latency / status.rate).toFixed(1)} ms, `
        + `${status.latency} frames: ${parts.join(", ")}`);
}

function showHealth(status) {
    const { load_now: now, load_p99: p99, load_worst: worst, late, lost, ratio_ppm: ppm } = status;
    showDelay(status);
    put($("load"), now === null ? "hidden"
        : `now ${percent(now)}, p99 ${percent(p99)}, worst ${percent(worst)}`);
    put($("blocks"), late === null ? "hidden" : `late ${late}, lost ${lost}`);
    put($("backend"), status.backend ? `on ${status.backend}` : "");
    set($("blocks"), "className", late + lost > 0 ? "bad" : "");
    put($("clocks"), ppm === null ? "one"
        : `two, input ${ppm < 0 ? "" : "+"}${ppm.toFixed(1)} ppm`);
    for (const id of ["recording-title", "recording"]) set($(id), "hidden", !status.recording);
    if (status.recording)
        put($("recording"), `${status.recorded.toFixed(0)} s, ${status.recording}`);
}

const levels = {}; /* gain and ceiling, as controls of stages.js */
function makeLevels([least, most]) {
    const make = (id, name, about) => levels[id] = makeControl({ symbol: id, name, unit: "dB",
        default: 0, digits: 1, ...about }, id, value => steady(id, id, [value]));
    make("gain", "Gain", { least, most });
    make("ceiling", "Ceiling", { least: -60, most: 0 });
    $("levels").replaceChildren(levels.gain.node, levels.ceiling.node);
}

function showLevel(id, value) {
    if (levels[id] && Number.isFinite(value) && !isMine(id)) levels[id].show(value);
}

let lastMask = 1; /* for the key that ends dry */
const maskRows = () => [...$("masks").children].filter(({ radio }) => radio);

function showChoice({ chosen, switching }) {
    if (isMine("choose")) return;
    lastMask = chosen || lastMask;
    for (const row of maskRows()) {
        const is = row.number === chosen;
        set(row.radio, "checked", is);
        if (row.coming !== (is && switching))
            row.classList.toggle("coming", row.coming = is && switching);
    }
}

/* Numbers that change all the time: nobody reads more than two in a second. */
let figuresShown = 0;
function showFigures(status) {
    if (performance.now() < figuresShown + 480) return;
    figuresShown = performance.now();
    showFormat(status);
    showHealth(status);
    put($("limiter"), status.reduction_db === null ? "hidden"
        : `${plain(Math.min(status.reduction_db, 0), 1)} dB`);
}

function showStatus(status) {
    put($("device"), status.device ?? "no device");
    set($("device"), "title", status.device ?? "");
    showFigures(status);
    showLevel("gain", status.gain_db);
    showLevel("ceiling", status.ceiling_db);
    if (!isMine("mute")) press($("mute"), status.muted);
    put($("alarm"), status.howled ? "FEEDBACK: MUTED" : status.muted ? "MUTED" : "");
    set($("alarm"), "hidden", !$("alarm").shown);
    put($("preset"), [status.preset, status.coming_preset && `→ ${status.coming_preset} …`]
        .filter(Boolean).join(" "));
    showChoice(status);
    responses.chosen(status.chosen);
    showMeters(status);
}

/* ---- masks, presets, and the blind comparison ---- */

function maskRow(name, number) {
    const radio = element("input", { type: "radio", name: "mask", value: number,
        "data-do": "choose", "data-n": number });
    const label = element("label", { title: name }, radio,
        element("kbd", { "aria-hidden": "true" }, number), element("span", {}, short(name)));
    const row = Object.assign(element("div", { className: "mask" }, label), { number, radio });
    if (number) row.append(button("curve", "trace", { "data-n": number, "aria-pressed": false,
        "aria-label": `Show the response of mask ${number}`, className: "eye" }));
    return row;
}

function showMasks(names) {
    $("masks").replaceChildren(...names
        ? ["dry", ...names].map(maskRow) : [element("p", { className: "soft" }, "hidden")]);
    if (state.status) showChoice(state.status);
    responses.mark();
}

function showBlind(blind) {
    set($("blind-rest"), "hidden", Boolean(blind));
    set($("blind-run"), "hidden", !blind);
    const gain = blind?.gain_db ?? null;
    put($("blind-text"), !blind ? "Compares the last two states, matched in loudness."
        : !blind.ready ? "The two versions are being prepared …"
        : gain === null ? "Two versions, matched in loudness."
        : `Two versions, matched by ${signed(gain)}.`);
    for (const node of document.querySelectorAll("#blind-run button")) {
        if (node.dataset.do !== "blind/end") set(node, "disabled", !blind?.ready);
        if (node.dataset.do === "blind/hear") press(node, Number(node.dataset.n) === blind?.heard);
    }
}

function showChain(chain) {
    const names = chain.choices, masks = chain.offers?.masks ?? [];
    remake("masks", names, showMasks);
    const numbered = (names ?? []).map((name, i) => [i + 1, `${i + 1} ${short(name)}`]);
    offer($("replace-choice"), numbered);
    offer($("replace-offer"), masks.map(({ text, name }) => [text, short(name)]));
    set($("replace"), "hidden", !names?.length);
    offer($("presets"), (chain.presets ?? []).map(name => [name, short(name)]));
    for (const id of ["input", "output"])
        offer($(id), Array.from({ length: chain[`${id}s`] }, (_, i) => [i + 1, i + 1]));
    offer($("other"), [["", "–"], [0, "0 dry"], ...numbered]);
    set(document.querySelector("[data-do=undo]"), "disabled", !chain.can_undo);
    remake("levels", [chain.gain_least, chain.gain_most], makeLevels);
    showBlind(chain.blind);
    showStages(chain);
    equaliser.show(chain);
    responses.ask();
}

/* ---- what the controls do ---- */

function stepGain(by) {
    $("gain").value = Math.round(10 * (Number($("gain").value) + by)) / 10;
    $("gain").dispatchEvent(new Event("input"));
}

function choose(number) {
    const row = maskRows().find(one => one.number === number);
    if (!row) return;
    row.radio.checked = true;
    lastMask = number || lastMask;
    steady("choose", "choose", [number]);
}

/* Actions of buttons by data-do. Any other name is a command of halo. */
const actions = {
    quit: () => confirm("Stop halo live? The sound ends.") && send("quit"),
    mute() {
        press($("mute"), !$("mute").pressed);
        steady("mute", "mute", [$("mute").pressed ? 1 : 0]);
    },
    load: () => $("replace-offer").value
        && send("load", [Number($("replace-choice").value), $("replace-offer").value]),
    preset: () => $("presets").value && send("preset", [$("presets").value]),
    "preset/for-device": () => $("presets").value
        && send("preset/for-device", [$("presets").value], error =>
            report(error ?? `${$("presets").value} is used for this device`, Boolean(error))),
    "preset/save"() {
        const name = $("preset-name").value.trim();
        if (name) send("preset/save", [name], error =>
            report(error ?? `preset ${name} is saved`, Boolean(error)));
    },
    "blind/hear": node => send("blind/hear", [Number(node.dataset.n)]),
    "blind/keep": node => send("blind/keep", [Number(node.dataset.n)]),
    clips: node => resetClips(node.dataset.side),
    view: node => responses.view(node.dataset.view),
    trace: node => responses.toggle(Number(node.dataset.n)),
};

document.addEventListener("click", event => {
    const node = event.target.closest("button[data-do]");
    if (!node) return;
    event.preventDefault();
    const { do: name } = node.dataset;
    if (actions[name]) actions[name](node);
    else send(name);
});

$("save").addEventListener("submit", event => event.preventDefault());
$("masks").addEventListener("change", ({ target }) => choose(Number(target.value)));

/* ---- keys, as in the terminal ---- */

const keys = {
    " ": () => choose(maskRows().some(row => row.number && row.radio.checked) ? 0 : lastMask),
    "[": () => stepGain(-1), "<": () => stepGain(-1),
    "]": () => stepGain(1), ">": () => stepGain(1),
    m: actions.mute, u: () => send("undo"), r: () => send("reload"),
    p: () => send("preset/next"), P: () => send("preset/previous"),
    s: () => $("preset-name").focus(),
    c: () => nextControl(1), C: () => nextControl(-1),
    "+": () => stepControl(1), "=": () => stepControl(1), "-": () => stepControl(-1),
    b: () => toggleBypass(),
    e: () => equaliser.focus(),
};

document.addEventListener("keydown", event => {
    const { target, key } = event;
    const types = target.matches("select, input:not([type=range], [type=radio], [type=checkbox])");
    if (types && key === "Escape") target.blur();
    const modified = (event.ctrlKey || event.altKey || event.metaKey)
        && !event.getModifierState("AltGraph"); /* AltGr types [ ] on many keyboards. */
    if (types || modified || event.defaultPrevented) return;
    /* A button or box that has the focus takes the space key itself. */
    if (key === " " && target.matches("button, summary, [type=checkbox]")) return;
    if (/^[0-9]$/.test(key) && !state.chain?.blind) choose(Number(key));
    else if (/^[12]$/.test(key)) send("blind/hear", [Number(key)]);
    else if (keys[key]) keys[key]();
    else return;
    event.preventDefault();
});

addEventListener("hashchange", () => { /* a new link in the same tab */
    if (!location.hash) return;
    clearTimeout(timer);
    drop();
    connect();
});
document.addEventListener("DOMContentLoaded", () => {
    beginDrawing();
    show("Connecting to halo …");
    connect();
});
