import { copyFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { redact } from '../../base/redact.ts';
import type { AnsweredRequest, LogEvent } from '../../interfaces/http/deps.ts';

/**
 * Maximum time in ms before a line is written. Lines are written in batches. A warning or an error is written
 * at once.
 */
const WRITE_AFTER_MS = 100;
const WRITE_AFTER_CHARS = 64 * 1024;

/** Size in bytes at which a log is rotated. Only one older log is kept. */
const LOG_BYTES = 8 * 1024 * 1024;

let waiting = '';
let timer: NodeJS.Timeout | null = null;
let file: string | null = null;

/**
 * Enables the rotation of the log while the server writes it. `path` is the file to which stderr is written.
 */
export function limitLog(path: string): void {
  file = path;
}

/**
 * Writes one JSON line per event to stderr. In a detached server stderr is the log file. All log output goes
 * through this function: it removes credentials and escapes control characters.
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
 * Rotates a log that is too long. The log is copied and truncated, not renamed, because the server keeps
 * writing to the same file.
 */
export function rotateLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= LOG_BYTES) return;
  try {
    rmSync(`${path}.1`, { force: true });
    copyFileSync(path, `${path}.1`);
  } catch {
    // The disk has no room for a copy. Losing the old log is better than filling the disk.
  }
  truncateSync(path);
}

export function logLine(event: LogEvent, at: Date): string {
  const line = JSON.stringify({ at: at.toISOString(), ...event });
  return `${redact(line).replace(UNSAFE, escaped)}\n`;
}

/**
 * Logs one line per request. It does not log the path and the query, because the URL of a pointer may be the
 * pointer's only protection.
 */
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

/**
 * Matches characters that are dangerous in terminals or in programs that read lines, and that JSON does not
 * escape: DEL, C1 controls, line separators, bidi marks.
 */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
