import { copyFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { redact } from '../../base/redact.ts';
import type { AnsweredRequest, LogEvent } from '../../interfaces/http/deps.ts';

/** Time in ms for which log lines wait, to be written together. Warnings and errors are written immediately. */
const WRITE_AFTER_MS = 100;
const WRITE_AFTER_CHARS = 64 * 1024;

/** Size in bytes at which a log is rotated. One older log is kept. */
const LOG_BYTES = 8 * 1024 * 1024;

let waiting = '';
let timer: NodeJS.Timeout | null = null;
let file: string | null = null;

/** Lets the server rotate its log at `path`, the file to which stderr goes. */
export function limitLog(path: string): void {
  file = path;
}

/**
 * Writes one JSON line per event to stderr. If the server runs in the background, stderr is the log file. All log
 * output passes through this function, which removes credentials and escapes control characters.
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
 * Rotates a log that is too long: copies and truncates it, because the server keeps writing to the same file.
 */
export function rotateLog(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= LOG_BYTES) return;
  try {
    rmSync(`${path}.1`, { force: true });
    copyFileSync(path, `${path}.1`);
  } catch {
    // Without room for a copy, losing the old log is better than filling the disk.
  }
  truncateSync(path);
}

export function logLine(event: LogEvent, at: Date): string {
  const line = JSON.stringify({ at: at.toISOString(), ...event });
  return `${redact(line).replace(UNSAFE, escaped)}\n`;
}

/** Logs one line per request, without path and query: the URL of a pointer may be its only protection. */
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
 * Matches DEL, C1 controls, line separators and bidi marks. JSON does not escape these characters, but they are
 * dangerous in terminals or for programs that read lines.
 */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
