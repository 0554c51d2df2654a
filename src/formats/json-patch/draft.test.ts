import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import { applyPatch } from './apply.ts';

describe('a draft', () => {
  it('gives the same result as deep copies, for any sequence of moves and copies', () => {
    const random = generator(11);
    for (let round = 0; round < 300; round++) {
      let doc: Json = { a: [{ n: [1] }, { n: [2] }, 3], b: { x: { n: [4] } } };
      const before = JSON.stringify(doc);
      const first = doc;
      const ops: { op: string; path: string; from?: string; value?: Json }[] = [];
      for (let i = 0; i < 12; i++) {
        const places = placesIn(doc);
        const from = places[random(places.length)]!;
        const into = places.filter((place) => !place.startsWith(from))[random(places.length)] ?? '/b/new';
        const kinds = [
          { op: 'move', from, path: into },
          { op: 'copy', from, path: into },
          { op: 'add', path: `/b/${i}`, value: { n: [i] } },
          { op: 'replace', path: from, value: [{ n: [i] }] },
          { op: 'remove', path: from },
        ];
        const op = kinds[random(kinds.length)]!;
        try {
          doc = applyPlainly(doc, [op]);
          applyPatch(first, [...ops, op]);
          ops.push(op);
        } catch {
          doc = applyPlainly(first, ops);
        }
      }
      const patched = applyPatch(first, ops);
      assert.deepEqual(patched.doc, doc, JSON.stringify(ops));
      assert.equal(patched.bytes, Buffer.byteLength(JSON.stringify(doc)));
      assert.equal(JSON.stringify(first), before);
    }
  });

  it('copies a list once, however many operations move items in it', () => {
    const facts = Array.from({ length: 4900 }, (_, i) => ({ id: `f${i}` }));
    const moves = Array.from({ length: 2000 }, (_, i) => ({
      op: 'move',
      from: `/facts/${(i * 7) % 4900}`,
      path: `/facts/${(i * 13) % 4900}`,
    }));
    const meter = new WorkMeter();
    applyPatch({ facts }, moves, { meter });
    assert.ok(
      meter.spent < 2000 * 1000,
      `${meter.spent} steps, less than a quarter of operations times size`,
    );
  });

  it('rejects a patch that needs more work than its meter allows', () => {
    const list = Array.from({ length: 50_000 }, () => 0);
    const members = Object.fromEntries(list.map((_, i) => [`k${i}`, 0]));
    for (const [big, key] of [
      [list, '0'],
      [members, 'k0'],
    ] as const) {
      const ops = Array.from({ length: 1000 }, () => [
        { op: 'copy', from: '/big', path: '/copy' },
        { op: 'replace', path: `/big/${key}`, value: 1 },
      ]).flat();
      assert.throws(
        () => applyPatch({ big }, ops, { meter: new WorkMeter(10_000_000) }),
        (error) => isRelayError(error, 'too_costly') && error.status === 422,
      );
    }
  });
});

/** Applies operations to deep copies. This is slow, but no shared object can change by mistake. */
function applyPlainly(
  doc: Json,
  ops: readonly { op: string; path: string; from?: string; value?: Json }[],
): Json {
  let root = structuredClone(doc) as Json;
  const at = (path: string[]) =>
    path.reduce((value, segment) => (value as { [k: string]: Json })[segment]!, root);
  const remove = (path: string[]) => {
    const parent = at(path.slice(0, -1));
    if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
    else delete (parent as { [k: string]: Json })[path.at(-1)!];
  };
  const add = (path: string[], value: Json) => {
    if (path.length === 0) root = value;
    else {
      const parent = at(path.slice(0, -1));
      if (Array.isArray(parent))
        parent.splice(path.at(-1) === '-' ? parent.length : Number(path.at(-1)), 0, value);
      else (parent as { [k: string]: Json })[path.at(-1)!] = value;
    }
  };
  for (const { op, path, from, value } of ops) {
    const place = path.split('/').slice(1);
    const source = from?.split('/').slice(1);
    const copy = structuredClone(source ? at(source) : value) as Json;
    if (op === 'move') remove(source!);
    if (op === 'remove' || op === 'replace') remove(place);
    if (op !== 'remove') add(place, copy);
  }
  return root;
}

/** Returns the paths of all nested values. */
function placesIn(value: Json, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    `${path}/${key}`,
    ...placesIn(child, `${path}/${key}`),
  ]);
}

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}
