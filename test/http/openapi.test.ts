import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleOf, openApiDocument } from '../../src/interfaces/http/openapi.ts';
import { OPERATIONS } from '../../src/interfaces/http/operations.ts';
import { startRelay } from './relay-under-test.ts';

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { readonly minimum?: number; readonly maximum?: number };
  }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': Body } };
  readonly responses: {
    readonly [status: string]: { readonly content?: { readonly 'application/json': Body } };
  };
}

interface Body {
  readonly schema: { readonly [key: string]: unknown };
  readonly example?: unknown;
}

test('the document is served and has every operation once', async () => {
  await using relay = await startRelay();
  const served = (await (await fetch(`${relay.url}/openapi.json`)).json()) as {
    openapi: string;
    paths: { [path: string]: { [method: string]: Described } };
  };
  assert.match(served.openapi, /^3\.1\./);
  const names = Object.values(served.paths).flatMap((methods) =>
    Object.values(methods).map((one) => one.operationId),
  );
  const rows = OPERATIONS.flatMap(({ verb: { name, alsoBy } }) =>
    alsoBy ? [name, `${name}.${alsoBy.toLowerCase()}`] : [name],
  );
  assert.deepEqual(names.sort(), rows.sort());
});

test('every operation lists its errors and has examples of its input and output', () => {
  const { paths } = openApiDocument(OPERATIONS, 'test') as {
    paths: { [path: string]: { [method: string]: Described } };
  };
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses, requestBody }] of Object.entries(methods)) {
      const where = `${method} ${path}`;
      assert.ok(responses['400'] && responses['429'] && responses.default, where);
      if (path.includes('{')) assert.ok(responses['404'], where);
      for (const [status, { content }] of Object.entries(responses)) {
        if (!['101', '204', '206', '304', 'default'].includes(status))
          assert.ok(content?.['application/json'].example !== undefined, where);
        const code =
          Number(status) >= 400 ? (content!['application/json'].example as { error: string }).error : '';
        assert.doesNotMatch(code, /\{\w+\}/, `${where} ${status}`);
      }
      // The body of a PUT is the bytes of a file, which have no JSON example.
      const json = requestBody?.content['application/json'];
      if (requestBody && method !== 'put') assert.ok(json?.example !== undefined, where);
    }
  }
});

test('every example answer matches its schema', () => {
  for (const { verb, output } of OPERATIONS) {
    const { name } = verb;
    const { schema } = answerOf(name);
    const checked = output.safeParse(exampleOf(schema));
    assert.ok(checked.success, `${name}: ${checked.error?.message}`);
  }
});

function answerOf(name: string): Body {
  const { paths } = openApiDocument(OPERATIONS, 'test') as {
    paths: { [path: string]: { [method: string]: Described } };
  };
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  const { responses } = all.find(({ operationId }) => operationId === name)!;
  const ok = Object.entries(responses).find(([status]) => status.startsWith('2'))![1];
  return ok.content?.['application/json'] ?? { schema: { type: 'null' } };
}

test('a push is described correctly: count in the query, and the options of a raw body too', () => {
  const { paths } = openApiDocument(OPERATIONS, '') as {
    paths: {
      [path: string]: {
        [method: string]: Described & { parameters: { name: string; in: string; description?: string }[] };
      };
    };
  };
  const { parameters, requestBody } = paths['/push']!.post!;
  const inQuery = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  assert.deepEqual(inQuery, ['count', 'excerpt', 'channel', 'ttl', 'max_pulls', 'visibility']);
  const { content } = requestBody!;
  assert.deepEqual(Object.keys(content), ['application/json', 'application/octet-stream', 'text/plain']);
  const { properties } = content['application/json'].schema as { properties: object };
  assert.equal(Object.hasOwn(properties, 'count'), false);
});

test('all references of the document resolve, and numbers have their bounds', () => {
  const document = openApiDocument(OPERATIONS, 'test') as { [key: string]: unknown };
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
  assert.ok(refs.length > 50);
  for (const ref of new Set(refs)) {
    const [start, ...path] = ref.split('/');
    const target = path.reduce<unknown>((at, key) => (at as { [key: string]: unknown })?.[key], document);
    assert.ok(start === '#' && target !== undefined, ref);
  }
  const { paths } = document as { paths: { [path: string]: { [method: string]: Described } } };
  for (const [path, methods] of Object.entries(paths)) {
    for (const { name, schema } of methods.get?.parameters ?? []) {
      if (name !== 'limit' && name !== 'prefetch') continue;
      assert.equal(schema.minimum, 1, `${path} ${name}`);
      assert.ok(schema.maximum! >= 100, `${path} ${name}`);
    }
  }
});
