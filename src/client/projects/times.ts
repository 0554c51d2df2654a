/** `2026-04-20T10:00:00+08:00`: to the second, with the offset on this machine, as the files have it. */
export function stamp(at: number): string {
  const zone = -new Date(at).getTimezoneOffset();
  const local = new Date(at + zone * 60_000).toISOString().slice(0, 19);
  const minutes = Math.abs(zone);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${local}${zone < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Null for what is missing or not a time. */
export function timeOf(text: unknown): number | null {
  const at = typeof text === 'string' && /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

export function ago(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000);
  if (seconds < -60) return `dated ${span(-seconds)} ahead`;
  return seconds < 60 ? 'just now' : `${span(seconds)} ago`;
}

function span(seconds: number): string {
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  const hours = seconds / 3600;
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}
