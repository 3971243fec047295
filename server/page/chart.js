// Charts in SVG: lines over an axis, and a bar of parts. Their numbers are also text.

import { h, onFrame, replace, svg } from "./dom.js";
import { viewStrings } from "./strings.js";
import { numberDetails, setText } from "./views.js";

/// Lines that a chart draws; its table has all.
export const lines_max = 3;

const dashes = [null, "7 4", "2 3"];
const margin = { top: 8, end: 20, bottom: 24, start: 56 };
const character_px = 7.5; // of the labels, about
const y_intervals = 4;
const x_interval_px = 96;

let chartsMade = 0;

/// Returns 0 and round numbers up to at least `max`, about `intervals` steps of 1, 2 or 5 times a power of ten.
export function roundTicks(max, intervals) {
  const least = Math.max(max, Number.EPSILON) / intervals;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999) * power;
  const ticks = [0];
  while (ticks.at(-1) < max * 0.999) ticks.push(ticks.length * step);
  return ticks;
}

/// Returns the ticks whose labels do not overlap.
function spaced(ticks, position, format) {
  let end = -Infinity;
  return ticks.filter((tick) => {
    const half = format(tick).length * character_px / 2;
    if (position(tick) - half < end) return false;
    end = position(tick) + half + character_px;
    return true;
  });
}

const rounded = (value) => Math.round(value * 10) / 10;

/// Returns the line through points; an unknown value interrupts it.
function pathOf(points, left, top) {
  let isBroken = true;
  return points.map(([x, y]) => {
    if (y === null) {
      isBroken = true;
      return "";
    }
    const text = `${isBroken ? "M" : "L"}${rounded(left(x))} ${rounded(top(y))}`;
    isBroken = false;
    return text;
  }).join("");
}

const colourOf = (series, index) => `series-${series.colour ?? index + 1}`;

function line(series, index, left, top, hasPoints) {
  return svg("g", { class: colourOf(series, index) },
    svg("path", { d: pathOf(series.points, left, top), class: "chart-line", "stroke-dasharray": dashes[index] }),
    hasPoints && series.points.map(([x, y, low, high]) => [
      high > low && svg("path", { d: `M${rounded(left(x))} ${rounded(top(low))}V${rounded(top(high))}`, class: "chart-range" }),
      svg("circle", { cx: rounded(left(x)), cy: rounded(top(y)), r: 3, fill: "currentColor" })]));
}

/// Returns the axes and lines, for a width in pixels.
function drawing(series, axes, width, height) {
  const scale = axes.x.scale ?? ((x) => x);
  const all = series.flatMap((one) => one.points);
  const xs = all.map(([x]) => x);
  const [from, to] = (axes.x.range ?? [axes.x.ticks ? Math.min(...xs) : 0, Math.max(...xs)]).map(scale);
  const highest = Math.max(axes.y.least ?? 0, ...all.map(([, y, , high]) => high ?? y ?? 0));
  const yTicks = roundTicks(highest, y_intervals);
  const inner = { width: width - margin.start - margin.end, height: height - margin.top - margin.bottom };
  const left = (x) => margin.start + (to === from ? 0.5 : (scale(x) - from) / (to - from)) * inner.width;
  const top = (y) => margin.top + (1 - y / yTicks.at(-1)) * inner.height;
  const xIntervals = Math.max(2, Math.floor(inner.width / x_interval_px));
  const xTicks = axes.x.ticks ?? roundTicks(to, xIntervals).filter((tick) => tick <= to);
  return [
    yTicks.map((tick) => [
      svg("path", { d: `M${margin.start} ${rounded(top(tick))}H${width - margin.end}`,
        class: tick === 0 ? "chart-axis" : "chart-grid" }),
      svg("text", { x: margin.start - 8, y: rounded(top(tick)) + 4, "text-anchor": "end" }, axes.y.format(tick))]),
    spaced(xTicks, left, axes.x.format).map((tick) =>
      svg("text", { x: rounded(left(tick)), y: height - 6, "text-anchor": "middle" }, axes.x.format(tick))),
    series.slice(0, lines_max).map((one, index) => line(one, index, left, top, axes.hasPoints)),
  ];
}

function lineSample(series, index) {
  return svg("svg", { width: 28, height: 8, "aria-hidden": "true", class: colourOf(series, index) },
    svg("path", { d: "M1 4h26", class: "chart-line", "stroke-dasharray": dashes[index] }));
}

/// A chart of lines. `axes`: { x: { label, caption?, format, ticks?, range?, scale? }, y: { format, least? }, hasPoints? };
/// `x.scale` is increasing; `y.least` is what the axis reaches at least.
export function lineChart(title, axes, height = 168) {
  const id = `chart-${++chartsMade}`;
  const description = svg("desc", { id: `${id}-description` });
  const content = svg("g", { "aria-hidden": "true" });
  const picture = svg("svg", { role: "img", height, class: "chart-picture",
    "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-description` },
  svg("title", { id: `${id}-title` }, title), description, content);
  const current = h("bdi", { class: "chart-current" });
  const legend = h("ul", { class: "legend" });
  const numbers = numberDetails(title);
  const plot = h("div", { class: "chart-plot" }, picture);
  const element = h("figure", { class: "chart" },
    h("figcaption", {}, h("h3", {}, title), current), legend, plot,
    axes.x.caption && h("p", { class: "note chart-label" }, axes.x.caption), numbers.element);
  let shown = [];
  let key = "";

  const draw = onFrame(() => {
    const width = plot.clientWidth;
    if (width === 0 || shown.length === 0) return;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("width", width);
    replace(content, drawing(shown, axes, width, height));
  });
  new ResizeObserver(draw).observe(plot);

  const rows = () => {
    const xs = [...new Set(shown.flatMap((one) => one.points.map(([x]) => x)))].sort((one, other) => one - other);
    const cell = (one, x) => {
      const y = one.points.find((point) => point[0] === x)?.[1] ?? null;
      return y === null ? "" : axes.y.format(y);
    };
    const headings = [axes.x.label, ...shown.map((one) => one.name)];
    return [headings, xs.map((x) => [axes.x.format(x), ...shown.map((one) => cell(one, x))])];
  };

  return {
    element,
    /// `series`: [{ name, colour?, points: [[x, y, low?, high?], ...] }] by increasing x; y may be null. `text` describes
    /// them; `now` is next to the title.
    update(series, text, now = "") {
      setText(current, now);
      setText(description, text);
      const nextKey = JSON.stringify(series);
      if (nextKey === key) return;
      key = nextKey;
      shown = series;
      legend.hidden = series.length < 2;
      replace(legend, series.slice(0, lines_max).map((one, index) => h("li", {}, lineSample(one, index), one.name)),
        series.length > lines_max && h("li", {}, viewStrings.moreLines(series.length - lines_max)));
      numbers.update(rows);
      draw();
    },
  };
}

// Fillings of a bar's parts by colour; the first is for the rest.
const fillings = [
  { name: "series-none", stripes: null },
  { name: "series-1", stripes: null },
  { name: "series-2", stripes: "M-2 10 10 -2M-2 2 2 -2M6 10 10 6" },
  { name: "series-3", stripes: null },
  { name: "series-4", stripes: "M0 2H8M0 6H8" },
];
const smallestShare = 0.006;
const bar_px = 20; // height

function pattern(id, { name, stripes }) {
  return svg("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse", class: name },
    svg("rect", { width: 8, height: 8, fill: "currentColor" }), stripes && svg("path", { d: stripes, class: "chart-stripes" }));
}

/// Returns the shares of the bar's length, in percent; a part that is not empty can be seen.
function sharesOf(parts, total) {
  const shares = parts.map(({ value }) => value > 0 ? Math.max(value / total, smallestShare) : 0);
  const sum = Math.max(1, shares.reduce((one, other) => one + other, 0));
  return shares.map((share) => rounded(share / sum * 100));
}

/// A bar of parts, with a legend of their numbers. `format(value)` returns a number's text.
export function stackedBar(title, format) {
  const id = `chart-${++chartsMade}`;
  const description = svg("desc", { id: `${id}-description` });
  const content = svg("g", { "aria-hidden": "true" });
  const picture = svg("svg", { role: "img", width: "100%", height: bar_px, class: "bar-picture",
    "aria-labelledby": `${id}-title`, "aria-describedby": `${id}-description` },
  svg("title", { id: `${id}-title` }, title), description,
  svg("defs", {}, fillings.map((filling, index) => pattern(`${id}-fill-${index}`, filling))), content);
  const legend = h("ul", { class: "legend" });
  const fillOf = (colour) => `url(#${id}-fill-${colour})`;
  let key = "";

  function legendItem(part) {
    return h("li", {}, svg("svg", { width: 12, height: 12, "aria-hidden": "true" },
      svg("rect", { width: 12, height: 12, rx: 2, fill: fillOf(part.colour), class: part.colour === 0 && "bar-empty" })),
    h("span", {}, part.name), h("bdi", { class: "legend-value" }, format(part.value)));
  }

  return {
    element: h("figure", { class: "stacked-bar" }, picture, legend),
    /// `all`: [{ name, value, colour }], with colour 0 for the rest, which is last; parts of 0 are left out. `total`: the
    /// value of the complete bar.
    update(all, total) {
      const parts = all.filter(({ value }) => value > 0);
      const nextKey = JSON.stringify([parts, total]);
      if (nextKey === key) return;
      key = nextKey;
      setText(description, parts.map((part) => `${part.name}: ${format(part.value)}`).join("; "));
      const shares = sharesOf(parts, total);
      let begin = 0;
      replace(content, svg("rect", { width: "100%", height: bar_px, fill: fillOf(0) }), parts.map((part, index) => {
        const rect = svg("rect", { x: `${begin}%`, width: `${shares[index]}%`, height: bar_px, fill: fillOf(part.colour),
          class: "bar-part" });
        begin += shares[index];
        return rect;
      }));
      replace(legend, parts.map(legendItem));
    },
  };
}
