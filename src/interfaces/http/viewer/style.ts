export const VIEWER_STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --line: #d9dce1; --paper: #fcfcfd; --sheet: #ffffff; --accent: #0b68cb; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ink: #edeef0; --soft: #a0a6af; --line: #33383f; --paper: #111315; --sheet: #181b1e; --accent: #70b8ff; --bad: #ff9592; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 3rem) 3rem; max-width: 72rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.25rem 1rem; border-bottom: 1px solid var(--line); padding-bottom: 0.75rem; }
h1 { font-size: 1rem; font-weight: 650; margin: 0; }
.facts { margin: 0; color: var(--soft); font-size: 0.875rem; }
.status { color: var(--soft); margin: 1.25rem 0 0; }
.status.bad { color: var(--bad); }
.status:empty { display: none; }
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 1.25rem; }
.actions[hidden], [hidden] { display: none; }
button { font: inherit; font-size: 0.875rem; padding: 0.35rem 0.9rem; border: 1px solid var(--line); border-radius: 0.4rem; background: var(--sheet); color: var(--ink); cursor: pointer; }
button:hover { border-color: var(--accent); }
button:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.metadata { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: 0.2rem 1rem; margin: 1.25rem 0 0; font-size: 0.875rem; }
.metadata dt { color: var(--soft); overflow-wrap: anywhere; }
.metadata dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { margin: 1.25rem 0 0; padding: 1rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 0.5rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font: 0.8125rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; tab-size: 4; }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
`;
