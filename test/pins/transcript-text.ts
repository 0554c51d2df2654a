import { createHash } from 'node:crypto';
import type { Answer, Pinned, Ready } from './exchange.ts';

/** Formats requests and answers as text that a person can read and compare. */

/** Headers that are not recorded: the time, and headers of the connection. */
const NOISE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);
const LINE = 110;

export function formatRequest({ send, headers, body, bodyOf }: Ready): string {
  const lines = [send, ...Object.entries(headers).map(([name, value]) => `${name.toLowerCase()}: ${value}`)];
  if (bodyOf !== undefined) lines.push(`(the body of ${bodyOf})`);
  else if (body) lines.push(...(body.length > 2000 ? [digest(body)] : formatBody(body).split('\n')));
  return lines.map((line) => `> ${line}`).join('\n');
}

export function formatAnswer({ status, headers, body }: Answer, pin: Pinned['pin']): string {
  // Record Content-Length only if ranges are supported. Otherwise a short stream has it or not, depending on timing.
  const sized = body.length === 0 || headers.some(([name]) => name === 'accept-ranges');
  const pinnedHeaders = headers.filter(([name]) => {
    if (pin === 'type') return name === 'content-type';
    return !NOISE.has(name) && (sized || name !== 'content-length');
  });
  const lines = pinnedHeaders.map(([name, value]) => `< ${name}: ${value}`).sort();
  return [`< ${status}`, ...lines, ...(pin || body.length === 0 ? [] : [formatBody(body)])].join('\n');
}

/**
 * Indents long JSON if no byte is lost by parsing it. Lines of other text begin with a bar. An archive becomes a list
 * of its files, and other binary data a digest.
 */
function formatBody(body: Buffer): string {
  if (body.subarray(0, 4).toString('latin1') === 'PK\x03\x04') return zipEntries(body);
  // Replace the time of a retry, because it has a random part.
  const text = body.toString('latin1').includes('"retry_at":')
    ? body.toString('utf8').replace(/"retry_at":\d+/g, '"retry_at":0')
    : body.toString('utf8');
  if (text.includes('\0') || (!text.includes('"retry_at":0') && !Buffer.from(text).equals(body)))
    return digest(body);
  const json = compactJson(text);
  if (json !== null) return text.length <= LINE ? text : JSON.stringify(json, null, 2);
  return text
    .split('\n')
    .map((line) => (line === '' ? '|' : `| ${line.replaceAll('\r', '␍')}`))
    .join('\n');
}

function compactJson(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && JSON.stringify(parsed) === text ? parsed : null;
  } catch {
    return null;
  }
}

function digest(body: Buffer): string {
  return `(${body.length} bytes, sha256 ${createHash('sha256').update(body).digest('hex')})`;
}

/** Lists the files of an archive without their compressed sizes, which depend on the library. */
function zipEntries(zip: Buffer): string {
  const lines: string[] = [];
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [crc, size] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 24)];
    const [name, extra, comment] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    const path = zip.toString('utf8', at + 46, at + 46 + name);
    lines.push(`(${path}: ${size} bytes, crc32 ${crc.toString(16).padStart(8, '0')})`);
    at += 46 + name + extra + comment;
  }
  return lines.join('\n');
}

export function entriesOf(text: string): string[] {
  return text.split(/^(?==== )/m);
}

/** Returns the name of the request and the lines that differ. */
export function difference(was: string | undefined, is: string | undefined): string {
  const [old, now] = [was ?? '', is ?? ''].map((text) => text.trimEnd().split('\n')) as [string[], string[]];
  let front = 0;
  while (front < Math.min(old.length, now.length) && old[front] === now[front]) front++;
  let back = 0;
  while (back < Math.min(old.length, now.length) - front && old.at(-1 - back) === now.at(-1 - back)) back++;
  const context = now.slice(Math.max(1, front - 2), front).map((line) => `  ${line}`);
  const lost = old.slice(front, old.length - back).map((line) => `- ${line}`);
  const gained = now.slice(front, now.length - back).map((line) => `+ ${line}`);
  return [(is ?? was)!.split('\n')[0], ...context, ...lost, ...gained].join('\n');
}
