const FIELDS = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12 },
  { name: 'day of week', min: 0, max: 7 },
] as const;

const NAMES = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const DAYS = 'sun mon tue wed thu fri sat'.split(' ');

const MACROS: { readonly [name: string]: string } = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
};

/**
 * Number of days in which `nextTime` searches. A date such as February 29 on a Monday can be 40 years away.
 */
const SEARCHED_DAYS = 41 * 366;
const DAY = 86_400_000;

/**
 * Returns the first time (in ms) after `after` that matches a cron expression with five fields, in a time zone. If
 * clocks go forward and skip a matching time, returns a time after the change, such as 03:30 for 02:30. If clocks
 * go back and show a matching time twice, only the first of the two matches. But if the hour field begins with `*`,
 * a skipped time does not match, and both repeated times match. Throws an `Error` if the expression or the time
 * zone is invalid.
 */
export function nextTime(expression: string, timezone: string, after: number): number {
  const [minutes, hours, days, months, weekdays] = parseCron(expression);
  const offset = offsetsOf(timezone);
  const today = new Date(after + offset(after));
  const start = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()) - DAY;
  // If both day of month and day of week are restricted, a day needs to match only one of them, as in other
  // cron programs.
  const either = !days!.any && !weekdays!.any;
  for (let day = start; day < start + SEARCHED_DAYS * DAY; day += DAY) {
    const date = new Date(day);
    if (!months!.has(date.getUTCMonth() + 1)) continue;
    const isDay = days!.has(date.getUTCDate());
    const isWeekday = weekdays!.has(date.getUTCDay()) || (date.getUTCDay() === 0 && weekdays!.has(7));
    if (either ? !isDay && !isWeekday : !isDay || !isWeekday) continue;
    for (let hour = 0; hour < 24; hour++) {
      if (!hours!.has(hour)) continue;
      const times: number[] = [];
      for (let minute = 0; minute < 60; minute++)
        if (minutes!.has(minute))
          times.push(...instants(day + (hour * 60 + minute) * 60_000, offset, hours!.any));
      const later = times.filter((time) => time > after);
      if (later.length > 0) return Math.min(...later);
    }
  }
  throw new Error(`the schedule "${expression}" matches no date`);
}

/**
 * Returns the times, in ms, at which clocks show the local time `wall`. If clocks go back and show `wall` twice,
 * returns the first of the two times; with `anyHour`, returns both. If clocks go forward and skip `wall`, returns a
 * time after the change; with `anyHour`, returns none.
 */
function instants(wall: number, offset: (time: number) => number, anyHour: boolean): number[] {
  const [before, behind] = [offset(wall - DAY), offset(wall + DAY)];
  const found = [...new Set([wall - before, wall - behind])]
    .filter((time) => time + offset(time) === wall)
    .sort();
  if (found.length === 0) return anyHour ? [] : [wall - before];
  return anyHour ? found : found.slice(0, 1);
}

/** Returns a function that computes the UTC offset of a time zone, in ms, at a given time. */
function offsetsOf(timezone: string): (time: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    const o = { timeZone: timezone, hourCycle: 'h23', timeZoneName: 'longOffset' } as const;
    format = new Intl.DateTimeFormat('en-US', o);
  } catch {
    throw new Error(`there is no time zone "${timezone}"; use a name such as Europe/Berlin`);
  }
  return (time) => {
    const name = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, h, m = '0', s = '0'] = /GMT([+-])(\d+)(?::(\d+))?(?::(\d+))?/.exec(name) ?? [];
    if (sign === undefined) return 0;
    return (sign === '-' ? -1000 : 1000) * (Number(h) * 3600 + Number(m) * 60 + Number(s));
  };
}

type Matches = { has(value: number): boolean; readonly any: boolean };

function parseCron(expression: string): Matches[] {
  const parts = (MACROS[expression.trim()] ?? expression).trim().split(/\s+/);
  if (parts.length !== FIELDS.length)
    throw new Error(`"${expression}" is not a cron expression; it has five fields, such as 0 9 * * 1-5`);
  return parts.map((part, at) => parseField(part.toLowerCase(), FIELDS[at]!));
}

function parseField(text: string, { name, min, max }: (typeof FIELDS)[number]): Matches {
  const values = new Set<number>();
  const number = (word: string) => {
    const named =
      name === 'month' ? NAMES.indexOf(word) + 1 : name === 'day of week' ? DAYS.indexOf(word) : -1;
    const value = /^\d+$/.test(word) ? Number(word) : named;
    if (value >= min && value <= max && (named > 0 || word === 'sun' || /^\d+$/.test(word))) return value;
    throw new Error(`"${word}" is not a valid ${name}; it is a number from ${min} to ${max}`);
  };
  for (const part of text.split(',')) {
    const [range = '', by, more] = part.split('/');
    const step = by === undefined ? 1 : Number(by);
    if (more !== undefined || !(Number.isInteger(step) && step >= 1))
      throw new Error(`"${part}" is not a valid ${name}; a step is a whole number, such as */5`);
    const [from, to] = range === '*' ? [String(min), String(max)] : range.split('-');
    const first = number(from!);
    const last = to === undefined ? (by === undefined ? first : max) : number(to);
    if (last < first) throw new Error(`"${part}" is not a valid ${name}; its end is before its start`);
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return { has: (value) => values.has(value), any: text.startsWith('*') };
}
