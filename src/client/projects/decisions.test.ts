import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  appendDecision,
  digestDecisions,
  extendSeal,
  readDecisions,
  readSeal,
  rewrittenSinceSeal,
} from './decisions.ts';

const FRESH = { title: 'Use queues', context: 'bursts', decision: 'a queue', consequences: 'one more part' };

const TWO = `# Architecture Decision Records

## ADR-001: Keep it small
- Date: 2026-04-15
- Status: Accepted
- Context: few people
- Decision: one package
- Consequences: less freedom

<!-- ## ADR-090: a draft in a comment -->

\`\`\`
## ADR-091: an example in a fence
\`\`\`

## ADR-002: Split it after all
- **Date**: 2026-04-16
- **Status:** Accepted
- Supersedes: ADR-001
- Context: many people
  and more to come
- Decision: three packages
- Consequences: more work
`;

test('decisions are read with their fields, their line and the decisions that they replace', () => {
  const [first, second, ...more] = readDecisions(TWO);
  assert.equal(more.length, 0);
  assert.deepEqual(
    [first!.id, first!.title, first!.date, first!.decision, first!.superseded, first!.line],
    ['ADR-001', 'Keep it small', '2026-04-15', 'one package', true, 3],
  );
  assert.deepEqual(
    [second!.id, second!.date, second!.status, second!.context, second!.supersedes, second!.superseded],
    ['ADR-002', '2026-04-16', 'Accepted', 'many people and more to come', ['ADR-001'], false],
  );
});

test('a new decision is appended in the layout of the others, and the old text stays unchanged', () => {
  for (const text of [TWO, TWO.trimEnd(), `${TWO}\n\n`, TWO.replaceAll('\n', '\r\n'), `\uFEFF${TWO}`, '']) {
    const { id, text: longer } = appendDecision(text, FRESH, '2026-04-20');
    assert.ok(longer.startsWith(text));
    assert.equal(id, text === '' ? 'ADR-001' : 'ADR-003');
    assert.equal(readDecisions(longer).at(-1)!.title, 'Use queues');
    assert.equal(/\r\n/.test(longer), /\r\n/.test(text));
    assert.ok(!/[^\r]\n/.test(longer) || !/\r\n/.test(text), 'no mixed line ends');
  }
  assert.equal(
    appendDecision('# Architecture Decision Records\n', { ...FRESH, supersedes: ['ADR-001'] }, '2026-04-20')
      .text,
    `# Architecture Decision Records

## ADR-001: Use queues
- Date: 2026-04-20
- Status: Accepted
- Supersedes: ADR-001
- Context: bursts
- Decision: a queue
- Consequences: one more part
`,
  );
});

test('the text of a decision cannot begin another decision', () => {
  const { text } = appendDecision(
    TWO,
    { ...FRESH, title: 'a\n## ADR-666: b', context: 'c\n\n## ADR-667: d' },
    '2026-04-20',
  );
  assert.deepEqual(
    readDecisions(text).map(({ id }) => id),
    ['ADR-001', 'ADR-002', 'ADR-003'],
  );
});

test('a changed, moved or missing decision is reported; an appended one and other line endings are not', async () => {
  const before = await digestDecisions(TWO);
  const after = async (text: string) =>
    rewrittenSinceSeal(before, await digestDecisions(text)).map(({ what }) => what.replace(/ since.*/, ''));
  assert.deepEqual(await after(appendDecision(TWO, FRESH, '2026-04-20').text), []);
  assert.deepEqual(await after(TWO.replaceAll('\n', '  \r\n')), []);
  assert.deepEqual(await after(TWO.replace('one package', 'two packages')), ['ADR-001 was changed']);
  assert.deepEqual(await after(TWO.slice(0, TWO.indexOf('## ADR-002'))), ['ADR-002 is gone']);
  const [, first, second] = TWO.split(/(?=^## ADR-00\d)/m);
  assert.deepEqual(await after(`${second}\n${first}`), ['ADR-002 was moved']);
});

test('a seal keeps the digests of known decisions and adds those of new ones', async () => {
  const changed = TWO.replace('one package', 'two packages');
  const seal = extendSeal(undefined, await digestDecisions(TWO));
  const appended = await digestDecisions(appendDecision(changed, FRESH, '2026-04-20').text);
  const longer = readSeal(extendSeal(seal, appended));
  assert.deepEqual(longer.slice(0, 2), readSeal(seal));
  assert.deepEqual(
    longer.map(({ id }) => id),
    ['ADR-001', 'ADR-002', 'ADR-003'],
  );
  assert.deepEqual(readSeal('{broken'), []);
});
