/* The page of a listening test: its screens, its sound, and its answers.
 *
 * test.js and data/NN.js call halo_test() and halo_sound(). The page knows sounds by random names
 * only. It draws all orders itself before the first trial. */
"use strict";

const WORDS = {
    en: {
        language: "Language", name: "Your name", start: "Start", next: "Next", goOn: "Go on",
        volume: "Use headphones or loudspeakers that you know. Set a comfortable volume with the "
            + "first sound. Then leave the volume unchanged until the end.",
        kept: n => `This browser has your answers to ${n} trials. The test goes on after these.`,
        anew: "Start again", anewSure: "Delete the answers so far and start again?",
        training: (n, of) => `Training ${n} of ${of}`, trial: (n, of) => `Trial ${n} of ${of}`,
        trainingNote: "Training: get to know the sounds and the page.",
        trained: of => `The training is over. The test has ${of} trials.`,
        mushra: "Rate each sound in comparison with the reference. A sound can be rated while it "
            + "is chosen. One of the sounds is the reference itself.",
        bs1116: "One of A and B is the reference itself. Leave that one at 5.0 and rate the other "
            + "one. A sound can be rated while it is chosen.",
        preference: "Which of the two sounds do you prefer?", abx: "Is X the sound A or the sound B?",
        reference: "Reference", play: "Play", pause: "Pause", from: "Begin here", to: "End here",
        whole: "Whole sound", restart: "Start from the beginning at each switch",
        position: (at, of) => `${at} of ${of} s`, short: "This part is too short.",
        unrated: "not rated", remark: "Remarks", loading: "The sound is loading ...",
        missing: file => `${file} cannot be loaded. Check the connection, or whether the folder is `
            + "complete. Then try again.",
        damaged: file => `${file} is damaged. Copy the folder again.`, retry: "Try again",
        hear: names => `Please listen first to: ${names}.`, rate: names => `Please rate: ${names}.`,
        five: "One of the sounds is the reference: please leave at least one at 5.0.",
        choose: "Please choose an answer.",
        better: name => `${name} is better`, neither: "No difference", is: name => `X is ${name}`,
        keys: { mushra: "1 … 9, 0: rate 10 … 90, 100", bs1116: "1 … 5: rate 1.0 … 5.0",
            preference: "1, 2, 3: answer", abx: "1, 2: answer" }, arrows: "arrows: adjust the rating",
        stop: "Stop the test", stopSure: "Stop the test here? Your answers so far are kept.",
        questions: "Questions", sending: "Your answers are being sent ...", thanks: "Thank you",
        saved: "Your answers are saved. You can close this page.",
        unsaved: why => `Your answers are not saved yet: ${why}`,
        offline: "the server cannot be reached.", save: "Download the answers",
        give: "Please download your answers and give the file to the experimenter.",
        bands: ["bad", "poor", "fair", "good", "excellent"],
        grades: ["very annoying", "annoying", "slightly annoying", "perceptible but not annoying",
            "imperceptible"],
    },
    de: {
        language: "Sprache", name: "Ihr Name", start: "Beginnen", next: "Weiter", goOn: "Fortsetzen",
        volume: "Verwenden Sie vertraute Kopfhörer oder Lautsprecher. Stellen Sie beim ersten Klang "
            + "eine angenehme Lautstärke ein. Lassen Sie die Lautstärke dann bis zum Ende unverändert.",
        kept: n => `Dieser Browser hat Ihre Antworten zu ${n} Durchgängen. Der Test geht danach weiter.`,
        anew: "Neu beginnen", anewSure: "Die bisherigen Antworten löschen und neu beginnen?",
        training: (n, of) => `Übung ${n} von ${of}`, trial: (n, of) => `Durchgang ${n} von ${of}`,
        trainingNote: "Übung: Lernen Sie die Klänge und die Seite kennen.",
        trained: of => `Die Übung ist zu Ende. Der Test hat ${of} Durchgänge.`,
        mushra: "Bewerten Sie jeden Klang im Vergleich mit der Referenz. Ein Klang lässt sich "
            + "bewerten, solange er gewählt ist. Einer der Klänge ist die Referenz selbst.",
        bs1116: "Entweder A oder B ist die Referenz selbst. Lassen Sie diesen Klang bei 5,0 und "
            + "bewerten Sie den anderen. Ein Klang lässt sich bewerten, solange er gewählt ist.",
        preference: "Welchen der beiden Klänge ziehen Sie vor?",
        abx: "Ist X der Klang A oder der Klang B?",
        reference: "Referenz", play: "Abspielen", pause: "Pause", from: "Hier beginnen",
        to: "Hier enden", whole: "Ganzer Klang", restart: "Bei jedem Umschalten von vorn beginnen",
        position: (at, of) => `${at} von ${of} s`, short: "Dieser Ausschnitt ist zu kurz.",
        unrated: "nicht bewertet", remark: "Bemerkungen", loading: "Der Klang wird geladen ...",
        missing: file => `${file} lässt sich nicht laden. Prüfen Sie die Verbindung, oder ob der `
            + "Ordner vollständig ist. Versuchen Sie es dann noch einmal.",
        damaged: file => `${file} ist beschädigt. Kopieren Sie den Ordner noch einmal.`,
        retry: "Noch einmal versuchen",
        hear: names => `Bitte hören Sie zuerst: ${names}.`,
        rate: names => `Bitte bewerten Sie: ${names}.`,
        five: "Einer der Klänge ist die Referenz: Bitte lassen Sie mindestens einen bei 5,0.",
        choose: "Bitte wählen Sie eine Antwort.",
        better: name => `${name} ist besser`, neither: "Kein Unterschied", is: name => `X ist ${name}`,
        keys: { mushra: "1 … 9, 0: 10 … 90, 100", bs1116: "1 … 5: 1,0 … 5,0",
            preference: "1, 2, 3: Antwort", abx: "1, 2: Antwort" },
        arrows: "Pfeile: Bewertung verschieben",
        stop: "Test abbrechen",
        stopSure: "Den Test hier abbrechen? Die bisherigen Antworten bleiben erhalten.",
        questions: "Fragen", sending: "Ihre Antworten werden gesendet ...", thanks: "Vielen Dank",
        saved: "Ihre Antworten sind gespeichert. Sie können diese Seite schließen.",
        unsaved: why => `Ihre Antworten sind noch nicht gespeichert: ${why}`,
        offline: "Der Server ist nicht erreichbar.", save: "Antworten herunterladen",
        give: "Bitte laden Sie Ihre Antworten herunter und geben Sie die Datei der Versuchsleitung.",
        bands: ["schlecht", "dürftig", "ordentlich", "gut", "ausgezeichnet"],
        grades: ["sehr störend", "störend", "etwas störend", "hörbar, aber nicht störend",
            "nicht hörbar"],
    },
};

const FADE = 0.01, PAUSE = 0.02; /* of a switch, in seconds */
const PART_LEAST = 0.1; /* shortest part of a sound that can be repeated, in seconds */

let test, language, state, context; /* state: what a reload needs; null before the start */
let link = { name: "", token: "" };
let restart = false; /* each switch starts from the beginning */
let keyPressed = null; /* what the screen does with a key */

/* ---- small helpers ---- */

const say = (word, ...rest) => {
    const found = (WORDS[language] || WORDS.en)[word];
    return typeof found === "function" ? found(...rest) : found;
};

/* A text of the test in the listener's language. */
const text = one => one === null || typeof one === "string" ? one
    : one[language] ?? one.en ?? Object.values(one)[0];

/* Text is never read as HTML. */
function element(tag, properties, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {}))
        if (name in node) node[name] = value;
        else node.setAttribute(name, value);
    node.append(...children.filter(child => child !== null));
    return node;
}

/* A click does not keep the focus, so that the keys belong to the page again. */
function button(label, key, pressed, properties) {
    const node = element("button", { type: "button", ...properties }, label);
    if (key) {
        node.append(element("kbd", { "aria-hidden": "true" }, key));
        node.setAttribute("aria-keyshortcuts", key);
    }
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
    do crypto.getRandomValues(word); while (word[0] >= end); /* else low numbers were more likely */
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

/* Some browsers refuse to store anything. Then only a reload loses the answers. */
function stored(storage, key, value) {
    try {
        if (value === undefined) return JSON.parse(window[storage].getItem(key));
        if (value === null) window[storage].removeItem(key);
        else window[storage].setItem(key, JSON.stringify(value));
    } catch { /* as said */ }
    return null;
}

const stateKey = () => `halo ${test.commitment} ${link.name}`;
const save = () => stored("localStorage", stateKey(), state);

function readLink() {
    const key = `halo ${test.commitment} link`, given = {};
    for (const part of location.hash.slice(1).split("&")) {
        const [, name, value] = /^(\w+)=(.*)$/.exec(part) || [];
        try { if (name) given[name] = decodeURIComponent(value); } catch { /* no link of ours */ }
    }
    if ("listener" in given || "token" in given) {
        link = { name: given.listener || "", token: given.token || "" };
        stored("sessionStorage", key, link);
        try {
            history.replaceState(null, "", location.pathname + location.search);
        } catch { /* a file's address stays */ }
    } else {
        link = stored("sessionStorage", key) || link;
    }
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
    const turned = {}, id = crypto.getRandomValues(new Uint8Array(16));
    const ordered = [true, false].flatMap(
        training => shuffled(test.trials.filter(trial => trial.training === training)));
    state = {
        plan: ordered.map(trial => ({ trial: trial.id, shown: drawShown(trial, turned) })),
        answers: {
            halo: "answers", kind: test.kind, commitment: test.commitment,
            id: Array.from(id, byte => byte.toString(16).padStart(2, "0")).join(""), listener,
            language, began: new Date().toISOString(), ended: null, complete: false,
            agent: navigator.userAgent, rate: context.sampleRate, before, after: {}, trials: [],
        },
    };
    save();
}

function finish(complete, after) {
    Object.assign(state.answers, { complete, after, ended: new Date().toISOString() });
    save();
    go();
}

/* ---- sounds ---- */

const sounds = new Map(); /* index: promise of {slot: AudioBuffer} */
const arrived = {}; /* index: takes what halo_sound() was called with */

function loadScript(file) {
    return new Promise((resolve, reject) => {
        const failed = () => reject(new Error(say("missing", file)));
        const node = element("script", { src: file, onload: resolve, onerror: failed });
        document.head.append(node);
    }).finally(() => document.querySelector(`script[src="${CSS.escape(file)}"]`)?.remove());
}

function decode({ mask, pcm }, { frames, file }) {
    const bytes = Uint8Array.from(atob(pcm), letter => letter.charCodeAt(0));
    const { channels, rate } = test;
    if (bytes.length !== frames * channels * 3) throw new Error(say("damaged", file));
    for (let i = 0, word = mask; i < bytes.length; i++) {
        if (i % 4 === 0) {
            word ^= word << 13;
            word ^= word >>> 17;
            word ^= word << 5;
        }
        bytes[i] ^= word >>> i % 4 * 8;
    }
    const buffer = new AudioBuffer({ length: frames, numberOfChannels: channels, sampleRate: rate });
    for (let channel = 0; channel < channels; channel++) {
        const samples = buffer.getChannelData(channel);
        for (let i = 0, at = 3 * channel; i < frames; i++, at += 3 * channels)
            samples[i] = (bytes[at] << 8 | bytes[at + 1] << 16 | bytes[at + 2] << 24) / 2 ** 31;
    }
    return buffer;
}

async function loadSound(index) {
    const { file } = test.sounds[index], buffers = {};
    const given = new Promise(resolve => arrived[index] = resolve);
    await loadScript(file);
    const called = await Promise.race([given, null]);
    if (!called) throw new Error(say("damaged", file));
    for (const [slot, data] of Object.entries(called.slots)) {
        await new Promise(resolve => setTimeout(resolve)); /* the page answers in between */
        buffers[slot] = decode(data, test.sounds[index]);
    }
    return buffers;
}

/* Sounds of the trials `at` and at + 1. Frees the others. */
function sound(at) {
    const wanted = state.plan.slice(at, at + 2).map(({ trial }) => trialOf(trial).sound);
    for (const index of [...sounds.keys()])
        if (!wanted.includes(index)) sounds.delete(index);
    const get = index => {
        if (!sounds.has(index)) {
            const loading = loadSound(index);
            sounds.set(index, loading);
            loading.catch(() => sounds.get(index) === loading && sounds.delete(index));
        }
        return sounds.get(index);
    };
    const now = get(wanted[0]);
    now.then(() => wanted[1] === undefined || get(wanted[1]), () => {});
    return now;
}

/* Only a click or a key may start the sound. */
function openSound() {
    try {
        context ??= new AudioContext({ sampleRate: test.rate });
    } catch {
        context = new AudioContext(); /* resamples */
    }
    const most = context.destination.maxChannelCount;
    if (test.channels > 2) context.destination.channelCount = Math.min(test.channels, most);
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
        const [from, to] = this.part, at = this.at + (this.nodes ? Math.max(0, time - this.began) : 0);
        return at < to ? at : from + (at - from) % (to - from);
    }

    /* Time of the first sample at which a switch can begin. */
    soon() {
        const ready = context.currentTime + 0.01 + (context.baseLatency || 0.02);
        return Math.ceil(Math.max(ready, this.free) * context.sampleRate) / context.sampleRate;
    }

    fade(from, to, time) {
        const gain = this.nodes[this.chosen].gain.gain;
        gain.setValueAtTime(from, time);
        gain.linearRampToValueAtTime(to, time + FADE);
        this.free = time + FADE;
    }

    start(time) {
        const offset = Math.round(this.at * test.rate) / test.rate, [loopStart, loopEnd] = this.part;
        this.nodes = this.buffers.map(buffer => {
            const gain = new GainNode(context, { gain: 0 });
            const source = new AudioBufferSourceNode(context, { buffer, loop: true, loopStart, loopEnd });
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

    choose(slot, anew) {
        context.resume();
        if (this.nodes && !anew) {
            const time = this.soon();
            this.fade(1, 0, time);
            this.chosen = slot;
            this.fade(0, 1, time + FADE + PAUSE);
            return;
        }
        const time = this.stop();
        if (anew) this.at = this.part[0];
        this.chosen = slot;
        this.start(time);
    }

    seek(at) {
        const time = this.nodes ? this.stop() : null;
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

const letter = i => String.fromCharCode(65 + i);
const trialOf = id => test.trials.find(trial => trial.id === id);

function go() {
    if (state?.answers.ended) return showEnd();
    if (!state || !context) return showStart();
    const done = state.answers.trials.length;
    if (done < state.plan.length) return showLoading(done);
    if (test.after.length === 0) return finish(true, {});
    show(say("questions"), form(test.after.map(question), say("next"), () => finish(true, answersOf(test.after))));
}

function form(children, label, submitted) {
    const node = element("form", {}, ...children,
        element("button", { className: "main", type: "submit" }, label));
    node.addEventListener("submit", event => {
        event.preventDefault();
        submitted();
    });
    return node;
}

const field = (label, id) => element("label", {}, label,
    element("input", { type: "text", id, required: true, autocomplete: "off" }));

function question({ ask, answers }, number) {
    const id = `question${number}`;
    if (!answers) return field(text(ask), id);
    return element("fieldset", {}, element("legend", {}, text(ask)), ...answers.map(answer =>
        element("label", {}, element("input", { type: "radio", name: id, required: true }), text(answer))));
}

/* The text of the first language stands for an answer, whatever language it was shown in. */
function answersOf(questions) {
    const first = one => typeof one === "string" ? one : one[test.languages[0]] ?? text(one);
    return Object.fromEntries(questions.map(({ name, answers }, number) => {
        const id = `question${number}`;
        if (!answers) return [name, document.getElementById(id).value.trim()];
        const radios = [...document.getElementsByName(id)];
        return [name, first(answers[radios.findIndex(radio => radio.checked)])];
    }));
}

function showStart() {
    document.documentElement.lang = language;
    document.title = text(test.title);
    const volume = element("p", {}, say("volume"));
    if (state) {
        const anew = button(say("anew"), "", () => {
            if (!confirm(say("anewSure"))) return;
            state = stored("localStorage", stateKey(), null);
            go();
        });
        const goOn = form([], say("goOn"), () => { openSound(); go(); });
        goOn.append(" ", anew);
        goOn.className = "bar";
        show(text(test.title), element("p", {}, say("kept", state.answers.trials.length)), volume, goOn);
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
        test.instructions && element("p", { className: "long" }, text(test.instructions)),
        volume, form(fields, say("start"), () => {
            openSound();
            begin(named || document.getElementById("name").value.trim(), answersOf(test.before));
            go();
        }));
}

async function showLoading(at) {
    const { trial: id, shown } = state.plan[at], trial = trialOf(id);
    const trained = state.plan.filter(one => trialOf(one.trial).training).length;
    const place = trial.training ? say("training", at + 1, trained)
        : say("trial", at + 1 - trained, state.plan.length - trained);
    show(place, element("p", { role: "status" }, say("loading")));
    try {
        const buffers = await sound(at);
        if (at > 0 && at === trained) {
            const ready = form([], say("start"), () => showTrial(place, trial, shown, buffers));
            show(say("trained", state.plan.length - trained), ready);
        } else {
            showTrial(place, trial, shown, buffers);
        }
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
    const played = slots.map(() => 0);
    const judge = kind === "mushra" || kind === "bs1116" ? ratingPart(kind, shown.length)
        : answerPart(kind);

    const alert = element("p", { role: "alert" });
    const choose = slot => {
        player.choose(slot, restart);
        played[slot]++;
        update();
    };
    const choices = names.map((name, i) => button(name, name === keys[i] ? "" : keys[i], () => choose(i)));
    const playing = button(say("play"), "␣", () => {
        if (player.nodes) player.stop();
        else return choose(Math.max(player.chosen, 0));
        update();
    });
    const part = (from, to) => alert.textContent = player.repeat(from, to) ? "" : say("short");
    const partFrom = () => part(player.position(), player.part[1]);
    const partTo = () => part(player.part[0], player.position());
    const partAll = () => part(0, player.length);
    const bar = element("div", { className: "time", "aria-hidden": "true" },
        element("i", { className: "part" }), element("i", { className: "now" }));
    bar.addEventListener("click", event => {
        const { left, width } = bar.getBoundingClientRect();
        player.seek((event.clientX - left) / width * player.length);
    });
    const seconds = element("span", { className: "soft" });
    const again = element("input", { type: "checkbox", checked: restart });
    again.addEventListener("change", () => { restart = again.checked; again.blur(); });
    const remark = test.remarks ? element("textarea", { rows: 2 }) : null;

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
            ...judge.result(), played: played.slice(first), ...remark && { remark: remark.value.trim() },
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
        choices.forEach((choice, i) => choice.setAttribute("aria-pressed", i === player.chosen));
        playing.firstChild.data = player.nodes ? say("pause") : say("play");
        judge.allow(player.chosen - first, played.every(Boolean));
        next.setAttribute("aria-disabled", missing() !== "");
    }

    function draw() {
        if (!bar.isConnected) return;
        const share = time => `${time / player.length * 100}%`, [from, to] = player.part;
        bar.firstChild.style.left = share(from);
        bar.firstChild.style.width = share(to - from);
        bar.lastChild.style.left = share(player.position());
        seconds.textContent = say("position", number(player.position()), number(player.length));
        requestAnimationFrame(draw);
    }

    const title = show(place, trial.training && element("p", {}, say("trainingNote")),
        element("p", {}, say(kind)),
        element("div", { className: "panel" }, bar,
            element("div", { className: "bar" }, playing, button(say("from"), "[", partFrom),
                button(say("to"), "]", partTo), button(say("whole"), "|", partAll), seconds),
            element("label", { className: "tick" }, again, say("restart"))),
        judge.place(choices), alert,
        remark && element("label", {}, say("remark"), remark), element("p", {}, next),
        element("p", { className: "soft" }, element("kbd", {},
            say("keys")[kind] + (judge.rate ? `; ${say("arrows")}` : ""))));
    const header = element("header");
    title.replaceWith(header);
    header.append(title, stop);
    title.focus();
    keyPressed = key => {
        const acts = { " ": () => playing.click(), Enter: () => next.click(), "[": partFrom,
            "]": partTo, "|": partAll };
        const slot = keys.indexOf(key.toUpperCase());
        if (slot >= 0) choose(slot);
        else if (acts[key]) acts[key]();
        else return judge.key(key);
        return true;
    };
    judge.changed = update;
    update();
    draw();
}

const number = (value, digits = 1) => value.toLocaleString(language,
    { minimumFractionDigits: digits, maximumFractionDigits: digits });

/* Sliders of MUSHRA (0 to 100) and BS.1116 (tenths, 10 to 50). Only the chosen sound's can move. */
function ratingPart(kind, count) {
    const fine = kind === "bs1116", least = fine ? 10 : 0, most = fine ? 50 : 100;
    const bands = say(fine ? "grades" : "bands"), ratings = Array(count).fill(fine ? most : null);
    let chosen = -1;
    const worded = value => {
        const band = Math.min(Math.floor(fine ? value / 10 - 1 : value / 20), 4);
        return `${number(fine ? value / 10 : value, fine ? 1 : 0)} ${bands[band]}`;
    };
    const sliders = ratings.map((_, i) => element("input", { type: "range", min: least, max: most,
        value: fine ? most : 50, "aria-label": letter(i) }));
    const outputs = ratings.map(() => element("output"));
    const put = i => {
        outputs[i].textContent = ratings[i] === null ? say("unrated") : worded(ratings[i]);
        sliders[i].setAttribute("aria-valuetext", outputs[i].textContent);
    };
    const part = {
        rate(value) {
            if (chosen < 0) return;
            ratings[chosen] = Math.min(Math.max(value, least), most);
            sliders[chosen].value = ratings[chosen];
            put(chosen);
            part.changed();
        },
        allow(slot) {
            chosen = slot;
            sliders.forEach((slider, i) => slider.disabled = i !== slot);
        },
        missing() {
            const unrated = ratings.flatMap((rating, i) => rating === null ? letter(i) : []);
            if (unrated.length) return say("rate", unrated.join(", "));
            return fine && !ratings.includes(most) ? say("five") : "";
        },
        result: () => ({ ratings: fine ? ratings.map(rating => rating / 10) : ratings }),
        key(key) {
            const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10,
                PageDown: -10, Home: -most, End: most };
            const value = chosen < 0 ? 0 : Number(sliders[chosen].value);
            if (key in steps) part.rate(value + steps[key]);
            else if (/^[0-9]$/.test(key) && (!fine || key > 0 && key < 6)) part.rate((+key || 10) * 10);
            else return false;
            return true;
        },
        place(choices) {
            const words = element("div", { className: "row words", "aria-hidden": "true" }, element("div", {},
                ...bands.map((band, i) => element("span", {}, `${fine ? i + 1 : `${i * 20} … ${i * 20 + 20}`} ${band}`))));
            const open = choices.length - count;
            return element("div", { style: `--step: ${fine ? 25 : 20}%` }, ...choices.map((choice, i) =>
                element("div", { className: "row" }, choice, ...i < open ? [] :
                    [element("div", { className: "scale" }, sliders[i - open]), outputs[i - open]])), words);
        },
    };
    sliders.forEach((slider, i) => {
        put(i);
        /* A click confirms a value that did not move. */
        for (const type of ["input", "click"])
            slider.addEventListener(type, () => i === chosen && part.rate(Number(slider.value)));
    });
    return part;
}

/* Answers of a preference test and of ABX. They wait until all sounds were heard. */
function answerPart(kind) {
    const labels = kind === "abx" ? ["A", "B"].map(name => say("is", name))
        : [say("better", "A"), say("better", "B"), say("neither")];
    const radios = labels.map(() => element("input", { type: "radio", name: "answer" }));
    const fieldset = element("fieldset", {}, ...labels.map((label, i) =>
        element("label", {}, radios[i], label, element("kbd", { "aria-hidden": "true" }, String(i + 1)))));
    const answer = () => radios.findIndex(radio => radio.checked);
    const part = {
        allow(slot, heard) { fieldset.disabled = !heard; },
        missing: () => answer() < 0 ? say("choose") : "",
        result: () => kind === "abx" ? { answer: answer() }
            : { preferred: answer() === 2 ? null : answer() },
        key(key) {
            if (!radios[key - 1]) return false;
            radios[key - 1].click();
            return true;
        },
        place: choices => element("div", {}, element("p", { className: "bar" }, ...choices), fieldset),
    };
    fieldset.addEventListener("change", () => part.changed());
    return part;
}

function showEnd() {
    const note = element("p", { role: "status" }), failed = element("p", { role: "alert" });
    const { answers } = state, posted = link.token && location.protocol.startsWith("http");
    const kept = JSON.stringify(answers, null, 1);
    const over = () => { state = stored("localStorage", stateKey(), null); };
    const download = button(say("save"), "", () => {
        const href = URL.createObjectURL(new Blob([kept], { type: "application/json" }));
        const name = `${answers.listener} ${answers.id.slice(0, 8)}`.replace(/[^\p{L}\p{N}_-]+/gu, "-");
        element("a", { href, download: `${name}.json` }).click();
        setTimeout(() => URL.revokeObjectURL(href), 60000);
        over();
    });
    const send = async () => {
        note.textContent = say("sending");
        failed.textContent = "";
        retry.hidden = download.hidden = true;
        try {
            const body = JSON.stringify({ token: link.token, name: link.name, answers });
            const reply = await fetch("answers", { method: "POST", body,
                headers: { "Content-Type": "application/json" } })
                .catch(() => { throw new Error(say("offline")); });
            const said = await reply.json().catch(() => ({}));
            if (said.saved !== true) throw new Error(said.error || `HTTP ${reply.status}`);
            over();
            note.textContent = say("saved");
        } catch (error) {
            note.textContent = "";
            failed.textContent = say("unsaved", error.message);
            retry.hidden = download.hidden = false;
        }
    };
    const retry = button(say("retry"), "", send, { className: "main", hidden: true });
    if (!posted) download.className = "main";
    show(say("thanks"), note, failed, element("div", { className: "bar" }, retry, download));
    if (posted) send();
    else note.textContent = say("give");
}

/* ---- the beginning ---- */

function halo_test(object) {
    test = object;
    language = test.languages.find(one => navigator.language.startsWith(one)) || test.languages[0];
    readLink();
    state = stored("localStorage", stateKey());
    if (state) ({ language } = state.answers);
    go();
}

function halo_sound(index, object) { arrived[index]?.(object); }

document.addEventListener("keydown", event => {
    const { target, key } = event, field = target.matches("textarea, input[type=text], select");
    if (field && key === "Escape") target.blur();
    const modified = (event.ctrlKey || event.altKey || event.metaKey)
        && !event.getModifierState("AltGraph");
    if (!keyPressed || field || modified || event.repeat && !key.startsWith("Arrow")) return;
    /* A button that has the focus takes these keys itself. */
    if ((key === " " || key === "Enter") && target.matches("button, input:not([type=range])")) return;
    if (keyPressed(key)) event.preventDefault();
});
window.addEventListener("beforeunload", event => state && context && event.preventDefault());
window.addEventListener("hashchange", () => location.reload()); /* another listener's link */
language = navigator.language.slice(0, 2);
loadScript("test.js").catch(error => show(error.message));
