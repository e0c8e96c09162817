/* Geometry that the page and its drawing thread share. */
"use strict";

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
const FONT = "11px system-ui, sans-serif";

function write(pen, text, x, y, color, align = "left") {
    pen.fillStyle = color;
    pen.textAlign = align;
    pen.fillText(text, x, y);
}

/* Gives a canvas the size of the page, in pixels of the device. */
function fit(one, { width, height, scale }) {
    Object.assign(one, { width, height, frame: "" });
    one.canvas.width = Math.round(width * scale);
    one.canvas.height = Math.round(height * scale);
    one.pen.setTransform(scale, 0, 0, scale, 0, 0);
    one.pen.font = FONT;
}

/* ---- meters ---- */

const FIGURES = 132, MANY_CHANNELS = 16; /* px of a channel's numbers; more channels have none */
const HEAD = 14; /* px above the bars */
const dbfs = value => value === null ? "-inf" : Math.max(value, -199.9).toFixed(1);

/* Clips of each channel since the user reset them. */
const clipsOf = (readings, before) => readings.map(({ clips }, i) =>
    clips < (before[i] ?? 0) ? clips : clips - (before[i] ?? 0)); /* halo may count anew */

/* The places of channels, in px. */
function meterGrid({ width }, count) {
    const many = count > MANY_CHANNELS, least = many ? 110 : 230, row = many ? 13 : 20;
    const columns = count > 4 ? clamp(Math.floor(width / least), 1, Math.ceil(count / 4)) : 1;
    const cell = width / columns, figures = many ? [] : cell > 2 * FIGURES ? ["peak", "rms", "hold"]
        : ["hold"];
    return { columns, rows: Math.ceil(count / columns), row, cell, figures,
        long: cell - [32, 66, 28 + FIGURES][Math.min(figures.length, 2)] };
}

/* ---- the graph ---- */

const LEAST_HZ = 20, MOST_HZ = 20000, OCTAVES = Math.log(MOST_HZ / LEAST_HZ);
const FLOOR = -100; /* dBFS at the bottom */
const MARGIN = { left: 40, right: 36, top: 10, bottom: 20 };

const plotOf = ({ width, height }) => ({ left: MARGIN.left, top: MARGIN.top,
    wide: width - MARGIN.left - MARGIN.right, tall: height - MARGIN.top - MARGIN.bottom });
const xOf = (plot, hz) => plot.left + plot.wide * Math.log(hz / LEAST_HZ) / OCTAVES;
const hzOf = (plot, x) => LEAST_HZ * Math.exp((x - plot.left) / plot.wide * OCTAVES);

function clip(pen, { left, top, wide, tall }, draw) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide, tall);
    pen.clip();
    draw();
    pen.restore();
}

function trace(pen, xs, ys) {
    pen.beginPath();
    for (let i = 0; i < xs.length; i++)
        if (i) pen.lineTo(xs[i], ys[i]);
        else pen.moveTo(xs[i], ys[i]);
}
