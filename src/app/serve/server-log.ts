import { copyFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { redact } from '../../base/redact.ts';
import type { AnsweredRequest, LogEvent } from '../../interfaces/http/deps.ts';

/** Lines are written together, at the latest after this long; a warning or an error at once. */
const WRITE_AFTER_MS = 100;
const WRITE_AFTER_CHARS = 64 * 1024;

/** One older log is kept beside the current one. */
const LOG_BYTES = 8 * 1024 * 1024;

let waiting = '';
let timer: NodeJS.Timeout | null = null;
let file: string | null = null;

/** Has the log kept short while it is written. `path` is the file that stderr goes to. */
export function limitLog(path: string): void {
  file = path;
}

/**
 * One JSON line per event on stderr, which is the log file of a detached server. Everything that is logged passes here, and
 * here credentials are taken out and whatever could pass for a line or a command of a terminal is escaped.
 */
export function logEvent(event: LogEvent): void {
  waiting += logLine(event, new Date());
  if (event.level !== 'info' || waiting.length > WRITE_AFTER_CHARS) flushLog();
  else timer ??= setTimeout(flushLog, WRITE_AFTER_MS).unref();
}

export function flushLog(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  if (waiting !== '') process.stderr.write(waiting);
  waiting = '';
  if (file !== null) rotateLog(file);
}

/**
 * Sets a log aside that has become long. It is copied and cut, not renamed: a server goes on writing into the file that it
 * was started with.
 */
export function rotateLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= LOG_BYTES) return;
  try {
    rmSync(`${path}.1`, { force: true });
    copyFileSync(path, `${path}.1`);
  } catch {
    // There is no room for two: a log that is lost is better than one that grows without end.
  }
  truncateSync(path);
}

export function logLine(event: LogEvent, at: Date): string {
  const line = JSON.stringify({ at: at.toISOString(), ...event });
  return `${redact(line).replace(UNSAFE, escaped)}\n`;
}

/** One line per request. No path and no query: a pointer's address may be all that protects it. */
export function logRequest(seen: AnsweredRequest): void {
  const { id, method, operation, status, ms, address, caller } = seen;
  logEvent({
    level: status >= 500 ? 'error' : 'info',
    event: 'request',
    request: id,
    method,
    operation,
    status,
    ms: Math.round(ms * 10) / 10,
    address,
    tenant: caller?.tenant,
    key: caller?.keyId,
  });
}

/** What JSON leaves as it is, and a terminal or a reader of lines may not: DEL, C1 controls, separators, bidi marks. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
