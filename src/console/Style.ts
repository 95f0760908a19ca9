import { hash } from "node:crypto"

/** The stylesheet of all pages. Light and dark colours both have a contrast of at least 4.5:1. */
export const stylesheet = `:root {
  color-scheme: light dark;
  --ground: #f6f6f4;
  --sheet: #ffffff;
  --ink: #1d1f23;
  --quiet: #565b64;
  --line: #8a8f98;
  --soft: #d9dbe0;
  --accent: #1450b8;
  --on-accent: #ffffff;
  --danger: #a3201d;
  --alert: #fdecea;
  --note: #e8f1e6;
  --good: #1d6b33;
  --wait: #7a4b00;
  --mark: #ffe9a8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181c;
    --sheet: #1f2228;
    --ink: #eceef1;
    --quiet: #b3b9c4;
    --line: #858c99;
    --soft: #3a3f49;
    --accent: #8ab4ff;
    --on-accent: #0c1a33;
    --danger: #ff9d96;
    --alert: #40201f;
    --note: #1d3222;
    --good: #8fd6a0;
    --wait: #f0c27a;
    --mark: #5a4a12;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 0.5rem; top: 0.5rem; background: var(--sheet); padding: 0.5rem 1rem; }
header.site { background: var(--sheet); border-bottom: 1px solid var(--soft); }
header.site > div, main { max-width: 60rem; margin: 0 auto; padding: 0 1rem; }
header.site > div { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1.5rem; padding-block: 0.75rem; }
header.site .brand { font-weight: 700; }
header.site nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; list-style: none; margin: 0; padding: 0; }
header.site nav a[aria-current] { color: var(--ink); font-weight: 600; text-decoration-thickness: 2px; }
header.site button { white-space: nowrap; }
header.site .who > span { min-width: 0; overflow-wrap: anywhere; }
header.site .who { margin-left: auto; display: flex; align-items: center; gap: 0.75rem; }
main { padding-block: 1.5rem 4rem; }
main.narrow { max-width: 34rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0 1rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2rem 0 0.75rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.5rem 0; }
.quiet { color: var(--quiet); }
.sheet { background: var(--sheet); border: 1px solid var(--soft); border-radius: 0.5rem; padding: 1rem 1.25rem; }
.alert > p, .note > p { margin: 0; }
.note > p + code.secret { margin-top: 0.75rem; }
.alert, .note { border-radius: 0.5rem; padding: 0.75rem 1rem; margin: 1rem 0; }
.alert { background: var(--alert); border: 1px solid var(--danger); }
.note { background: var(--note); border: 1px solid var(--line); }
form.fields > label + p.quiet { margin-top: -0.75rem; }
form.fields, form div.fields { display: grid; gap: 1rem; margin-top: 1.25rem; }
label, legend { font-weight: 600; }
label.choice { font-weight: 400; display: grid; grid-template-columns: auto 1fr; gap: 0 0.75rem; padding: 0.5rem 0; }
label.choice strong, label.choice span { grid-column: 2; }
label.choice input { grid-row: 1; margin-top: 0.3rem; }
fieldset { border: 1px solid var(--line); border-radius: 0.5rem; margin: 0; padding: 0.5rem 1rem; }
input[type="search"], input[type="email"], input[type="password"], input[type="text"], input[type="date"],
input[type="datetime-local"], select, textarea {
  display: block;
  width: 100%;
  margin-top: 0.25rem;
  padding: 0.5rem 0.75rem;
  font: inherit;
  font-weight: 400;
  color: inherit;
  background: var(--ground);
  border: 1px solid var(--line);
  border-radius: 0.375rem;
}
input[type="file"] { display: block; width: 100%; margin-top: 0.25rem; padding-block: 0.5rem; font: inherit; font-weight: 400; }
textarea { min-height: 6rem; resize: vertical; }
input[aria-invalid="true"], select[aria-invalid="true"], textarea[aria-invalid="true"] { border-color: var(--danger); border-width: 2px; }
.wrong { color: var(--danger); font-weight: 400; }
button, a.button {
  font: inherit;
  font-weight: 600;
  padding: 0.5rem 1.1rem;
  border-radius: 0.375rem;
  border: 1px solid var(--accent);
  background: var(--accent);
  color: var(--on-accent);
  cursor: pointer;
}
a.button { display: inline-block; text-decoration: none; }
button.plain { background: transparent; color: var(--accent); }
button.danger { background: transparent; color: var(--danger); border-color: var(--danger); }
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; }
ul.records { list-style: none; margin: 0; padding: 0; display: grid; gap: 0.75rem; }
ul.records > li { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; align-items: start; }
ul.records > li > div { flex: 1 1 20rem; min-width: 0; }
table { width: 100%; border-collapse: collapse; }
table.sheet { border-collapse: separate; border-spacing: 0; padding: 0.25rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.5rem 1rem; min-width: 8rem; overflow-wrap: anywhere; }
thead th { color: var(--quiet); font-weight: 600; overflow-wrap: normal; }
tbody th { font-weight: 600; }
tbody th .quiet { font-weight: 400; }
tbody th, tbody td { border-top: 1px solid var(--soft); }
td ul, td ol, .value ol { margin: 0; padding-left: 1.25rem; }
td.number { font-variant-numeric: tabular-nums; }
dd { grid-column: 2; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.state { display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 0.6rem; font-size: 0.875rem; font-weight: 600; white-space: nowrap; }
.state.good { color: var(--good); }
.state.wait { color: var(--wait); }
.state.bad { color: var(--danger); }
.state.idle { color: var(--quiet); }
ul.tally { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; list-style: none; margin: 1rem 0 0; padding: 0; }
ul.tally strong { display: block; font-size: 1.4rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
ul.tally .bad strong { color: var(--danger); }
.value { white-space: pre-wrap; overflow-wrap: anywhere; }
mark { background: var(--mark); color: inherit; border-radius: 0.2rem; }
fieldset.conflict { background: var(--sheet); border-color: var(--soft); padding: 0.5rem 1.25rem 1rem; min-width: 0; }
fieldset.conflict legend { background: var(--sheet); border: 1px solid var(--soft); border-radius: 0.375rem; padding: 0.1rem 0.6rem; max-width: 100%; overflow-wrap: anywhere; }
.versus { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: 0.5rem; }
.versus > div { border: 1px solid var(--soft); border-radius: 0.375rem; padding: 0.5rem 0.75rem; min-width: 0; background: var(--ground); }
.versus > div:has(input:checked) { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.versus .value { margin-top: 0.25rem; }
label.pick { display: flex; gap: 0.5rem; align-items: baseline; }
details { margin-top: 0.75rem; }
nav.pages { display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; margin: 1rem 0; }
form.search { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: end; margin-bottom: 1.25rem; }
form.search label { flex: 1 1 14rem; }
@media (max-width: 44rem) {
  .versus { grid-template-columns: 1fr; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  table, tbody, tr, tbody th, tbody td { display: block; }
  tbody tr { border-top: 1px solid var(--soft); padding: 0.5rem 0; }
  tbody tr:first-child { border-top: 0; }
  tbody th, tbody td { border-top: 0; padding: 0.2rem 1rem; }
  tbody td::before { content: attr(data-label); content: attr(data-label) / ""; display: block; color: var(--quiet); font-size: 0.875rem; }
}
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0.5rem 0 0; }
main > .sheet > dl:first-child { margin-top: 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
code.secret { display: block; padding: 0.75rem 1rem; background: var(--ground); border: 1px solid var(--line); user-select: all; }
td time { white-space: nowrap; }
form.line + p { margin-top: 1rem; }
form.line { display: flex; flex-wrap: wrap; align-items: end; gap: 0.75rem; }
form.line label { flex: 1 1 11rem; min-width: 0; max-width: 22rem; }
.above { display: flex; flex-wrap: wrap; align-items: end; justify-content: space-between; gap: 0.75rem 1.5rem; }
nav.trail { margin-bottom: 0.75rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1rem; margin-top: 1.5rem; }
.cards > section { display: flex; flex-direction: column; gap: 0.75rem; min-width: 0; scroll-margin-top: 1rem; }
.cards h2, .cards p, .cards .note, .cards details { margin: 0; }
.cards form.line { margin-top: auto; padding-top: 0.75rem; border-top: 1px solid var(--soft); justify-content: space-between; }
.score strong { font-size: 2.25rem; line-height: 1; font-variant-numeric: tabular-nums; }
svg.bar { display: block; width: 100%; height: 0.625rem; border-radius: 0.3rem; }
svg.bar .rail { fill: var(--soft); }
svg.bar .part { fill: var(--accent); }
svg.bar.good .part { fill: var(--good); }
svg.bar.wait .part { fill: var(--wait); }
svg.bar.bad .part { fill: var(--danger); }
svg.days { display: block; width: 100%; height: 4rem; margin: 0.75rem 0; }
svg.days .part { fill: var(--accent); }
table.chart { display: table; }
table.chart tbody { display: table-row-group; }
table.chart tr { display: table-row; padding: 0; }
table.chart tbody th, table.chart tbody td { display: table-cell; border: 0; min-width: 0; padding: 0.25rem 0; font-weight: 400; vertical-align: middle; }
table.chart tbody td::before { content: none; }
table.chart thead th { min-width: 0; padding: 0; }
table.chart tbody td.number { width: 1%; padding-inline: 0.75rem; text-align: right; white-space: nowrap; }
table.chart tbody td.drawn { width: 35%; }
details > summary { cursor: pointer; color: var(--accent); }
`

/** The name contains a hash of the content, so browsers can cache the file forever. */
export const stylesheetPath: `/${string}` = `/assets/console-${hash("sha256", stylesheet, "hex").slice(0, 12)}.css`
