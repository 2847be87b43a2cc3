// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PAGEGRAPH_HPP
#define TRELLIS_IMPL_PAGEGRAPH_HPP

#include <string_view>

namespace trellis::Impl {

/// The second half of the script of the page that shows a trace: the graph, what was clicked, and
/// the statistics.
inline constexpr std::string_view page_graph = R"js(// ---- Graph ----

const graphs = [...document.querySelectorAll('.graph')].map((frame, f) => {
  const svg = frame.firstElementChild, fold = D.folds[f];
  const wide = +svg.getAttribute('width'), high = +svg.getAttribute('height');
  const nodes = [...svg.querySelectorAll('.tg-n')], edges = [...svg.querySelectorAll('.tg-e')];
  const tasks = nodes.map(() => []);
  fold.node.forEach((node, k) => { tasks[node].push(k); });
  const view = {x: 0, y: 0, scale: 1};
  let shown = -1;
  svg.removeAttribute('width');
  svg.removeAttribute('height');
  nodes.forEach(node => {
    node.setAttribute('tabindex', '0');
    node.addEventListener('keydown', event => {
      if (event.key === 'Enter') chooseNode(f, +node.dataset.node);
    });
  });
  const apply = () => {
    const w = frame.clientWidth / view.scale, h = frame.clientHeight / view.scale;
    view.x = w >= wide ? (wide - w) / 2 : Math.max(-w / 2, Math.min(view.x, wide - w / 2));
    view.y = h >= high ? (high - h) / 2 : Math.max(-h / 2, Math.min(view.y, high - h / 2));
    svg.setAttribute('viewBox', [view.x, view.y, w, h].join(' '));
  };
  const fit = () => {
    const most = Math.max(0.65 * innerHeight, 240), room = frame.clientWidth;
    view.scale = Math.min(1.1, Math.max(room / wide, 0.7));
    frame.style.height = Math.min(most, Math.max(90, high * view.scale)) + 'px';
    view.x = 0;
    // A graph that is too high is seen from its first node.
    const boxes = nodes.map(node => node.querySelector('.tg-b'));
    const first = boxes.reduce((a, b) => +b.getAttribute('x') < +a.getAttribute('x') ? b : a,
                               boxes[0]);
    const middle = first ? +first.getAttribute('y') + 17 : high / 2;
    view.y = middle - frame.clientHeight / view.scale / 2;
    apply();
  };
  const zoom = (factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
    const least = Math.min(0.1, frame.clientWidth / wide);
    const scale = Math.max(least, Math.min(view.scale * factor, 4));
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    apply();
  };
  gestures(svg, {
    zoom, hover: () => {},
    pan: (dx, dy) => { view.x -= dx / view.scale; view.y -= dy / view.scale; apply(); },
    tap: (x, y, event) => {
      const hit = document.elementFromPoint(event.clientX, event.clientY);
      const node = hit && hit.closest('.tg-n');
      if (node) chooseNode(f, +node.dataset.node);
    },
  });
  const mark = node => {
    shown = node;
    nodes.forEach((each, i) => each.classList.toggle('sel', i === node));
    edges.forEach(edge => {
      edge.classList.toggle('before', +edge.dataset.to === node);
      edge.classList.toggle('after', +edge.dataset.from === node);
    });
    if (node < 0 || frame.hidden) return;
    const box = nodes[node].firstElementChild.nextElementSibling;
    const x = +box.getAttribute('x') + box.getAttribute('width') / 2;
    const y = +box.getAttribute('y') + box.getAttribute('height') / 2;
    const w = frame.clientWidth / view.scale, h = frame.clientHeight / view.scale;
    if (x > view.x && x < view.x + w && y > view.y && y < view.y + h) return;
    view.x = x - w / 2;
    view.y = y - h / 2;
    apply();
  };
  const dim = () => nodes.forEach((node, i) =>
    node.classList.toggle('dim', lit !== null && !tasks[i].some(k => lit[k])));
  return {frame, fold, tasks, edges, fit, zoom, mark, dim, remark: () => mark(shown)};
});
let graph = -1;
function showGraph(f) {
  graph = f;
  graphs.forEach((each, i) => { each.frame.hidden = i !== f; });
  [...byId('folds').querySelectorAll('.level')].forEach((button, i) =>
    button.setAttribute('aria-pressed', i === f));
  if (f < 0) return;
  graphs[f].fit();
  graphs[f].remark();
}
const names = ['each task', 'by label and step', 'by label'];
graphs.forEach((each, f) => {
  const nodes = each.fold.nodes.length;
  byId('folds').append(el('button', {
    className: 'level', onclick: () => showGraph(f),
    textContent: (each.fold.steps > 1 ? 'by label and ' + each.fold.steps + ' steps'
      : names[each.fold.by]) + ' (' + nodes + ')',
  }));
});
if (graphs.length) {
  byId('folds').append(
    el('button', {textContent: '+', ariaLabel: 'zoom in', onclick: () => graphs[graph].zoom(1.4)}),
    el('button', {textContent: '\u2212', ariaLabel: 'zoom out',
                  onclick: () => graphs[graph].zoom(1 / 1.4)}),
    el('span', {className: 'soft', textContent: 'Without edges that follow from others.' +
      (D.all > 200 ? ' More than 200 tasks are folded.' : '')}));
}

// ---- What was clicked ----

const panel = byId('panel');
function fill(...content) {
  panel.replaceChildren(el('button', {id: 'close', textContent: '\u00D7', ariaLabel: 'close',
                                      onclick: close}), ...content);
  panel.classList.remove('empty');
  document.body.classList.add('open');
  panel.scrollTop = 0;
}
function close() {
  chosen = -1;
  panel.classList.add('empty');
  panel.replaceChildren(el('h2', {textContent: 'Click a task'}), el('p', {
    className: 'soft', textContent: 'on the timeline or in the graph: here are its times, its ' +
      'accesses, and the tasks before and after it.'}));
  document.body.classList.remove('open');
  history.replaceState(null, '', location.pathname + location.search);
  graphs.forEach(each => each.mark(-1));
  timeline.later();
}
function definitions(pairs) {
  const list = el('dl');
  for (const [name, value] of pairs)
    if (value !== '' && value !== null)
      list.append(el('dt', {textContent: name}), el('dd', {}, value));
  return list;
}
function taskButton(k, remark) {
  return el('button', {className: 'task', onclick: () => choose(k)},
            swatch(colourOf(D.family[k], D.shade[k])), el('span', {textContent: labelOf(k)}),
            el('span', {textContent: remark}));
}
function tasksList(title, items) {  // of [task, remark]
  if (!items.length) return [el('h3', {textContent: title + ': none'})];
  const most = 60;
  const shown = items.slice(0, most).map(([k, remark]) => taskButton(k, remark));
  if (items.length > most)
    shown.push(el('p', {className: 'soft', textContent: 'and ' + (items.length - most) + ' more'}));
  return [el('h3', {textContent: title + ': ' + items.length}), ...shown];
}
// Which of these neighbours of a task are reached from others of them, by dependencies that no
// demotion has released. A long search is given up.
function impliedOf(near, edgesOf, ends) {
  const least = near.reduce((a, b) => Math.min(a, b), Infinity);
  const most = near.reduce((a, b) => Math.max(a, b), -1), found = new Set();
  const wanted = new Set(near), seen = new Set(), open = [...near];
  for (let steps = 0; open.length && steps < 300000;) {
    for (const e of edgesOf(open.pop())) {
      ++steps;
      if (!D.counts[e]) continue;
      const next = ends[e];
      if (wanted.has(next)) found.add(next);
      if (seen.has(next) || wanted.has(next) || next < least || next > most) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return found;
}
function neighboursList(title, edgesOf, ends, k) {
  const all = neighbours(edgesOf(k), ends);
  const implied = impliedOf(all.map(item => item[0]), edgesOf, ends);
  const shown = tasksList(title, all.filter(item => !implied.has(item[0])));
  if (!implied.size) return shown;
  const rest = tasksList('', all.filter(item => implied.has(item[0]))).slice(1);
  return [...shown, el('details', {}, el('summary', {
    textContent: implied.size + ' more, which follow from these'}), ...rest)];
}
function neighbours(edges, ends) {  // several edges may join two tasks
  const reasons = new Map();
  for (const e of edges) {
    const k = ends[e], reason = D.texts[D.reason[e]];
    reasons.set(k, reasons.has(k) ? reasons.get(k) + ', ' + reason : reason);
  }
  return [...reasons].sort((a, b) => a[0] - b[0]);
}
function choose(k) {
  chosen = k;
  const own = slicesOf.get(k) || [], state = states[D.state[k]];
  const begin = own.length ? D.slice_begin[own[0]] : null;
  const end = own.length ? Math.max(...own.map(s => D.slice_begin[s] + D.slice_time[s])) : null;
  const badges = [];
  if (critical.has(k)) badges.push(el('span', {className: 'badge', textContent:
    'on the critical path'}));
  if (state !== 'done') badges.push(el('span', {
    className: 'badge' + (state === 'failed' || state === 'cancelled' ? ' bad' : ''),
    textContent: state}));
  const rows = [...new Set(own.map(s => D.rows[D.slice_row[s]][0]))].join(', ');
  const ready = D.ready[k], submitted = D.submitted[k];
  const accesses = el('table');
  if (D.accesses[k]) accesses.append(el('tr', {}, ...['mode', 'view', 'area'].map(
    textContent => el('th', {textContent}))));
  for (let a = firstAccess[k]; a < firstAccess[k + 1]; ++a)
    accesses.append(el('tr', {}, ...D.texts[D.access[a]].split('\t').map(
      textContent => el('td', {textContent}))));
  fill(
    el('h2', {}, swatch(colourOf(D.family[k], D.shade[k])), el('span', {textContent: labelOf(k)})),
    ...badges,
    definitions([
      ['Worker', rows || 'did not run'], ['Took', end === null ? null : duration(end - begin)],
      ['Began', begin === null ? null : duration(begin)],
      ['Ended', end === null ? null : duration(end)],
      ['Was ready for', begin === null || ready === null || ready > begin ? null
        : duration(begin - ready)],
      ['Was pending for', ready === null || submitted === null ? null
        : duration(ready - submitted)],
      ['Kind', D.texts[D.kind[k]]],
      ['Submitted at', D.place[k] ? el('span', {
        title: D.texts[D.place[k]], textContent: D.texts[D.place[k]].split('/').pop()}) : ''],
      ['Task', '#' + D.id[k]],
    ]),
    ...(D.parent[k] < 0 ? [] : tasksList('Child of', [[D.parent[k], '']])),
    el('h3', {textContent: 'Accesses: ' + (D.accesses[k] || 'none')}), accesses,
    ...neighboursList('Predecessors', edgesTo, D.from, k),
    ...neighboursList('Successors', edgesFrom, D.to, k),
    ...(children.has(k) ? tasksList('Children', children.get(k).map(child => [child, ''])) : []));
  history.replaceState(null, '', '#task-' + D.id[k]);
  graphs.forEach(each => each.mark(each.fold.node[k]));
  timeline.show(k);
  timeline.later();
}
const colourOfFirst = ([k]) => k === undefined ? '#808080' : colourOf(D.family[k], D.shade[k]);
function chooseNode(f, node) {
  const {fold, tasks, edges} = graphs[f], [label, number, time, inner, ...of] = fold.nodes[node];
  if (number === 1 && tasks[node].length) return choose(tasks[node][0]);
  chosen = -1;
  const near = (one, other) => edges.filter(edge => +edge.dataset[one] === node).map(edge => {
    const next = +edge.dataset[other];
    return el('button', {className: 'task', onclick: () => chooseNode(f, next)},
              swatch(colourOfFirst(graphs[f].tasks[next])),
              el('span', {textContent: fold.nodes[next][0]}),
              el('span', {textContent: edge.textContent}));
  });
  const before = near('to', 'from'), after = near('from', 'to');
  fill(
    el('h2', {}, swatch(colourOfFirst(tasks[node])), el('span', {textContent: label})),
    definitions([
      ['Stands for', counted(number, 'task')], ['Took', duration(time) + ' in all'],
      ['Mean', number ? duration(time / number) : null],
      ...of.map((tasksIn, state) => [states[state], tasksIn ? String(tasksIn) : '']),
      ['Edges within', inner ? String(inner) : ''],
      ['On critical path', String(tasks[node].filter(k => critical.has(k)).length || '')],
    ]),
    el('h3', {textContent: 'Before: ' + (before.length || 'none')}), ...before,
    el('h3', {textContent: 'After: ' + (after.length || 'none')}), ...after,
    ...tasksList('Tasks', tasks[node].map(k => [k, duration(timeOf(k))])));
  graphs.forEach((each, i) => each.mark(i === f ? node : -1));
  timeline.later();
}
addEventListener('keydown', event => { if (event.key === 'Escape') close(); });

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
  const css = getComputedStyle(document.documentElement);
  const colour = name => css.getPropertyValue('--' + name).trim();
  const area = byId('counters'), scale = devicePixelRatio || 1, full = area.clientWidth;
  const kinds = [['running', D.counted_running], ['ready', D.counted_ready],
                 ['pending', D.counted_pending], ['submitted', D.counted_spawned]];
  const height = 58, gap = 14, left = full < 600 ? 84 : 136, width = full - left - 10;
  const all = kinds.length * (height + gap) + 20;
  area.style.height = all + 'px';
  area.width = Math.round(full * scale);
  area.height = Math.round(all * scale);
  const g = area.getContext('2d');
  g.scale(scale, scale);
  g.font = '12px system-ui,Helvetica,Arial,sans-serif';
  g.textBaseline = 'middle';
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
})();
)js";

}  // namespace trellis::Impl

#endif
