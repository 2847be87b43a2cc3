// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ---- Head, legend, search ----

byId('title').textContent = D.title;
byId('summary').textContent = D.summary;
byId('files').append(...D.files.map(([textContent, href]) => el('a', {textContent, href})));
byId('notes').append(...D.notes.map(textContent => el('p', {className: 'note', textContent})));
const work = D.labels.reduce((sum, label) => sum + label[3], 0);
const failed = D.labels.reduce((sum, label) => sum + label[9], 0);
const card = (value, name) => byId('cards').append(
  el('div', {className: 'card'}, el('b', {textContent: value}), el('span', {textContent: name})));
card(D.all, 'tasks');
if (D.slice_task.length) {
  card(duration(D.span), 'from begin to end');
  card((work / D.span).toFixed(2), 'tasks at a time, mean');
}
if (D.critical.length > 1) {
  card(duration(D.path), 'critical path, ' + counted(D.critical.length, 'task'));
  card(percent(D.path, D.span), 'of the time is that path');
}
if (failed) card(failed, 'failed');

function light(test, found) {
  lit = test ? Uint8Array.from({length: count}, (_, k) => test(k) ? 1 : 0) : null;
  if (found !== undefined) byId('found').textContent = found;
  graphs.forEach(each => each.dim());
  timeline.later();
}
D.families.forEach(([name, number, colours], f) => {
  const button = el('button', {onclick: () => {
    filter = filter === f ? null : f;
    [...byId('legend').children].forEach((each, i) =>
      each.setAttribute('aria-pressed', i === filter));
    byId('find').value = '';
    light(filter === null ? null : k => D.family[k] === f);
  }}, el('span', {}, ...colours.map(swatch)), el('span', {textContent: name}),
      el('span', {className: 'soft', textContent: number}));
  if (f < 40) byId('legend').append(button);
});
if (D.families.length > 40)
  byId('legend').append(el('span', {className: 'soft',
                                    textContent: (D.families.length - 40) + ' more labels'}));
const hint = byId('found').textContent;
byId('find').addEventListener('input', event => {
  const wanted = event.target.value.toLowerCase();
  if (!wanted) return light(null, hint);
  const is = D.texts.map(text => text.toLowerCase().includes(wanted));
  let sum = 0;
  for (let k = 0; k < count; ++k) sum += is[D.label[k]];
  light(k => is[D.label[k]], counted(sum, 'task'));
});
byId('find').addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !lit) return;
  const next = lit.indexOf(1, chosen + 1);
  const k = next >= 0 ? next : lit.indexOf(1);
  if (k >= 0) choose(k);
});
byId('zoom-in').onclick = () => timeline.zoom(1.6);
byId('zoom-out').onclick = () => timeline.zoom(1 / 1.6);
byId('zoom-fit').onclick = timeline.fit;
byId('show-critical').disabled = D.critical.length < 2;
byId('show-critical').onclick = event => {
  onlyPath = !onlyPath;
  event.target.setAttribute('aria-pressed', onlyPath);
  document.body.classList.toggle('critical', onlyPath);
  timeline.later();
};

// ---- Statistics ----

function drawCounters() {
  const kinds = [['running', D.counted_running], ['ready', D.counted_ready],
                 ['pending', D.counted_pending], ['submitted', D.counted_spawned]];
  const height = 58, gap = 14, all = kinds.length * (height + gap) + 20;
  const {g, full, left, colour, font} = draws(byId('counters'), all), width = full - left - 10;
  font(12);
  if (!D.time.length) return;
  const begin = D.time[0], range = D.time[D.time.length - 1] - begin || 1;
  const x = k => left + (D.time[k] - begin) / range * width;
  kinds.forEach(([name, values], row) => {
    const y = row * (height + gap) + 4, most = values.reduce((a, b) => Math.max(a, b), 1);
    g.fillStyle = colour('row');
    g.fillRect(left, y, width, height);
    g.beginPath();
    g.moveTo(left, y + height);
    values.forEach((value, k) => {
      const at = y + height - value / most * (height - 2);
      if (k) g.lineTo(x(k), y + height - values[k - 1] / most * (height - 2));
      g.lineTo(x(k), at);
    });
    g.lineTo(left + width, y + height);
    g.closePath();
    g.globalAlpha = 0.28;
    g.fillStyle = colour('accent');
    g.fill();
    g.globalAlpha = 1;
    g.strokeStyle = colour('accent');
    g.stroke();
    g.fillStyle = colour('ink');
    g.textAlign = 'right';
    g.fillText(name, left - 10, y + height / 2);
    g.fillStyle = colour('soft');
    g.fillText(most, left - 10, y + 8);
    g.fillText('0', left - 10, y + height - 4);
  });
  g.fillStyle = colour('soft');
  g.textAlign = 'left';
  g.fillText('the first is submitted', left, all - 9);
  g.textAlign = 'right';
  g.fillText(duration(range) + ' later', left + width, all - 9);
}
let sortedBy = 2;
function drawLabels() {
  const columns = [
    ['label', label => label[0], label => label[0]], ['tasks', label => label[2]],
    ['time', label => label[3], label => duration(label[3])],
    ['share', label => label[3], label => percent(label[3], work)],
    ['mean', label => label[3] / (label[7] || 1), label => duration(label[3] / (label[7] || 1))],
    ['shortest', label => label[4], label => duration(label[4])],
    ['longest', label => label[5], label => duration(label[5])],
    ['mean ready', label => label[6] / (label[7] || 1),
     label => duration(label[6] / (label[7] || 1))],
    ['critical', label => label[8]], ['failed', label => label[9]],
  ];
  const value = columns[sortedBy][1];
  const sorted = [...D.labels].sort((a, b) => sortedBy === 0 ? (value(a) < value(b) ? -1 : 1)
    : value(b) - value(a));
  byId('labels').replaceChildren(
    el('tr', {}, ...columns.map(([textContent], i) => el('th', {
      textContent, ariaSort: i === sortedBy ? 'descending' : 'none',
      onclick: () => { sortedBy = i; drawLabels(); }}))),
    ...sorted.slice(0, 200).map(label => el('tr', {}, ...columns.map(([, of, text], i) => {
      const cell = el('td', {}, String((text || of)(label)));
      if (i === 0) cell.prepend(swatch(colourOf(label[1], 0)), ' ');
      return cell;
    }))));
}

// ---- Begin ----

close();
function drawAll() {
  timeline.later();
  drawCounters();
  if (graph >= 0) graphs[graph].fit();
}
drawLabels();
showGraph(graphs.length ? 0 : -1);
drawAll();
let before = innerWidth;
addEventListener('resize', () => {
  if (innerWidth !== before) drawAll();  // a phone changes the height while it scrolls
  before = innerWidth;
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
const asked = /^#task-(\d+)$/.exec(startHash);
if (asked && D.id.includes(+asked[1])) choose(D.id.indexOf(+asked[1]));
window.trellis = {D, choose, timeline, chosen: () => chosen};
