// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
const D = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);
const states = ['pending', 'ready', 'running', 'done', 'failed', 'cancelled'];
const count = D.id.length;
const startHash = location.hash;
const el = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

// ---- Text ----

const unitOf = ns => ns < 1e3 ? ['ns', 1] : ns < 1e6 ? ['\u00B5s', 1e3]
  : ns < 1e9 ? ['ms', 1e6] : ['s', 1e9];
function duration(ns) {
  const sign = ns < 0 ? '\u2212' : '';
  ns = Math.abs(ns);
  let step = 1;
  while (ns / step >= 10000) step *= 10;
  ns = Math.round(ns / step) * step;
  const [unit, scale] = unitOf(ns);
  return sign + Number((ns / scale).toPrecision(12)) + ' ' + unit;
}
const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '\u2013';
const labelOf = k => D.texts[D.label[k]];
const colourOf = (family, shade) => family < 0 ? '#808080' : D.families[family][2][shade];
const colourOfTask = k => colourOf(D.family[k], D.shade[k]);
const swatch = colour => {
  const made = el('span', {className: 'swatch'});
  made.style.background = colour;
  return made;
};
const counted = (number, noun) => number + ' ' + noun + (number === 1 ? '' : 's');

// ---- Neighbours ----

// The edges of task k are list[first[k]] up to list[first[k + 1]].
function edgesBy(ends) {
  const first = new Uint32Array(count + 1), list = new Uint32Array(ends.length);
  for (const k of ends) ++first[k + 1];
  for (let k = 0; k < count; ++k) first[k + 1] += first[k];
  const next = first.slice();
  ends.forEach((k, e) => { list[next[k]++] = e; });
  return k => list.subarray(first[k], first[k + 1]);
}
const edgesTo = edgesBy(D.to), edgesFrom = edgesBy(D.from);
const firstAccess = new Uint32Array(count + 1);
D.accesses.forEach((number, k) => { firstAccess[k + 1] = firstAccess[k] + number; });
function grouped(keys) {  // the indices of each key
  const all = new Map();
  keys.forEach((key, i) => { if (all.has(key)) all.get(key).push(i); else all.set(key, [i]); });
  return all;
}
const slicesOf = grouped(D.slice_task), children = grouped(D.parent);
const critical = new Set(D.critical);
const endOf = s => D.slice_begin[s] + D.slice_time[s];
const timeOf = k => (slicesOf.get(k) || []).reduce((sum, s) => sum + D.slice_time[s], 0);

// ---- What is chosen ----

let chosen = -1;      // a task
let lit = null;       // the tasks that a search or the legend shows; null: all
let onlyPath = false; // the critical path stands out
let filter = null;    // the family that the legend shows

// ---- Canvases ----

// Begins to draw on a canvas that is `high`. There is room for names up to `left`.
function draws(canvas, high) {
  const css = getComputedStyle(document.documentElement), scale = devicePixelRatio || 1;
  const full = canvas.clientWidth;
  canvas.style.height = high + 'px';
  canvas.width = Math.round(full * scale);
  canvas.height = Math.round(high * scale);
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  g.textBaseline = 'middle';
  return {
    g, full, left: full < 600 ? 84 : 136,
    colour: name => css.getPropertyValue('--' + name).trim(),
    font: size => { g.font = size + 'px system-ui,Helvetica,Arial,sans-serif'; },
  };
}

// ---- Gestures ----

// Calls pan(dx, dy), zoom(factor, x, y), tap(x, y) and hover(x, y, event or null) of `view`.
function gestures(target, view) {
  const at = new Map();
  let moved = 0;
  const place = event => {
    const box = target.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  target.addEventListener('pointerdown', event => {
    if (event.button > 0) return;
    if (at.size === 0) moved = 0;
    at.set(event.pointerId, place(event));
  });
  target.addEventListener('pointermove', event => {
    const now = place(event), before = at.get(event.pointerId);
    if (!before) {
      if (event.pointerType === 'mouse') view.hover(now.x, now.y, event);
      return;
    }
    view.hover(0, 0, null);
    const other = [...at].filter(([id]) => id !== event.pointerId).map(([, point]) => point)[0];
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (moved > 5 && !target.hasPointerCapture(event.pointerId))
      target.setPointerCapture(event.pointerId);
    if (other) {
      const apart = Math.hypot(before.x - other.x, before.y - other.y);
      if (apart > 10)
        view.zoom(Math.hypot(now.x - other.x, now.y - other.y) / apart,
                  (now.x + other.x) / 2, (now.y + other.y) / 2);
      view.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    } else if (moved > 5) {
      view.pan(now.x - before.x, now.y - before.y);
    }
    at.set(event.pointerId, now);
  });
  const end = event => {
    if (!at.delete(event.pointerId) || event.type !== 'pointerup' || moved > 5) return;
    const now = place(event);
    view.tap(now.x, now.y, event);
  };
  target.addEventListener('pointerup', end);
  target.addEventListener('pointercancel', end);
  target.addEventListener('pointerleave', () => view.hover(0, 0, null));
  target.addEventListener('wheel', event => {
    const now = place(event);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      view.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0025)), now.x, now.y);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      view.pan(-(event.deltaX || event.deltaY), 0);
    }
  }, {passive: false});
}

function tip(text, event) {
  const shown = byId('tip');
  shown.hidden = !text;
  if (!text) return;
  shown.textContent = text;
  const box = shown.getBoundingClientRect();
  shown.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + 'px';
  const below = event.clientY + 18;
  shown.style.top = (below + box.height > innerHeight ? event.clientY - box.height - 10 : below) +
    'px';
}
