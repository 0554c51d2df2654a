/**
 * A reporter for node:test. It appends each event as a JSON line to the file that RELAY_TEST_EVENTS names. It
 * writes synchronously, so that events before a crash or a kill are not lost.
 */
import { appendFileSync } from 'node:fs';
import { inspect } from 'node:util';

const path = process.env.RELAY_TEST_EVENTS;

export default async function* events(source) {
  for await (const { type, data } of source) {
    const line = lineFor(type, data);
    if (line) appendFileSync(path, `${JSON.stringify(line)}\n`);
  }
  yield '';
}

function lineFor(event, data) {
  const type = event.slice('test:'.length);
  const { name, nesting } = data;
  switch (type) {
    case 'dequeue':
    case 'complete':
    case 'start':
      return { type, name, nesting };
    case 'pass':
    case 'fail':
      return { type, name, nesting, file: data.file, line: data.line, ...outcome(data) };
    case 'diagnostic':
      // Keep errors and warnings, such as a rejection after the end of a test. Drop statistics of the test runner.
      return /^(Error|Warning)/.test(data.message) ? { type, name: data.message, nesting } : undefined;
    case 'summary':
      return { type };
  }
}

function outcome({ details, skip, todo }) {
  const error = details?.error;
  return {
    suite: details?.type === 'suite',
    ms: details?.duration_ms ?? 0,
    skip: skip === undefined ? undefined : String(skip),
    todo: todo === undefined ? undefined : String(todo),
    failure: error?.failureType,
    error: error && inspect(error.cause ?? error, { depth: 8, breakLength: 110 }),
  };
}
