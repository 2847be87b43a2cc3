// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ---- Graph ----

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
