// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PAGESTYLE_HPP
#define TRELLIS_IMPL_PAGESTYLE_HPP

#include <string_view>

/// The frame and the style of the page that shows a trace.
namespace trellis::Impl {

inline constexpr std::string_view page_style = R"css(
:root{--paper:#FFFFFF;--card:#F5F6F8;--ink:#1A1A1A;--soft:#5F6368;--line:#D5D8DC;--accent:#0B63B0;
  --bad:#B00020;--row:#F5F6F8;--before:#0B63B0;--after:#B45309;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--paper:#16181C;--card:#20242A;--ink:#E8EAED;--soft:#A2A9B3;
  --line:#3A4048;--accent:#7CB8F5;--bad:#FF8095;--row:#1D2126;--before:#7CB8F5;--after:#F0A860}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
  font:14px/1.45 system-ui,"Segoe UI",Helvetica,Arial,"DejaVu Sans",sans-serif}
header,main{padding:0 24px;max-width:1700px;margin:0 auto}
h1{font-size:22px;margin:20px 0 2px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0}
p{margin:4px 0}
a{color:var(--accent)}
.soft,#summary{color:var(--soft)}
#files{display:flex;flex-wrap:wrap;gap:2px 14px}
.note{background:var(--card);border-left:4px solid var(--after);padding:8px 12px;margin:10px 0;
  border-radius:0 6px 6px 0}
.entry{background:var(--card);border-radius:10px;padding:10px 16px;margin:10px 0}
.entry a{font-size:17px;font-weight:600}
#cards{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0 4px}
.card{background:var(--card);border-radius:10px;padding:8px 14px;min-width:118px}
.card b{display:block;font-size:19px;font-weight:600;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:12.5px}
section{margin:22px 0}
.tools{display:flex;flex-wrap:wrap;align-items:center;gap:8px;margin:8px 0}
.tools .soft{font-size:12.5px}
button,input{font:inherit;color:inherit}
.tools button,.tools input{background:var(--card);border:1px solid var(--line);border-radius:7px;
  padding:4px 11px;min-height:32px}
.tools button{cursor:pointer}
.tools button:hover{border-color:var(--accent)}
.tools button[aria-pressed=true]{background:var(--accent);border-color:var(--accent);
  color:var(--paper)}
.tools input{width:170px}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
#timeline,#counters{display:block;width:100%;touch-action:pan-y}
#timeline{cursor:grab}
#legend{display:flex;flex-wrap:wrap;gap:4px 6px;margin:6px 0}
#legend button{display:flex;align-items:center;gap:7px;background:none;border:1px solid transparent;
  border-radius:7px;padding:3px 8px;cursor:pointer;text-align:left;overflow-wrap:anywhere}
#legend button:hover,#legend button[aria-pressed=true]{border-color:var(--accent)}
.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;flex:none}
.graph{border:1px solid var(--line);border-radius:10px;overflow:hidden}
.graph svg{display:block;width:100%;height:100%;touch-action:pan-y;cursor:grab;user-select:none}
.tg-n{cursor:pointer}
.tg-n text{pointer-events:none}
body .tg{color:var(--ink)}
body .tg-p{fill:none}
.tg-n.sel .tg-b{stroke:var(--accent);stroke-width:4;stroke-dasharray:none}
.tg-e.before{stroke:var(--before);stroke-width:2.4}
.tg-e.after{stroke:var(--after);stroke-width:2.4}
.tg-n.dim,.critical .tg-n:not(.tg-path),.critical .tg-e:not(.tg-k){opacity:.22}
pre{overflow-x:auto;background:var(--card);border-radius:10px;padding:12px 16px;margin:8px 0;
  font:12.5px/1.45 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
.wide{overflow-x:auto;margin:10px 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child,#panel td,#panel th{text-align:left}
th{color:var(--soft);font-weight:600}
#labels th{cursor:pointer}
#labels td:first-child{white-space:normal;overflow-wrap:anywhere;min-width:170px}
summary{cursor:pointer;color:var(--accent)}
#panel{background:var(--card);border-radius:12px;padding:14px 16px;overflow:auto}
#panel h2{display:flex;gap:9px;align-items:baseline;overflow-wrap:anywhere;padding-right:30px}
#panel h3{font-size:13px;margin:14px 0 4px;color:var(--soft)}
#panel table{width:100%}
#panel td,#panel th{padding:3px 8px 3px 0;white-space:normal;overflow-wrap:anywhere;
  vertical-align:top}
#panel dl{display:grid;grid-template-columns:auto 1fr;gap:2px 12px;margin:8px 0}
#panel dt{color:var(--soft)}
#panel dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
#close{position:sticky;float:right;top:0;border:0;background:none;font-size:19px;cursor:pointer;
  padding:0 6px}
.badge{display:inline-block;border-radius:5px;padding:0 8px;margin:6px 6px 0 0;font-size:12.5px;
  border:1px solid currentColor}
.badge.bad{color:var(--bad)}
.task{display:flex;gap:8px;align-items:baseline;width:100%;border:0;background:none;padding:3px 0;
  text-align:left;cursor:pointer;color:var(--accent);overflow-wrap:anywhere}
.task span:last-child{color:var(--soft);font-size:12.5px;margin-left:auto;white-space:nowrap}
.task:hover{text-decoration:underline}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--paper);
  border-radius:7px;padding:6px 10px;font-size:12.5px;max-width:340px;white-space:pre-line;
  overflow-wrap:anywhere}
@media(min-width:1000px){
  main{display:grid;grid-template:repeat(3,auto) 1fr/minmax(0,1fr) 340px;column-gap:22px}
  main>section{grid-column:1}
  #panel{grid-column:2;grid-row:1/span 4;position:sticky;top:16px;align-self:start;
    max-height:calc(100vh - 32px);margin-top:22px}
  #panel.empty #close{display:none}
}
@media(max-width:999px){
  header,main{padding:0 12px}
  #panel{position:fixed;z-index:8;left:0;right:0;bottom:0;max-height:52vh;
    border-radius:16px 16px 0 0;box-shadow:0 -3px 18px #0006}
  #panel.empty{display:none}
  body.open{padding-bottom:52vh}
  .card{flex:1 1 40%;min-width:0}
}
)css";

inline constexpr std::string_view page_before = R"html(<body>
<header>
<h1 id="title"></h1>
<p id="summary"></p>
<p id="files"></p>
<div id="notes"></div>
<div id="cards"></div>
</header>
<main>
<section>
<h2>Timeline</h2>
<div class="tools">
<button id="zoom-in" aria-label="zoom in">+</button>
<button id="zoom-out" aria-label="zoom out">&minus;</button>
<button id="zoom-fit">All</button>
<button id="show-critical" aria-pressed="false">Critical path</button>
<input id="find" type="search" placeholder="Find a label" aria-label="find a label">
<span class="soft" id="found">Click a task. Drag to move; Ctrl + wheel or two fingers
zoom.</span>
</div>
<canvas id="timeline" tabindex="0" role="img" aria-label="timeline of all tasks"></canvas>
<div id="legend"></div>
</section>
<aside id="panel" class="empty" aria-live="polite"></aside>
<section>
<h2>Graph</h2>
<div class="tools" id="folds"></div>
<div id="graphs">
)html";
inline constexpr std::string_view page_between = R"html(</div>
</section>
<section>
<h2>Analysis</h2>
<pre id="analysis">)html";
inline constexpr std::string_view page_after = R"html(</pre>
</section>
<section>
<h2>Statistics</h2>
<p class="soft">Tasks over time</p>
<canvas id="counters" role="img" aria-label="numbers of tasks over time"></canvas>
<div class="wide"><table id="labels"></table></div>
<details><summary>As text</summary><pre>)html";
inline constexpr std::string_view page_end = R"html(</pre></details>
</section>
</main>
<div id="tip" hidden></div>
)html";

}  // namespace trellis::Impl

#endif
