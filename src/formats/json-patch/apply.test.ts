import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import specTests from 'json-patch-test-suite/spec_tests.json' with { type: 'json' };
import tests from 'json-patch-test-suite/tests.json' with { type: 'json' };
import { isRelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { applyPatch } from './apply.ts';

interface Vector {
  comment?: string;
  doc: Json;
  patch: Json;
  expected?: Json;
  error?: string;
}

/** Each case is [document, patch, result]. The result is null if the patch is rejected. */
const CASES: [Json, Json, Json][] = [
  [{ a: 1 }, [{ op: 'add', path: '/b', value: [] }], { a: 1, b: [] }],
  [[1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
  [[1], [{ op: 'add', path: '/-', value: 2 }], [1, 2]],
  [[1], [{ op: 'add', path: '/1', value: 2 }], [1, 2]],
  [[1], [{ op: 'add', path: '/2', value: 2 }], null],
  [[1], [{ op: 'add', path: '/01', value: 2 }], null],
  [[1], [{ op: 'add', path: '/-1', value: 2 }], null],
  [{ a: 1 }, [{ op: 'add', path: '', value: 'x' }], 'x'],
  [{ a: 1 }, [{ op: 'add', path: '/b/c', value: 1 }], null],
  [{ a: null }, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
  [{ a: 1 }, [{ op: 'replace', path: '/b', value: 1 }], null],
  [[1], [{ op: 'replace', path: '/-', value: 1 }], null],
  [[1, 2], [{ op: 'remove', path: '/0' }], [2]],
  [{ a: 1 }, [{ op: 'remove', path: '/b' }], null],
  [
    { 'a/b': 1, 'm~n': 2 },
    [
      { op: 'remove', path: '/a~1b' },
      { op: 'test', path: '/m~0n', value: 2 },
    ],
    { 'm~n': 2 },
  ],
  [{ '~1': 1 }, [{ op: 'test', path: '/~01', value: 1 }], { '~1': 1 }],
  [{ '': 1 }, [{ op: 'replace', path: '/', value: 2 }], { '': 2 }],
  [{ a: 1 }, [{ op: 'replace', path: '/~2', value: 2 }], null],
  [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
  [{ a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }], null],
  [[1, 2, 3], [{ op: 'move', from: '/0', path: '/2' }], [2, 3, 1]],
  [{ a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
  [
    { a: { b: [1] } },
    [
      { op: 'copy', from: '/a', path: '/c' },
      { op: 'add', path: '/c/b/-', value: 2 },
    ],
    { a: { b: [1] }, c: { b: [1, 2] } },
  ],
  [{ a: { b: 1, c: 2 } }, [{ op: 'test', path: '/a', value: { c: 2, b: 1 } }], { a: { b: 1, c: 2 } }],
  [{ a: 1 }, [{ op: 'test', path: '/a', value: '1' }], null],
  [{ a: [] }, [{ op: 'test', path: '/a', value: {} }], null],
  [
    { a: 1 },
    [
      { op: 'add', path: '/b', value: 2 },
      { op: 'test', path: '/a', value: 2 },
    ],
    null,
  ],
  [{ a: 1 }, [{ op: 'spam', path: '/a' }], null],
  [{ a: 1 }, [{ path: '/a', value: 1 }], null],
  [{ a: 1 }, [{ op: 'add', path: '/a' }], null],
  [{ a: 1 }, [{ op: 'copy', path: '/a' }], null],
  [{ a: 1 }, [null], null],
  [{ a: 1 }, {}, null],
  [{ a: 1 }, [{ op: 'add', path: 'a', value: 1 }], null],
  [{ a: 1 }, [{ op: 'add', path: '/a/b', value: 1 }], null],
];

describe('applyPatch', () => {
  it('follows RFC 6902', () => {
    for (const [doc, patch, expected] of CASES) {
      const before = JSON.stringify(doc);
      const label = `${before} ${JSON.stringify(patch)}`;
      if (expected === null) assert.throws(() => applyPatch(doc, patch), isRelayError, label);
      else assert.deepEqual(applyPatch(doc, patch).doc, expected, label);
      assert.equal(JSON.stringify(doc), before, 'the document given is never changed');
    }
  });

  it('passes the public suite', () => {
    let run = 0;
    for (const vector of [...tests, ...specTests] as Vector[]) {
      // Skip this test: JSON.parse has already merged the two members with the same name.
      if (!vector.patch || /two 'op'/.test(vector.error ?? '')) continue;
      run++;
      const label = JSON.stringify(vector);
      if (vector.error !== undefined)
        assert.throws(() => applyPatch(vector.doc, vector.patch), isRelayError, label);
      else if ('expected' in vector)
        assert.deepEqual(applyPatch(vector.doc, vector.patch).doc, vector.expected, label);
      else applyPatch(vector.doc, vector.patch);
    }
    assert.ok(run > 90, `${run} vectors`);
  });

  it('names the operation, its index and its path in an error', () => {
    const patch = [
      { op: 'add', path: '/b', value: 1 },
      { op: 'remove', path: '/nope' },
    ];
    assert.throws(
      () => applyPatch({ a: 1 }, patch),
      (error) =>
        isRelayError(error, 'bad_patch') &&
        error.message ===
          'Operation 1 (remove /nope): there is nothing at path "/nope". Nothing was changed.',
    );
    assert.throws(
      () => applyPatch({ a: 1 }, [{ op: 'test', path: '/a', value: 2 }]),
      (error) =>
        isRelayError(error, 'patch_test_failed') && error.details.index === 0 && error.details.path === '/a',
    );
  });

  it('rejects names that could change a prototype, in paths and in values', () => {
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const value = JSON.parse(`{"x":[{"${name}":{"polluted":1}}]}`);
      assert.throws(() => applyPatch({}, [{ op: 'add', path: `/${name}`, value: 1 }]), isRelayError);
      assert.throws(
        () => applyPatch({ a: {} }, [{ op: 'add', path: `/a/${name}/b`, value: 1 }]),
        isRelayError,
      );
      assert.throws(() => applyPatch({ a: 1 }, [{ op: 'copy', from: `/${name}`, path: '/a' }]), isRelayError);
      assert.throws(() => applyPatch({ a: 1 }, [{ op: 'add', path: '/a', value }]), isRelayError);
    }
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  it('shares unchanged parts and copies changed ones', () => {
    const doc = { a: { deep: [1] }, b: [{ id: 1 }, { id: 2 }] };
    const { doc: next } = applyPatch(doc, [{ op: 'replace', path: '/b/1/id', value: 3 }]) as unknown as {
      doc: typeof doc;
    };
    assert.equal(next.a, doc.a);
    assert.equal(next.b[0], doc.b[0]);
    assert.notEqual(next.b[1], doc.b[1]);
  });

  it('tracks the size in bytes', () => {
    let doc: Json = { list: [], name: 'é"\n' };
    let { bytes } = applyPatch(doc, []);
    const random = generator(7);
    for (let i = 0; i < 2000; i++) {
      const patched = applyPatch(doc, randomOps(doc as { list: Json[] }, random), { bytes });
      ({ doc, bytes } = patched);
      assert.equal(bytes, Buffer.byteLength(JSON.stringify(doc)));
    }
  });

  it('reports which children were changed', () => {
    const doc = { facts: [{ id: 1 }, { id: 2 }, { id: 3 }], plan: [] };
    const { doc: next, touched } = applyPatch(doc, [
      { op: 'remove', path: '/facts/0' },
      { op: 'replace', path: '/facts/1/id', value: 4 },
      { op: 'add', path: '/facts/-', value: { id: 5 } },
      { op: 'replace', path: '/plan', value: [1] },
    ]);
    const { facts } = next as { facts: Json[] };
    assert.deepEqual([...(touched.get('facts') as Set<object>)], [facts[1], facts[2]]);
    assert.equal(touched.get('plan'), 'all');
  });

  it('stops copies of copies before they grow too large', () => {
    const ops: object[] = [{ op: 'add', path: '/a', value: ['x'.repeat(100)] }];
    for (let i = 0; i < 60; i++) ops.push({ op: 'copy', from: '/a', path: '/a/-' });
    assert.throws(() => applyPatch({}, ops, { maxBytes: 1_000_000 }), isRelayError);
    const deeper: object[] = [{ op: 'add', path: '/a', value: {} }];
    for (let i = 0; i < 100; i++) deeper.push({ op: 'copy', from: '', path: '/a' });
    assert.throws(() => applyPatch({}, deeper), isRelayError);
  });
});

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

function randomOps(doc: { list: Json[] }, random: (below: number) => number): object[] {
  const size = doc.list.length;
  const value = [null, true, 1.5, -20, 'plain', 'ü\u2028"\\', { k: [1], 'ä"': {} }, []][random(8)]!;
  const kinds = size > 0 ? 8 : 1;
  switch (random(kinds)) {
    case 1:
      return [{ op: 'remove', path: `/list/${random(size)}` }];
    case 2:
      return [{ op: 'replace', path: `/list/${random(size)}`, value }];
    case 3:
      return size > 40
        ? [{ op: 'replace', path: '/list', value: [] }]
        : [{ op: 'copy', from: `/list/${random(size)}`, path: '/list/0' }];
    case 4:
      return [{ op: 'move', from: `/list/${random(size)}`, path: `/list/${random(size)}` }];
    case 5:
      return [
        { op: 'add', path: '/extra', value },
        { op: 'remove', path: '/extra' },
        { op: 'add', path: '/name', value },
      ];
    case 6:
      return [
        { op: 'add', path: '/list/-', value: {} },
        { op: 'add', path: `/list/${size}/k`, value },
        { op: 'add', path: `/list/${size}/l`, value: { k: 1 } },
        { op: 'copy', from: `/list/${size}`, path: `/list/${size}/m` },
        { op: 'remove', path: `/list/${size}/k` },
      ];
    default:
      return [{ op: 'add', path: `/list/${random(size + 1)}`, value }];
  }
}
