import { toBase64 } from '../../../base/base64.ts';
import { VIEWER_SCRIPT } from './script.ts';

/**
 * What a browser gets for a pointer: a page that fetches the payload itself, decrypts it there if the URL has a key,
 * and shows it as text. It is the same for every pointer and never touches one, so a link preview costs no pull.
 */
export async function viewerResponse(): Promise<Response> {
  policy ??= contentPolicy();
  return new Response(HTML, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': await policy,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Cache-Control': 'no-store',
      Vary: 'Accept',
    },
  });
}

let policy: Promise<string> | null = null;

async function contentPolicy(): Promise<string> {
  return [
    "default-src 'none'",
    `script-src 'sha256-${await sha256Base64(VIEWER_SCRIPT)}'`,
    `style-src 'sha256-${await sha256Base64(VIEWER_STYLE)}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

async function sha256Base64(text: string): Promise<string> {
  return toBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))));
}

const VIEWER_STYLE = `
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

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>ContextRelay pointer</title>
<style>${VIEWER_STYLE}</style>
</head>
<body>
<header>
  <h1>ContextRelay</h1>
  <p id="facts" class="facts"></p>
</header>
<main>
  <p id="status" class="status" role="status">Looking it up…</p>
  <div id="actions" class="actions" hidden>
    <button id="show" type="button" hidden>Show it (uses one of its pulls)</button>
    <button id="copy" type="button" hidden>Copy</button>
    <button id="save" type="button" hidden>Save</button>
  </div>
  <dl id="metadata" class="metadata" hidden></dl>
  <pre id="content" tabindex="0" hidden></pre>
  <noscript><p class="status">This page decrypts in your browser and needs JavaScript. Without it: <code>relay pull</code>, or add <code>?raw=1</code> to the address.</p></noscript>
</main>
<script>${VIEWER_SCRIPT}</script>
</body>
</html>
`;
