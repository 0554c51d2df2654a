import { VIEWER_SCRIPT } from './script.ts';
import { VIEWER_STYLE } from './style.ts';

/**
 * What a browser gets for a pointer: a page that fetches the payload itself, decrypts it there if the URL has a key,
 * and shows it as text. It is the same for every pointer and never touches one, so a link preview costs no pull.
 */
export async function viewerResponse(): Promise<Response> {
  const { html, policy } = await page();
  return new Response(html, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Cache-Control': 'no-store',
      Vary: 'Accept',
    },
  });
}

let made: Promise<{ html: string; policy: string }> | null = null;

function page(): Promise<{ html: string; policy: string }> {
  made ??= make();
  return made;
}

async function make(): Promise<{ html: string; policy: string }> {
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${await sha256Base64(VIEWER_SCRIPT)}'`,
    `style-src 'sha256-${await sha256Base64(VIEWER_STYLE)}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html: HTML, policy };
}

async function sha256Base64(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...digest));
}

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
