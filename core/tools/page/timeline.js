// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ---- Timeline ----

const canvas = byId('timeline');
const timeline = (() => {
  const span = Math.max(D.span, 1);
  const window_ = {from: 0, to: span};
  const lanes = [];  // with y, height, and their slices by begin
  const all = D.rows.reduce((sum, row) => sum + row[1], 0);
  const high = all <= 12 ? 26 : all <= 32 ? 18 : all <= 96 ? 12 : all <= 400 ? 7 : 3;
  const top = 8;
  let bottom = top;
  const rows = D.rows.map(([name, number, busy]) => {
    const row = {name, busy, y: bottom, height: number * high + 6, lanes: []};
    for (let lane = 0; lane < number; ++lane) {
      row.lanes.push({y: bottom + 3 + lane * high, slices: [], reach: null});
      lanes.push(row.lanes[lane]);
    }
    bottom += row.height;
    return row;
  });
  if (!rows.length) bottom += 40;
  D.slice_task.forEach((k, s) => {
    rows[D.slice_row[s]].lanes[D.slice_lane[s]].slices.push(s);
  });
  for (const lane of lanes) {  // slices of the last lane may overlap
    let most = 0;
    lane.reach = Float64Array.from(lane.slices, s =>
      most = Math.max(most, endOf(s)));
  }
  let left = 0, width = 1, pattern = null, waiting = false;

  const x = ns => left + (ns - window_.from) / (window_.to - window_.from) * width;
  const timeAt = at => window_.from + (at - left) / width * (window_.to - window_.from);
  const laneOf = s => rows[D.slice_row[s]].lanes[D.slice_lane[s]];
  function firstIn(lane, ns) {  // the first slice that reaches this time
    let low = 0, end = lane.reach.length;
    while (low < end) {
      const middle = (low + end) >> 1;
      if (lane.reach[middle] < ns) low = middle + 1; else end = middle;
    }
    return low;
  }
  function setWindow(from, to) {
    const least = Math.max(span / 1e6, 20);
    const wide = Math.min(Math.max(to - from, least), span);
    from = Math.max(0, Math.min(from, span - wide));
    window_.from = from;
    window_.to = from + wide;
    later();
  }
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }
  function tickStep(range, most) {
    for (let power = 1; ; power *= 10)
      for (const factor of [1, 2, 5])
        if (range / most < factor * power) return factor * power;
  }
  function cut(text, room) {
    return text.length <= room ? text : room < 4 ? '' : text.slice(0, room - 1) + '\u2026';
  }
  const inkOn = colour => {
    const [red, green, blue] = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140 ? '#FFFFFF' : '#1A1A1A';
  };
  const inks = new Map();
  const isDim = k => (lit && !lit[k]) || (onlyPath && !critical.has(k));

  function draw() {
    const {g, full, left: room, colour, font} = draws(canvas, bottom + 28);
    const [ink, soft, line, stripe, accent, bad, before, after] =
      ['ink', 'soft', 'line', 'row', 'accent', 'bad', 'before', 'after'].map(colour);
    left = room;
    const side = full < 600 ? 4 : 58;
    width = Math.max(full - left - side, 50);
    rows.forEach((row, r) => {
      g.fillStyle = stripe;
      if (r % 2 === 0) g.fillRect(0, row.y, full, row.height);
      font(Math.max(7, Math.min(full < 600 ? 11 : 12, row.height - 2)));
      g.fillStyle = ink;
      g.textAlign = 'right';
      g.fillText(cut(row.name, full < 600 ? 12 : 21), left - 8, row.y + row.height / 2);
      g.fillStyle = soft;
      if (side > 9)
        g.fillText(Math.round(100 * row.busy / span) + ' %', full - 6, row.y + row.height / 2);
    });
    font(11);
    const range = window_.to - window_.from;
    const step = tickStep(range, Math.max(2, Math.floor(width / 95)));
    g.strokeStyle = line;
    g.fillStyle = soft;
    g.textAlign = 'center';
    g.lineWidth = 1;
    for (let t = Math.ceil(window_.from / step) * step; t <= window_.to; t += step) {
      g.beginPath();
      g.moveTo(x(t), top);
      g.lineTo(x(t), bottom + 4);
      g.stroke();
      g.fillText(t === 0 ? '0' : tickText(t, step), Math.max(left + 8, Math.min(x(t), full - 26)),
                 bottom + 15);
    }
    if (!D.slice_task.length) {
      g.fillText(D.all ? 'no task has run' : 'no tasks recorded', left + width / 2,
                 (top + bottom) / 2);
      return;
    }
    g.save();
    g.beginPath();
    g.rect(left, 0, width, bottom);
    g.clip();
    D.hidden.forEach((shares, r) => {
      g.fillStyle = soft;
      for (let k = 0; k < shares.length; ++k) {
        if (shares[k] === '0') continue;
        const begin = x(span * k / shares.length), end = x(span * (k + 1) / shares.length);
        if (end < left || begin > left + width) continue;
        g.globalAlpha = 0.5 * shares[k] / 9;
        g.fillRect(begin, rows[r].lanes[0].y + high * 0.2, end - begin + 0.3, high * 0.6);
      }
      g.globalAlpha = 1;
    });
    pattern = pattern || hatching(g);
    if (!onlyPath) drawPath(g, ink);
    for (const lane of lanes) {
      let drawn = -1;
      for (let i = firstIn(lane, window_.from); i < lane.slices.length; ++i) {
        const s = lane.slices[i];
        if (D.slice_begin[s] > window_.to) break;
        drawn = drawSlice(g, s, lane, drawn);
      }
    }
    if (onlyPath) drawPath(g, ink);
    if (chosen >= 0) drawChosen(g, accent, before, after);
    g.restore();

    function drawSlice(g, s, lane, drawn) {
      const k = D.slice_task[s];
      const from = Math.max(x(D.slice_begin[s]), left - 2);
      const to = Math.min(x(endOf(s)), left + width + 2);
      const wide = to - from > 3 ? to - from - 0.6 : Math.max(to - from, 0.6);
      if (to <= drawn && D.state[k] !== 4) return drawn;  // a wider one hides it
      const colour = colourOfTask(k);
      const height = high > 4 ? high - 2 : high - 0.5;
      g.globalAlpha = isDim(k) ? 0.16 : D.state[k] === 2 ? 0.6 : 1;
      g.fillStyle = colour;
      g.fillRect(from, lane.y + 1, wide, height);
      if (D.state[k] === 4) {
        g.fillStyle = wide < 4 ? bad : pattern;
        g.fillRect(from, lane.y + 1, Math.max(wide, 2), height);
      }
      const isOnPath = critical.has(k) && !D.slice_late[s];
      if (isOnPath && wide > 2) {
        g.strokeStyle = ink;
        g.lineWidth = onlyPath ? 2.2 : 1.6;
        g.strokeRect(from + 0.8, lane.y + 1.8, wide - 1.6, height - 1.6);
      }
      if (high >= 18 && wide > 26 && D.state[k] !== 4) {
        const text = cut(labelOf(k), Math.floor((wide - 6) / 6.2));
        if (!inks.has(colour)) inks.set(colour, inkOn(colour));
        g.fillStyle = inks.get(colour);
        g.fillText(text, from + wide / 2, lane.y + high / 2 + 0.5);
      }
      g.globalAlpha = 1;
      return Math.max(drawn, Math.floor(2 * (from + wide)) / 2);
    }
  }
  function tickText(t, step) {
    const [unit, scale] = unitOf(span);
    const decimals = Math.max(0, Math.ceil(Math.log10(scale / step)));
    return (t / scale).toFixed(decimals) + ' ' + unit;
  }
  function hatching(g) {
    const tile = el('canvas', {width: 6, height: 6}), h = tile.getContext('2d');
    h.strokeStyle = '#B00020';
    h.lineWidth = 2.4;
    for (const shift of [-6, 0, 6]) {
      h.beginPath();
      h.moveTo(shift, 6);
      h.lineTo(shift + 6, 0);
      h.stroke();
    }
    return g.createPattern(tile, 'repeat');
  }
  const middle = s => laneOf(s).y + high / 2;
  const ownSlice = k => (slicesOf.get(k) || []).find(s => !D.slice_late[s]);
  function join(g, a, b) {
    const from = Math.min(endOf(a), D.slice_begin[b]);
    g.moveTo(x(from), middle(a));
    g.lineTo(x(D.slice_begin[b]), middle(b));
  }
  function drawPath(g, ink) {
    if (D.critical.length > 20000) return;
    g.strokeStyle = ink;
    g.lineWidth = onlyPath ? 2.2 : 1.1;
    g.beginPath();
    for (let i = 1; i < D.critical.length; ++i) {
      const a = ownSlice(D.critical[i - 1]), b = ownSlice(D.critical[i]);
      if (a !== undefined && b !== undefined) join(g, a, b);
    }
    g.stroke();
  }
  function drawChosen(g, accent, before, after) {
    const own = ownSlice(chosen);
    if (own === undefined) return;
    const draw = (edges, other, colour, isBefore) => {
      g.strokeStyle = colour;
      g.lineWidth = 1.6;
      g.beginPath();
      for (const e of edges.subarray(0, 300)) {
        const s = ownSlice(other[e]);
        if (s === undefined) continue;
        if (laneOf(s) !== laneOf(own)) {
          if (isBefore) join(g, s, own); else join(g, own, s);
        }
        g.rect(x(D.slice_begin[s]), laneOf(s).y + 1,
               x(endOf(s)) - x(D.slice_begin[s]), high - 2);
      }
      g.stroke();
    };
    draw(edgesTo(chosen), D.from, before, true);
    draw(edgesFrom(chosen), D.to, after, false);
    g.strokeStyle = accent;
    g.lineWidth = 3;
    for (const s of slicesOf.get(chosen)) {
      const from = x(D.slice_begin[s]);
      const wide = Math.max(x(endOf(s)) - from, 3);
      g.strokeRect(from, laneOf(s).y, wide, high);
    }
  }
  function sliceAt(at, y) {
    const lane = lanes.find(lane => y >= lane.y && y < lane.y + high);
    if (!lane || at < left || at > left + width) return -1;
    let best = -1, least = 4;
    for (let i = firstIn(lane, timeAt(at - 4)); i < lane.slices.length; ++i) {
      const s = lane.slices[i], from = x(D.slice_begin[s]);
      if (from > at + 4) break;
      const to = x(endOf(s));
      const apart = at < from ? from - at : at > to ? at - to : 0;
      if (apart < least) { least = apart; best = s; }
      if (apart === 0) break;
    }
    return best;
  }
  function zoom(factor, at = left + width / 2) {
    const ns = timeAt(Math.max(left, at));
    setWindow(ns - (ns - window_.from) / factor, ns + (window_.to - ns) / factor);
  }
  function pan(dx) {
    const by = -dx / width * (window_.to - window_.from);
    setWindow(window_.from + by, window_.to + by);
  }
  gestures(canvas, {
    pan, zoom,
    tap: (at, y) => { const s = sliceAt(at, y); if (s >= 0) choose(D.slice_task[s]); },
    hover: (at, y, event) => {
      const s = event ? sliceAt(at, y) : -1;
      if (s < 0) return tip('');
      const k = D.slice_task[s], from = D.slice_begin[s];
      tip(labelOf(k) + (D.state[k] === 3 ? '' : ' \u2014 ' + states[D.state[k]]) + '\n' +
          duration(D.slice_time[s]) + ', from ' + duration(from) + ' to ' +
          duration(from + D.slice_time[s]) + (critical.has(k) ? '\non the critical path' : ''),
          event);
    },
  });
  canvas.addEventListener('keydown', event => {
    const by = {ArrowLeft: () => pan(width / 8), ArrowRight: () => pan(-width / 8),
                '+': () => zoom(1.5), '-': () => zoom(1 / 1.5), 0: () => setWindow(0, span)};
    if (by[event.key]) { by[event.key](); event.preventDefault(); }
  });
  function show(k) {  // moves the window so that the task can be seen
    const s = ownSlice(k);
    if (s === undefined) return;
    const from = D.slice_begin[s], to = from + D.slice_time[s], range = window_.to - window_.from;
    if (to >= window_.from && from <= window_.to && (to - from) / range * width > 2) return;
    const wide = Math.max(Math.min(range, (to - from) * 60), (to - from) * 4, 100);
    setWindow((from + to - wide) / 2, (from + to + wide) / 2);
  }
  return {zoom, later, show, fit: () => setWindow(0, span), window: window_,
          where: k => {  // for tests: the middle of a task, in pixels of the canvas
            const s = ownSlice(k);
            return [x(D.slice_begin[s] + D.slice_time[s] / 2), middle(s)];
          }};
})();
