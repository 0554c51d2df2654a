import type { LogEvent } from '../interfaces/http/deps.ts';

/** One JSON line per event on stderr, which is the log file of a detached server. */
export function logEvent(event: LogEvent): void {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), ...event })}\n`);
}
