/** An attacker's page: its markup, and the headers that its server sends. */
export interface HostilePage {
  readonly html: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set if a page can send only one such request, for example because it navigates away. */
  readonly once?: true;
}

const script = (code: string) => `<script>${code}</script>`;
const module = (code: string) => `<script type="module">${code}</script>`;
const CLICK = 'document.currentScript.previousElementSibling.click()';
const SUBMIT = 'document.currentScript.previousElementSibling.submit()';
const redirected = (url: string) => `/redirect?to=${encodeURIComponent(url)}`;

/** Ways in which a web page can make a browser send a request, by name. Each sends one request to `url`. */
export const PAGE_REQUESTS: Readonly<Record<string, (url: string) => HostilePage>> = {
  iframe: (url) => ({ html: `<iframe src="${url}"></iframe>` }),
  'iframe in a sandbox': (url) => ({ html: `<iframe sandbox src="${url}"></iframe>` }),
  'iframe in an iframe': (url) => ({
    html: `<iframe srcdoc='<iframe src="${url}"></iframe>'></iframe>`,
  }),
  'iframe by a redirect': (url) => ({ html: `<iframe src="${redirected(url)}"></iframe>` }),
  'iframe by location': (url) => ({
    html: `<iframe></iframe>${script(`document.currentScript.previousElementSibling.contentWindow.location = ${JSON.stringify(url)}`)}`,
  }),
  frameset: (url) => ({ html: `<frameset cols="*"><frame src="${url}"></frameset>`, once: true }),
  object: (url) => ({ html: `<object data="${url}" type="text/html"></object>` }),
  embed: (url) => ({ html: `<embed src="${url}" type="text/html">` }),
  img: (url) => ({ html: `<img src="${url}">` }),
  'img by a redirect': (url) => ({ html: `<img src="${redirected(url)}">` }),
  'img srcset': (url) => ({ html: `<img srcset="${url} 1x">` }),
  'input image': (url) => ({ html: `<input type="image" src="${url}">` }),
  'body background': (url) => ({ html: `<body background="${url}">`, once: true }),
  'svg image': (url) => ({ html: `<svg><image href="${url}" width="9" height="9"/></svg>` }),
  video: (url) => ({ html: `<video src="${url}" preload="auto"></video>` }),
  poster: (url) => ({ html: `<video poster="${url}"></video>` }),
  audio: (url) => ({ html: `<audio src="${url}" preload="auto"></audio>` }),
  script: (url) => ({ html: `<script src="${url}"></script>` }),
  'script by a redirect': (url) => ({ html: `<script src="${redirected(url)}"></script>` }),
  'module script': (url) => ({ html: `<script type="module" src="${url}"></script>` }),
  'dynamic import': (url) => ({ html: module(`import(${JSON.stringify(url)}).catch(() => {})`) }),
  stylesheet: (url) => ({ html: `<link rel="stylesheet" href="${url}">` }),
  'css import': (url) => ({ html: `<style>@import url("${url}");</style>` }),
  'css background': (url) => ({ html: `<p style='background: url("${url}")'>text</p>` }),
  'css font': (url) => ({
    html: `<style>@font-face { font-family: ${via(url)}; src: url("${url}") }</style><p style="font-family: ${via(url)}">text</p>`,
  }),
  preload: (url) => ({ html: `<link rel="preload" as="image" href="${url}">` }),
  modulepreload: (url) => ({ html: `<link rel="modulepreload" href="${url}">` }),
  prefetch: (url) => ({ html: `<link rel="prefetch" href="${url}">` }),
  'fetch, no-cors': (url) => ({ html: script(`fetch(${JSON.stringify(url)}, { mode: 'no-cors' })`) }),
  'fetch, no-cors, by a redirect': (url) => ({
    html: script(`fetch(${JSON.stringify(redirected(url))}, { mode: 'no-cors' })`),
  }),
  'fetch, cors': (url) => ({ html: script(`fetch(${JSON.stringify(url)}).catch(() => {})`) }),
  'fetch from a data URL': (url) => ({
    html: `<iframe src="data:text/html,${encodeURIComponent(script(`fetch(${JSON.stringify(url)}, { mode: 'no-cors' })`))}"></iframe>`,
  }),
  'fetch from a worker': (url) => ({
    html: script(
      `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(`fetch(${JSON.stringify(url)}, { mode: 'no-cors' })`)}])))`,
    ),
  }),
  importScripts: (url) => ({
    html: script(
      `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(`importScripts(${JSON.stringify(url)})`)}])))`,
    ),
  }),
  'post, no-cors': (url) => ({
    html: script(`fetch(${JSON.stringify(url)}, { mode: 'no-cors', method: 'POST', body: 'x' })`),
  }),
  XMLHttpRequest: (url) => ({
    html: script(`{ const x = new XMLHttpRequest(); x.open('GET', ${JSON.stringify(url)}); x.send() }`),
  }),
  sendBeacon: (url) => ({ html: script(`navigator.sendBeacon(${JSON.stringify(url)}, 'x')`) }),
  ping: (url) => ({
    html: `<a href="#here" ping="${url}">x</a>${script(CLICK)}`,
  }),
  EventSource: (url) => ({ html: script(`new EventSource(${JSON.stringify(url)})`) }),
  WebSocket: (url) => ({ html: script(`new WebSocket(${JSON.stringify(url.replace('http', 'ws'))})`) }),
  'report of a violation': (url) => ({
    html: '<img src="https://elsewhere.invalid/x">',
    headers: { 'Content-Security-Policy': `img-src 'none'; report-uri ${url}` },
    once: true,
  }),
  'form into an iframe': (url) => ({
    html: `<iframe name="${via(url)}"></iframe><form target="${via(url)}" action="${url}"><input name="via" value="${via(url)}"></form>${script(SUBMIT)}`,
  }),
  'form, posted into an iframe': (url) => ({
    html: `<iframe name="${via(url)}"></iframe><form target="${via(url)}" method="post" action="${url}"><input name="a"></form>${script(SUBMIT)}`,
  }),
  'form, posted': (url) => ({
    html: `<form method="post" enctype="text/plain" action="${url}"><input name="a"></form>${script(SUBMIT)}`,
    once: true,
  }),
  location: (url) => ({ html: script(`location = ${JSON.stringify(url)}`), once: true }),
  'location by a redirect': (url) => ({
    html: script(`location = ${JSON.stringify(redirected(url))}`),
    once: true,
  }),
  'meta refresh': (url) => ({ html: `<meta http-equiv="refresh" content="0; url=${url}">`, once: true }),
  'a link that clicks itself': (url) => ({
    html: `<a href="${url}">x</a>${script(CLICK)}`,
    once: true,
  }),
  'a new window': (url) => ({ html: script(`open(${JSON.stringify(url)})`) }),
};

function via(url: string): string {
  return new URL(url).searchParams.get('via') ?? '';
}
