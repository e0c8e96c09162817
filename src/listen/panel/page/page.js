/* The page of a listening test: its screens, its sound, and its answers.
 *
 * test.js and data/NN.js call halo_test() and halo_sound(). The page knows sounds by random names
 * only. It draws all orders itself before the first trial. */
"use strict";

const WORDS = {
    en: {
        language: "Language", name: "Your name", start: "Start", next: "Next", goOn: "Go on",
        volume: "Set a comfortable volume with the first sound. Then leave it unchanged.",
        kept: n => `Your answers to ${n} trials are kept here. The test goes on after them.`,
        anew: "Start again", anewSure: "Delete the answers so far and start again?",
        training: (n, of) => `Training ${n} of ${of}`, trial: (n, of) => `Trial ${n} of ${of}`,
        trained: of => `The training is over. The test has ${of} trials.`,
        mushra: "Rate each sound against the reference. One of the sounds is the reference itself. "
            + "You can rate a sound while it is chosen.",
        bs1116: "One of A and B is the reference itself: leave it at 5.0. Rate the other one. "
            + "You can rate a sound while it is chosen.",
        preference: "Which of the two sounds do you prefer?", abx: "Is X the same as A or as B?",
        reference: "Reference", play: "Play", pause: "Pause", from: "Begin here", to: "End here",
        whole: "Whole sound", short: "This part is too short.",
        restart: "Start from the beginning at each switch",
        unrated: "not rated", remark: "Remarks", loading: "The sound is loading ...",
        missing: file => `${file} is missing or damaged. Check the connection and the folder.`,
        retry: "Try again",
        hear: names => `Please listen first to: ${names}.`, rate: names => `Please rate: ${names}.`,
        five: "One of the sounds is the reference: please leave at least one at 5.0.",
        choose: "Please choose an answer.",
        better: name => `${name} is better`, neither: "No difference", is: name => `X is ${name}`,
        mushraKeys: "Keys 1 … 9, 0: rate 10 … 90, 100. Arrows: adjust the rating.",
        bs1116Keys: "Keys 1 … 5: rate 1.0 … 5.0. Arrows: adjust the rating.",
        stop: "Stop the test", stopSure: "Stop the test here? Your answers so far are kept.",
        questions: "Questions", thanks: "Thank you", save: "Download the answers",
        saved: "Your answers are saved. You can close this page.",
        unsaved: why => `Your answers are not saved yet: ${why}`,
        offline: "the server does not answer.",
        give: "Please download your answers and give the file to the experimenter.",
        bands: ["bad", "poor", "fair", "good", "excellent"],
        grades: ["very annoying", "annoying", "slightly annoying", "perceptible but not annoying",
            "imperceptible"],
    },
    de: {
        language: "Sprache", name: "Ihr Name", start: "Beginnen", next: "Weiter",
        goOn: "Fortsetzen",
        volume: "Stellen Sie beim ersten Klang eine angenehme Lautstärke ein. Lassen Sie sie dann "
            + "unverändert.",
        kept: n => `Ihre Antworten zu ${n} Durchgängen sind noch da. Der Test geht danach weiter.`,
        anew: "Neu beginnen", anewSure: "Die bisherigen Antworten löschen und neu beginnen?",
        training: (n, of) => `Übung ${n} von ${of}`, trial: (n, of) => `Durchgang ${n} von ${of}`,
        trained: of => `Die Übung ist zu Ende. Der Test hat ${of} Durchgänge.`,
        mushra: "Bewerten Sie jeden Klang im Vergleich mit der Referenz. Einer der Klänge ist die "
            + "Referenz selbst. Sie können einen Klang bewerten, solange er gewählt ist.",
        bs1116: "A oder B ist die Referenz selbst: Lassen Sie diesen Klang bei 5,0. Bewerten Sie "
            + "den anderen. Sie können einen Klang bewerten, solange er gewählt ist.",
        preference: "Welchen der beiden Klänge ziehen Sie vor?",
        abx: "Ist X dasselbe wie A oder wie B?",
        reference: "Referenz", play: "Abspielen", pause: "Pause", from: "Hier beginnen",
        to: "Hier enden", whole: "Ganzer Klang", short: "Dieser Ausschnitt ist zu kurz.",
        restart: "Bei jedem Umschalten von vorn beginnen",
        unrated: "nicht bewertet", remark: "Bemerkungen", loading: "Der Klang wird geladen ...",
        missing: file => `${file} fehlt oder ist beschädigt. Prüfen Sie Verbindung und Ordner.`,
        retry: "Noch einmal versuchen",
        hear: names => `Bitte hören Sie zuerst: ${names}.`,
        rate: names => `Bitte bewerten Sie: ${names}.`,
        five: "Einer der Klänge ist die Referenz: Bitte lassen Sie mindestens einen bei 5,0.",
        choose: "Bitte wählen Sie eine Antwort.",
        better: name => `${name} ist besser`, neither: "Kein Unterschied",
        is: name => `X ist ${name}`,
        mushraKeys: "Tasten 1 … 9, 0: 10 … 90, 100. Pfeile: Bewertung verschieben.",
        bs1116Keys: "Tasten 1 … 5: 1,0 … 5,0. Pfeile: Bewertung verschieben.",
        stop: "Abbrechen", stopSure: "Den Test abbrechen? Die Antworten bis hier bleiben erhalten.",
        questions: "Fragen", thanks: "Vielen Dank", save: "Antworten herunterladen",
        saved: "Ihre Antworten sind gespeichert. Sie können diese Seite schließen.",
        unsaved: why => `Ihre Antworten sind noch nicht gespeichert: ${why}`,
        offline: "Der Server antwortet nicht.",
        give: "Bitte laden Sie die Antworten herunter und geben Sie die Datei der Versuchsleitung.",
        bands: ["schlecht", "dürftig", "ordentlich", "gut", "ausgezeichnet"],
        grades: ["sehr störend", "störend", "etwas störend", "hörbar, aber nicht störend",
            "nicht hörbar"],
    },
};

const FADE = 0.01, PAUSE = 0.02; /* A switch fades and pauses for these seconds. */
const PART_LEAST = 0.1; /* shortest part of a sound that can be repeated, in seconds */

let test, context;
let language = navigator.language.slice(0, 2);
let state = null; /* A reload needs this. It is null before the start and after the end. */
let link = { name: "", token: "" };
let restart = false; /* each switch starts from the beginning */
let keyPressed = null; /* The screen handles keys with this. */

/* ---- small helpers ---- */

function say(word, ...rest) {
    const found = (WORDS[language] || WORDS.en)[word];
    return typeof found === "function" ? found(...rest) : found;
}

/* A text of the test, in the listener's language. */
const text = (one, tongue = language) => typeof one === "string" ? one
    : one[tongue] ?? one.en ?? Object.values(one)[0];

const number = (value, digits) => value.toLocaleString(language,
    { minimumFractionDigits: digits, maximumFractionDigits: digits });
const letter = i => String.fromCharCode(65 + i);
const trialOf = ({ trial }) => test.trials.find(({ id }) => id === trial);

/* Strings are never read as HTML. */
function element(tag, properties, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties))
        if (name in node) node[name] = value;
        else node.setAttribute(name, value);
    node.append(...children.filter(Boolean));
    return node;
}

const paragraph = (content, className = "") => element("p", { className }, content);
const hint = key => element("kbd", { "aria-hidden": "true" }, key);

/* A click does not keep the focus, so that the keys belong to the page again. */
function button(label, key, pressed, properties = {}) {
    const node = element("button", { type: "button", ...properties }, label, key && hint(key));
    node.addEventListener("click", event => {
        if (event.detail) node.blur();
        pressed();
    });
    return node;
}

function show(heading, ...children) {
    const title = element("h1", { tabIndex: -1 }, heading);
    keyPressed = null;
    document.querySelector("main").replaceChildren(title, ...children.filter(Boolean));
    window.scrollTo(0, 0);
    title.focus();
    return title;
}

function random(below) {
    const word = new Uint32Array(1), end = 2 ** 32 - 2 ** 32 % below;
    do crypto.getRandomValues(word); while (word[0] >= end); /* Otherwise low numbers would be more likely. */
    return word[0] % below;
}

function shuffled(list) {
    const result = [...list];
    for (let i = result.length - 1; i > 0; i--) {
        const j = random(i + 1);
        [result[i], result[j]] = [result[j], result[i]];
    }
    return result;
}

/* ---- state ---- */

/* Reads a value, removes it (null), or stores it. Returns null if there is none. A browser may
 * refuse to store anything. Then only a reload loses the answers. */
function stored(storage, key, value) {
    try {
        if (value === undefined) return JSON.parse(window[storage].getItem(key));
        if (value) window[storage].setItem(key, JSON.stringify(value));
        else window[storage].removeItem(key);
    } catch { /* see above */ }
    return null;
}

const stateKey = () => `halo ${test.commitment} ${link.name}`;
const save = () => stored("localStorage", stateKey(), state);
const forget = () => { state = stored("localStorage", stateKey(), null); };

function readLink() {
    const key = `halo ${test.commitment} link`, given = new URLSearchParams(location.hash.slice(1));
    if (!location.hash) {
        link = stored("sessionStorage", key) || link;
        return;
    }
    link = { name: given.get("listener") || "", token: given.get("token") || "" };
    stored("sessionStorage", key, link);
    history.replaceState(null, "", location.pathname + location.search);
}

/* The order in which a trial shows its hidden sounds. */
function drawShown(trial, turned) {
    if (test.kind === "abx") return [trial.hidden[random(2)]];
    if (test.kind !== "preference") return shuffled(trial.hidden);
    const pair = `${trial.sound} ${trial.pair}`;
    turned[pair] ??= random(2);
    return (turned[pair] + trial.round) % 2 ? [...trial.hidden].reverse() : trial.hidden;
}

function begin(listener, before) {
    const turned = {}, id = Array.from({ length: 32 }, () => random(16).toString(16)).join("");
    const ordered = [true, false].flatMap(
        training => shuffled(test.trials.filter(trial => trial.training === training)));
    state = {
        plan: ordered.map(trial => ({ trial: trial.id, shown: drawShown(trial, turned) })),
        answers: {
            halo: "answers", kind: test.kind, commitment: test.commitment, id, listener, language,
            began: new Date().toISOString(), ended: null, complete: false,
            agent: navigator.userAgent, rate: context.sampleRate, before, after: {}, trials: [],
        },
    };
    save();
    go();
}

function finish(complete, after) {
    Object.assign(state.answers, { complete, after, ended: new Date().toISOString() });
    sounds.clear();
    save();
    go();
}

/* ---- sounds ---- */

const sounds = new Map(); /* index: promise of {slot: AudioBuffer} */
const arrived = {}; /* index: what halo_sound() was called with */

async function loadScript(file) {
    const node = element("script", { src: file });
    const loaded = new Promise((resolve, reject) => {
        node.onload = resolve;
        node.onerror = () => reject(new Error(say("missing", file)));
    });
    document.head.append(node);
    await loaded.finally(() => node.remove());
}

function decode({ mask, data }, { frames, file }) {
    const bytes = Uint8Array.from(atob(data), byte => byte.charCodeAt(0)), { channels } = test;
    if (bytes.length !== frames * channels * 3) throw new Error(say("missing", file));
    for (let i = 0, word = mask; i < bytes.length; i++) {
        if (i % 4 === 0) {
            word ^= word << 13;
            word ^= word >>> 17;
            word ^= word << 5;
        }
        bytes[i] ^= word >>> i % 4 * 8;
    }
    const buffer = new AudioBuffer(
        { length: frames, numberOfChannels: channels, sampleRate: test.rate });
    for (let channel = 0; channel < channels; channel++) {
        const samples = buffer.getChannelData(channel);
        for (let i = 0, at = 3 * channel; i < frames; i++, at += 3 * channels)
            samples[i] = (bytes[at] << 8 | bytes[at + 1] << 16 | bytes[at + 2] << 24) / 2 ** 31;
    }
    return buffer;
}

async function loadSound(index) {
    const about = test.sounds[index], buffers = [];
    await loadScript(about.file);
    const { slots, pcm } = arrived[index] || { slots: {}, pcm: [{ data: "" }] };
    delete arrived[index];
    for (const one of pcm) {
        await new Promise(resolve => setTimeout(resolve)); /* the page answers in between */
        buffers.push(decode(one, about));
    }
    return Object.fromEntries(Object.entries(slots).map(([slot, at]) => [slot, buffers[at]]));
}

/* Loads the sound of a trial, then that of the next trial. Frees the others. */
async function sound(at) {
    const wanted = state.plan.slice(at, at + 2).map(trial => trialOf(trial).sound);
    for (const index of [...sounds.keys()])
        if (!wanted.includes(index)) sounds.delete(index);
    const load = index => {
        if (!sounds.has(index)) sounds.set(index, loadSound(index));
        return sounds.get(index).catch(error => {
            sounds.delete(index); /* the next try loads it again */
            throw error;
        });
    };
    const buffers = await load(wanted[0]);
    if (wanted.length > 1) load(wanted[1]).catch(() => {});
    return buffers;
}

/* Only a click or a key may start the sound. */
function openSound() {
    try {
        context ??= new AudioContext({ sampleRate: test.rate });
    } catch {
        context = new AudioContext(); /* the browser resamples */
    }
    const { destination } = context;
    if (test.channels > 2)
        destination.channelCount = Math.min(test.channels, destination.maxChannelCount);
    context.resume();
}

/* Plays the sounds of a trial in step. One of them is heard. Each switch has the same form, also
 * from a sound to itself: 10 ms fade out, 20 ms pause, 10 ms fade in. */
class Player {
    constructor(buffers) {
        this.buffers = buffers;
        this.length = buffers[0].duration;
        this.part = [0, this.length];
        this.at = 0; /* position at the time `began`, or where it stands */
        this.began = 0;
        this.free = 0; /* time at which the last switch is complete */
        this.chosen = -1;
        this.nodes = null; /* while it plays */
    }

    position(time = context.currentTime) {
        const [from, to] = this.part;
        const at = this.at + (this.nodes ? Math.max(0, time - this.began) : 0);
        return at < to ? at : from + (at - from) % (to - from);
    }

    /* Time of the first sample at which a switch can begin. */
    soon() {
        const ready = context.currentTime + 0.01 + (context.baseLatency || 0.02);
        return Math.ceil(Math.max(ready, this.free) * context.sampleRate) / context.sampleRate;
    }

    fade(from, to, time) {
        const { gain } = this.nodes[this.chosen].gain;
        gain.setValueAtTime(from, time);
        gain.linearRampToValueAtTime(to, time + FADE);
        this.free = time + FADE;
    }

    start(time) {
        const offset = Math.round(this.at * test.rate) / test.rate;
        const [loopStart, loopEnd] = this.part;
        this.nodes = this.buffers.map(buffer => {
            const gain = new GainNode(context, { gain: 0 });
            const source = new AudioBufferSourceNode(context,
                { buffer, loop: true, loopStart, loopEnd });
            source.connect(gain).connect(context.destination);
            source.start(time, offset);
            return { source, gain };
        });
        this.began = time;
        this.fade(0, 1, time);
    }

    /* Returns the time at which the next sound can begin. */
    stop() {
        const time = this.soon();
        if (!this.nodes) return time;
        this.fade(1, 0, time);
        for (const { source } of this.nodes) source.stop(time + FADE);
        this.at = this.position(time);
        this.nodes = null;
        return this.free = time + FADE + PAUSE;
    }

    choose(slot) {
        context.resume();
        const time = this.nodes && !restart ? this.soon() : this.stop();
        if (this.nodes) this.fade(1, 0, time);
        else if (restart) [this.at] = this.part;
        this.chosen = slot;
        if (this.nodes) this.fade(0, 1, time + FADE + PAUSE);
        else this.start(time);
    }

    seek(at) {
        const time = this.nodes && this.stop();
        this.at = Math.min(Math.max(at, this.part[0]), this.part[1]);
        if (time !== null) this.start(time);
    }

    /* Repeats a part only. Returns false if it is too short. */
    repeat(from, to) {
        const at = this.position();
        if (to - from < PART_LEAST) return false;
        this.part = [from, to].map(time => Math.round(time * test.rate) / test.rate);
        this.seek(at);
        return true;
    }
}

/* ---- screens ---- */

function go() {
    if (state?.answers.ended) return showEnd();
    if (!state || !context) return showStart();
    const done = state.answers.trials.length;
    if (done < state.plan.length) return showLoading(done);
    if (test.after.length === 0) return finish(true, {});
    show(say("questions"), form(test.after.map(question), say("next"),
        () => finish(true, answersOf(test.after))));
}

function form(fields, label, submitted) {
    const node = element("form", {}, ...fields, element("button", { className: "main" }, label));
    node.addEventListener("submit", event => {
        event.preventDefault();
        submitted();
    });
    return node;
}

const field = (label, id) => element("label", {}, label,
    element("input", { type: "text", id, required: true, autocomplete: "off" }));

function question({ ask, answers }, i) {
    const name = `question${i}`;
    if (!answers) return field(text(ask), name);
    return element("fieldset", {}, element("legend", {}, text(ask)), ...answers.map(answer =>
        element("label", {}, element("input", { type: "radio", name, required: true }),
            text(answer))));
}

/* An answer that was chosen from a list is given in the test's first language. */
function answersOf(questions) {
    return Object.fromEntries(questions.map(({ name, answers }, i) => {
        if (!answers) return [name, document.getElementById(`question${i}`).value.trim()];
        const radios = [...document.getElementsByName(`question${i}`)];
        return [name, text(answers[radios.findIndex(radio => radio.checked)], test.languages[0])];
    }));
}

function showStart() {
    document.documentElement.lang = language;
    document.title = text(test.title);
    if (state) {
        show(text(test.title), paragraph(say("kept", state.answers.trials.length)),
            paragraph(say("volume")), form([], say("goOn"), () => { openSound(); go(); }),
            paragraph(button(say("anew"), "", () => confirm(say("anewSure")) && (forget(), go()))));
        return;
    }
    const named = link.name || test.listener, fields = test.before.map(question);
    if (!named) fields.unshift(field(say("name"), "name"));
    const languages = element("select", {}, ...test.languages.map(one => element("option",
        { value: one, lang: one, selected: one === language },
        new Intl.DisplayNames(one, { type: "language" }).of(one))));
    languages.addEventListener("change", () => { language = languages.value; go(); });
    show(text(test.title),
        test.languages.length > 1 && element("label", {}, say("language"), " ", languages),
        test.instructions && paragraph(text(test.instructions), "long"), paragraph(say("volume")),
        form(fields, say("start"), () => {
            openSound();
            begin(named || document.getElementById("name").value.trim(), answersOf(test.before));
        }));
}

async function showLoading(at) {
    const { plan } = state, trial = trialOf(plan[at]);
    const trained = plan.filter(one => trialOf(one).training).length;
    const place = trial.training ? say("training", at + 1, trained)
        : say("trial", at + 1 - trained, plan.length - trained);
    show(place, element("p", { role: "status" }, say("loading")));
    try {
        const buffers = await sound(at);
        const ready = () => showTrial(place, trial, plan[at].shown, buffers);
        if (at === 0 || at !== trained) return ready();
        show(say("trained", plan.length - trained), form([], say("start"), ready));
    } catch (error) {
        show(place, element("p", { role: "alert" }, error.message), button(say("retry"), "", go));
    }
}

function showTrial(place, trial, shown, buffers) {
    const { kind } = test, slots = [...trial.open, ...shown], first = trial.open.length;
    const player = new Player(slots.map(slot => buffers[slot])), began = performance.now();
    const keys = kind === "abx" ? ["A", "B", "X"]
        : slots.map((_, i) => i < first ? "R" : letter(i - first));
    const names = keys.map(key => key === "R" ? say("reference") : key);
    const played = slots.map(() => 0), alert = element("p", { role: "alert" });
    const judge = kind === "abx" || kind === "preference" ? answerPart(kind === "abx")
        : ratingPart(kind === "bs1116", shown.length);

    const choose = slot => {
        player.choose(slot);
        played[slot]++;
        update();
    };
    const choices = names.map((name, i) =>
        button(name, name !== keys[i] && keys[i], () => choose(i)));
    const playing = button(say("play"), "␣", () => {
        if (!player.nodes) return choose(Math.max(player.chosen, 0));
        player.stop();
        update();
    });
    const repeat = (from, to) => {
        alert.textContent = player.repeat(from, to) ? "" : say("short");
    };
    const parts = {
        "[": button(say("from"), "[", () => repeat(player.position(), player.part[1])),
        "]": button(say("to"), "]", () => repeat(player.part[0], player.position())),
        "|": button(say("whole"), "|", () => repeat(0, player.length)),
    };
    const part = element("i", { className: "part" }), now = element("i", { className: "now" });
    const bar = element("div", { className: "time", "aria-hidden": "true" }, part, now);
    bar.addEventListener("click", event => {
        const { left, width } = bar.getBoundingClientRect();
        player.seek((event.clientX - left) / width * player.length);
    });
    const seconds = element("span", { className: "soft" });
    const again = element("input", { type: "checkbox", checked: restart });
    again.addEventListener("change", () => { restart = again.checked; });
    const remark = test.remarks && element("textarea", { rows: 2 });

    const missing = () => {
        const unheard = names.filter((_, i) => !played[i]);
        return unheard.length ? say("hear", unheard.join(", ")) : judge.missing();
    };
    const next = button(say("next"), "⏎", () => {
        alert.textContent = missing();
        if (missing()) return;
        player.stop();
        state.answers.trials.push({
            trial: trial.id, seconds: Math.round(performance.now() - began) / 1000, shown,
            ...judge.result(), played: played.slice(first),
            ...remark && { remark: remark.value.trim() },
        });
        save();
        go();
    }, { className: "main" });
    const stop = button(say("stop"), "", () => {
        if (!confirm(say("stopSure"))) return;
        player.stop();
        finish(false, {});
    });

    function update() {
        alert.textContent = "";
        choices.forEach((one, i) => one.setAttribute("aria-pressed", i === player.chosen));
        playing.firstChild.data = say(player.nodes ? "pause" : "play");
        judge.allow(player.chosen - first, played.every(Boolean));
        next.setAttribute("aria-disabled", missing() !== "");
    }

    function draw() {
        if (!bar.isConnected) return;
        const share = time => `${time / player.length * 100}%`, at = player.position();
        part.style.left = share(player.part[0]);
        part.style.right = share(player.length - player.part[1]);
        now.style.left = share(at);
        seconds.textContent = `${number(at, 1)} / ${number(player.length, 1)} s`;
        requestAnimationFrame(draw);
    }

    const header = element("header", {}), title = show(place, paragraph(say(kind)),
        element("div", { className: "panel" }, bar,
            element("div", { className: "bar" }, playing, ...Object.values(parts), seconds),
            element("label", { className: "tick" }, again, say("restart"))),
        ...judge.place(choices), alert,
        remark && element("label", {}, say("remark"), remark), paragraph(next),
        paragraph(say(`${kind}Keys`) || "", "soft keys"));
    title.replaceWith(header);
    header.append(title, stop);
    title.focus();
    judge.changed = update;
    keyPressed = key => {
        const pressed = { " ": playing, Enter: next, ...parts }[key]
            || choices[keys.indexOf(key.toUpperCase())];
        pressed?.click();
        return pressed || judge.key(key);
    };
    update();
    draw();
}

/* Sliders of MUSHRA, 0 to 100, and of BS.1116, tenths from 10 to 50 (`fine`). Only that of the
 * chosen sound can move. */
function ratingPart(fine, count) {
    const min = fine ? 10 : 0, max = fine ? 50 : 100, bands = say(fine ? "grades" : "bands");
    const ratings = Array(count).fill(fine ? max : null);
    const sliders = ratings.map((_, i) => element("input",
        { type: "range", min, max, value: fine ? max : 50, "aria-label": letter(i) }));
    const outputs = ratings.map(() => element("output", {}));
    let chosen = -1;
    const put = i => {
        const rating = ratings[i], band = Math.floor(fine ? rating / 10 - 1 : rating / 20);
        const worded = `${fine ? number(rating / 10, 1) : rating} ${bands[Math.min(band, 4)]}`;
        outputs[i].textContent = rating === null ? say("unrated") : worded;
        sliders[i].setAttribute("aria-valuetext", outputs[i].textContent);
    };
    const rate = value => {
        ratings[chosen] = sliders[chosen].value = Math.min(Math.max(value, min), max);
        put(chosen);
        part.changed();
    };
    const part = {
        allow(slot) {
            chosen = slot;
            sliders.forEach((slider, i) => { slider.disabled = i !== slot; });
        },
        missing() {
            const unrated = ratings.flatMap((rating, i) => rating === null ? letter(i) : []);
            if (unrated.length) return say("rate", unrated.join(", "));
            return fine && !ratings.includes(max) ? say("five") : "";
        },
        result: () => ({ ratings: fine ? ratings.map(rating => rating / 10) : ratings }),
        key(key) {
            const step = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10,
                PageDown: -10, Home: -max, End: max }[key];
            const rated = fine ? /^[1-5]$/.test(key) : /^[0-9]$/.test(key);
            if (chosen < 0 || !step && !rated) return false;
            rate(step ? Number(sliders[chosen].value) + step : (+key || 10) * 10);
            return true;
        },
        place(choices) {
            const open = choices.length - count, words = bands.map((band, i) => element("span", {},
                element("small", {}, fine ? i + 1 : `${i * 20}–${i * 20 + 20}`), ` ${band}`));
            return [...choices.map((choice, i) => element("div", { className: "row" }, choice,
                ...i < open ? [] : [element("div", { className: fine ? "scale fine" : "scale" },
                    sliders[i - open]), outputs[i - open]])),
            element("div", { className: "row words", "aria-hidden": "true" },
                element("div", { className: fine ? "fine" : "" }, ...words))];
        },
    };
    sliders.forEach((slider, i) => {
        put(i);
        /* A click confirms a value that did not move. */
        for (const type of ["input", "click"])
            slider.addEventListener(type, () => i === chosen && rate(Number(slider.value)));
    });
    return part;
}

/* Answers of ABX and of a preference test. They wait until all sounds were heard. */
function answerPart(abx) {
    const labels = ["A", "B"].map(name => say(abx ? "is" : "better", name));
    if (!abx) labels.push(say("neither"));
    const radios = labels.map(() => element("input", { type: "radio", name: "answer" }));
    const fieldset = element("fieldset", {}, ...labels.map((label, i) =>
        element("label", {}, radios[i], label, hint(i + 1))));
    const answer = () => radios.findIndex(radio => radio.checked);
    const part = {
        allow(slot, heard) { fieldset.disabled = !heard; },
        missing: () => answer() < 0 ? say("choose") : "",
        result: () => abx ? { answer: answer() } : { preferred: answer() === 2 ? null : answer() },
        key(key) {
            radios[key - 1]?.click();
            return radios[key - 1];
        },
        place: choices => [element("p", { className: "bar" }, ...choices), fieldset],
    };
    fieldset.addEventListener("change", () => part.changed());
    return part;
}

function showEnd() {
    const { answers } = state, posted = link.token && location.protocol.startsWith("http");
    const note = element("p", { role: "status" }), failed = element("p", { role: "alert" });
    const download = button(say("save"), "", () => {
        const file = new Blob([JSON.stringify(answers, null, 1)], { type: "application/json" });
        const name = `${answers.listener} ${answers.id}`.replace(/[^\p{L}\p{N}_-]+/gu, "-");
        element("a", { href: URL.createObjectURL(file), download: `${name}.json` }).click();
        forget();
    }, { className: posted ? "" : "main" });
    const send = async () => {
        const body = JSON.stringify({ token: link.token, name: link.name, answers });
        const headers = { "Content-Type": "application/json" };
        failed.textContent = "";
        choices.hidden = true;
        try {
            const reply = await fetch("answers", { method: "POST", body, headers })
                .catch(() => { throw new Error(say("offline")); });
            const { saved, error } = await reply.json().catch(() => ({}));
            if (!saved) throw new Error(error || `HTTP ${reply.status}`);
            forget();
            note.textContent = say("saved");
        } catch (error) {
            failed.textContent = say("unsaved", error.message);
            choices.hidden = false;
        }
    };
    const choices = element("div", { className: "bar" },
        posted && button(say("retry"), "", send, { className: "main" }), download);
    show(say("thanks"), note, failed, choices);
    if (posted) send();
    else note.textContent = say("give");
}

/* ---- what others call ---- */

function halo_test(object) {
    test = object;
    language = test.languages.find(one => one.startsWith(language)) || test.languages[0];
    readLink();
    state = stored("localStorage", stateKey());
    if (state) ({ language } = state.answers);
    go();
}

function halo_sound(index, object) {
    arrived[index] = object;
}

document.addEventListener("keydown", event => {
    const { target, key } = event, field = target.matches("textarea, input[type=text]");
    if (field && key === "Escape") target.blur();
    /* AltGr types [ ] | on many keyboards. */
    const modified = (event.ctrlKey || event.altKey || event.metaKey)
        && !event.getModifierState("AltGraph");
    if (!keyPressed || field || modified || event.repeat && !key.startsWith("Arrow")) return;
    /* A button that has the focus takes these keys itself. */
    if ((key === " " || key === "Enter") && target.matches("button, [type=checkbox]")) return;
    if (keyPressed(key)) event.preventDefault();
});
window.addEventListener("beforeunload", event => state && context && event.preventDefault());
window.addEventListener("hashchange", () => location.reload()); /* a link of another listener */
loadScript("test.js").catch(error => show(error.message));
