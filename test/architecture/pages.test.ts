import assert from 'node:assert/strict';
import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { test } from 'node:test';
import { importsOf } from './imports.ts';
import { projectFiles } from './project-files.ts';
import { isCode, isTest, type SourceFile } from './source-file.ts';

/** Layers that the dashboard may import: code that runs in any browser, and the public SDK. */
const LAYERS = ['sdk', 'contract', 'formats', 'text', 'base'];
const PACKAGES = [
  ...[
    'preact',
    '@preact/signals',
    'uplot',
    '@dagrejs/dagre',
    '@tanstack/virtual-core',
    'markdown-it',
    'dompurify',
  ],
  ...['@shikijs/core', '@shikijs/engine-javascript', '@shikijs/langs'],
];

function outside({ path, text }: SourceFile): string[] {
  return importsOf(text).flatMap(({ specifier }) => {
    if (specifier.startsWith('.')) {
      const target = posix.join(posix.dirname(path), specifier);
      const layer = /^src\/(\w+)\//.exec(target)?.[1];
      return target.startsWith('ui/') || (layer && LAYERS.includes(layer))
        ? []
        : [`${path} imports ${target}`];
    }
    const name = specifier
      .split('/')
      .slice(0, specifier.startsWith('@') ? 2 : 1)
      .join('/');
    const ofNode = specifier.startsWith('node:') || builtinModules.includes(specifier);
    return !ofNode && PACKAGES.includes(name) ? [] : [`${path} imports ${specifier}`];
  });
}

test('the dashboard imports only the SDK and its dependencies', () => {
  const files = projectFiles(['ui']).filter(({ path }) => isCode(path) && !isTest(path));
  assert.ok(files.length > 40, 'the pages were found');
  assert.deepEqual(files.flatMap(outside), []);
});

test('any other import of a dashboard page is reported', () => {
  const red = (line: string) => outside({ path: 'ui/pages/a.tsx', text: line }).length > 0;
  for (const line of [
    "import { x } from '../../src/domain/relay-core.ts';",
    "import { x } from '../../src/client/projects/brief.ts';",
    "import { x } from '../../src/interfaces/http/app.ts';",
    "import { readFileSync } from 'node:fs';",
    "import { join } from 'path';",
    "import React from 'react';",
    "const x = await import('zod');",
  ])
    assert.ok(red(line), line);
  assert.ok(!red("import { httpRelay } from '../../src/sdk/http-relay.ts';"));
  assert.ok(!red("import { render } from 'preact';"));
});

test('no source imports the dashboard', () => {
  const files = projectFiles(['src', 'bin']).filter(({ path }) => isCode(path));
  const importers = files.filter(({ path, text }) =>
    importsOf(text).some(({ specifier }) => posix.join(posix.dirname(path), specifier).startsWith('ui/')),
  );
  assert.deepEqual(
    importers.map(({ path }) => path),
    [],
  );
});
