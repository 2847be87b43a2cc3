// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
const heading = (colour, textContent) => el('h2', {}, swatch(colour), el('span', {textContent}));
const entry = (colour, textContent, remark, onclick) => el('button', {className: 'task', onclick},
  swatch(colour), el('span', {textContent}), el('span', {textContent: remark}));
const row = (tag, texts) => el('tr', {}, ...texts.map(textContent => el(tag, {textContent})));
function tasksList(title, items) {  // of [task, remark]
  if (!items.length) return [el('h3', {textContent: title + ': none'})];
  const most = 60;
  const shown = items.slice(0, most).map(
    ([k, remark]) => entry(colourOfTask(k), labelOf(k), remark, () => choose(k)));
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
  const end = own.length ? Math.max(...own.map(endOf)) : null;
  const badges = [];
  if (critical.has(k)) badges.push(el('span', {className: 'badge', textContent:
    'on the critical path'}));
  if (state !== 'done') badges.push(el('span', {
    className: 'badge' + (state === 'failed' || state === 'cancelled' ? ' bad' : ''),
    textContent: state}));
  const rows = [...new Set(own.map(s => D.rows[D.slice_row[s]][0]))].join(', ');
  const ready = D.ready[k], submitted = D.submitted[k];
  const accesses = el('table');
  if (D.accesses[k]) accesses.append(row('th', ['mode', 'view', 'area']));
  for (let a = firstAccess[k]; a < firstAccess[k + 1]; ++a)
    accesses.append(row('td', D.texts[D.access[a]].split('\t')));
  fill(
    heading(colourOfTask(k), labelOf(k)),
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
const colourOfFirst = ([k]) => k === undefined ? '#808080' : colourOfTask(k);
function chooseNode(f, node) {
  const {fold, tasks, edges} = graphs[f], [label, number, time, inner, ...of] = fold.nodes[node];
  if (number === 1 && tasks[node].length) return choose(tasks[node][0]);
  chosen = -1;
  const near = (one, other) => edges.filter(edge => +edge.dataset[one] === node).map(edge => {
    const next = +edge.dataset[other];
    return entry(colourOfFirst(tasks[next]), fold.nodes[next][0], edge.textContent,
                 () => chooseNode(f, next));
  });
  const before = near('to', 'from'), after = near('from', 'to');
  fill(
    heading(colourOfFirst(tasks[node]), label),
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
