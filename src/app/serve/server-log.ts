import { copyFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { redact } from '../../base/redact.ts';
import type { AnsweredRequest, LogEvent } from '../../interfaces/http/deps.ts';

/** Lines are written in batches after at most this time; a warning or error is written at once. */
const WRITE_AFTER_MS = 100;
const WRITE_AFTER_CHARS = 64 * 1024;

/** Size at which a log is rotated. One older log is kept. */
const LOG_BYTES = 8 * 1024 * 1024;

let waiting = '';
let timer: NodeJS.Timeout | null = null;
let file: string | null = null;

/** Rotates the log while it is written. `path` is the file that stderr goes to. */
export function limitLog(path: string): void {
  file = path;
}

/**
 * Writes one JSON line per event to stderr, which is the log file of a detached server. All log output passes through
 * here: credentials are removed, and control characters are escaped.
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
 * Rotates a log that has become too long. It is copied and truncated, not renamed, because the server keeps writing to
 * the same file.
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

/** Logs one line per request. Path and query are left out, because a pointer's URL may be its only protection. */
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
 * Characters that JSON leaves unescaped but that affect terminals or line readers: DEL, C1 controls, separators, bidi
 * marks.
 */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
