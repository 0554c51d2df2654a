import { FERNET_CONTENT_TYPE } from '../../../formats/fernet.ts';

/** Plain JavaScript for a browser. Whatever comes from the relay goes onto the page as text and never as markup. */
export const VIEWER_SCRIPT = `
'use strict';
const MANY = 2000000;
const at = (id) => document.getElementById(id);
const say = (text, bad) => { at('status').textContent = text; at('status').className = bad ? 'status bad' : 'status'; };
const path = location.pathname;
const key = location.hash.startsWith('#key=') ? decoded(location.hash.slice(5)) : null;
const WHOLE = ' Use the whole address as it was given to you.';
const UNFIT = 'The key in this address does not fit the payload.' + WHOLE;

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function size(bytes) {
  if (bytes < 1024) return bytes + ' bytes';
  const units = ['KiB', 'MiB'];
  let n = bytes / 1024, u = 0;
  while (n >= 1024 && u < units.length - 1) { n /= 1024; u++; }
  return n.toFixed(n < 10 ? 1 : 0) + ' ' + units[u];
}

function unbase64(text) {
  const binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

/* Null where it cannot be a key. */
function keyBytes(text) {
  try {
    const bytes = unbase64(text);
    return bytes.length === 32 && bytes.some((byte) => byte !== 0) ? bytes : null;
  } catch { return null; }
}

/* 8 bytes of an HKDF over the key, in hexadecimal digits. */
async function keyCheck(bytes) {
  const secret = await crypto.subtle.importKey('raw', bytes, 'HKDF', false, ['deriveBits']);
  const info = new TextEncoder().encode('contextrelay key check');
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
  const check = new Uint8Array(await crypto.subtle.deriveBits(hkdf, secret, 64));
  return Array.from(check, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/* Before anything counts as a pull: why it could not be read with what is in the address, or null. */
async function obstacle(headers) {
  if (key === null) {
    const type = decoded(headers.get('relay-content-type') || '');
    return type === '${FERNET_CONTENT_TYPE}' ? 'This is encrypted and this address has no key.' + WHOLE : null;
  }
  const bytes = keyBytes(key);
  if (!bytes) return 'The key in this address is damaged.' + WHOLE;
  if (!crypto.subtle) return 'Browsers decrypt only on https:// or on this machine. Use: relay pull';
  const check = headers.get('relay-key-check');
  return check && check !== (await keyCheck(bytes)) ? UNFIT : null;
}

/* Fernet: version, time, IV, AES-128-CBC ciphertext, HMAC-SHA256 over all before it. */
async function decrypt(secret, token) {
  const k = unbase64(secret);
  const t = unbase64(new TextDecoder().decode(token).trim());
  if (k.length !== 32 || t.length < 73 || t[0] !== 0x80) throw new Error('format');
  const sign = await crypto.subtle.importKey('raw', k.slice(0, 16), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const signed = t.slice(0, -32);
  if (!(await crypto.subtle.verify('HMAC', sign, t.slice(-32), signed))) throw new Error('signature');
  const aes = await crypto.subtle.importKey('raw', k.slice(16), 'AES-CBC', false, ['decrypt']);
  return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-CBC', iv: t.slice(9, 25) }, aes, t.slice(25, -32)));
}

function facts(headers) {
  const parts = [size(Number(headers.get('relay-size')))];
  const until = headers.get('relay-expires-at');
  if (until) parts.push('until ' + new Date(until).toLocaleString());
  const from = headers.get('relay-from');
  if (from) parts.push('from ' + decodeURIComponent(from));
  if (key) parts.push('end-to-end encrypted');
  at('facts').textContent = parts.join(' · ');
}

function metadata(values) {
  const list = at('metadata');
  for (const [name, value] of Object.entries(values)) {
    const dt = document.createElement('dt');
    const dd = document.createElement('dd');
    dt.textContent = name;
    dd.textContent = typeof value === 'string' ? value : JSON.stringify(value);
    list.append(dt, dd);
  }
  list.hidden = list.children.length === 0;
}

async function load() {
  at('show').hidden = true;
  say('Fetching…');
  const response = await fetch(path + '?raw=1', { headers: { Accept: 'application/octet-stream' } });
  if (!response.ok) return say((await response.json()).error, true);
  let bytes = new Uint8Array(await response.arrayBuffer());
  if (key) {
    try {
      bytes = await decrypt(key, bytes);
    } catch {
      return say(UNFIT, true);
    }
  }
  show(bytes);
}

function show(bytes) {
  say('');
  at('actions').hidden = false;
  at('save').hidden = false;
  at('save').onclick = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    link.download = path.split('/').pop();
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return say('This is not text. Save it to look at it.');
  }
  if (text.length > MANY) say('Only the beginning is shown; save it to have the whole.');
  at('content').textContent = text.slice(0, MANY);
  at('content').hidden = false;
  at('copy').hidden = false;
  at('copy').onclick = async () => {
    await navigator.clipboard.writeText(text);
    at('copy').textContent = 'Copied';
    setTimeout(() => { at('copy').textContent = 'Copy'; }, 1500);
  };
}

async function start() {
  const peek = await fetch(path.replace(/\\/pull\\/([^/]+)\\/?$/, '/peek/$1'));
  if (!peek.ok) return say((await peek.json()).error, true);
  facts(peek.headers);
  metadata(await peek.json());
  const why = await obstacle(peek.headers);
  if (why) return say(why, true);
  const limited = peek.headers.get('relay-max-pulls');
  if (!limited) return load();
  say('This can be opened ' + (limited === '1' ? 'once' : limited + ' times') + ' in all.');
  at('actions').hidden = false;
  at('show').hidden = false;
  at('show').onclick = () => load().catch(failed);
}

function failed() { say('The relay does not answer. Is it still running?', true); }
start().catch(failed);
`;
