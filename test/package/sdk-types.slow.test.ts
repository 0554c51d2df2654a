import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportedNames, reachableTypes } from './exported-names.ts';
import { type Installation, install } from './installation.ts';
import { must, outsideEnv, ROOT, run } from './processes.ts';

const PROGRAM = globSync(join(ROOT, 'test/package/sdk-program/*.ts.txt'));
const PINNED = JSON.parse(readFileSync(join(ROOT, 'test/pins/sdk-types.json'), 'utf8'));
const ENTRIES = ['.', './runners'] as const;

/** Compiler options without @types/node: the types need only the browser types of the compiler. */
const WEB = { lib: ['es2022', 'dom', 'dom.iterable'], types: [] };
/** Compiler options for a Node project: the stream types come from @types/node. */
const NODE = { lib: ['es2022'], types: ['node'], typeRoots: [join(ROOT, 'node_modules', '@types')] };

const CONSUMERS = [
  ['NodeNext', { module: 'nodenext', moduleResolution: 'nodenext', ...WEB }],
  ['Bundler', { module: 'esnext', moduleResolution: 'bundler', ...WEB }],
  ['NodeNext and the types of Node instead of those of a browser', { module: 'nodenext', ...NODE }],
] as const;

describe('the types of the package, installed without other packages', () => {
  let installation: Installation;
  let packed: string;
  let entries: string[];
  before(async () => {
    installation = await install();
    packed = join(installation.folder, 'node_modules', 'contextrelay');
    const { exports } = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'));
    entries = ENTRIES.map((entry) => join(packed, exports[entry].types));
    for (const file of PROGRAM) {
      installation.write(basename(file, '.txt'), readFileSync(file, 'utf8'));
    }
  });
  after(() => installation[Symbol.dispose]());

  test('no other package is imported, and zod is not mentioned', () => {
    const installed = readdirSync(join(installation.folder, 'node_modules'));
    assert.deepEqual(
      installed.filter((name) => !name.startsWith('.')),
      ['contextrelay'],
    );
    const { files, packages } = reachableTypes(entries);
    assert.ok(files.size > 20, `only ${files.size} files of types were found`);
    assert.deepEqual([...packages], []);
    const naming = [...files].filter((file) => /zod/i.test(readFileSync(file, 'utf8')));
    assert.deepEqual(
      naming.map((file) => file.slice(packed.length)),
      [],
    );
  });

  test('types inferred from schemas are plain interfaces with the comments of the schemas', () => {
    const tasks = readFileSync(join(packed, 'dist/src/schemas/tasks.d.ts'), 'utf8');
    assert.match(tasks, /\/\*\* Work that was sent to an agent: .*\*\/\nexport interface TaskInfo \{\n/);
    assert.match(
      tasks,
      / {2}\/\*\* Channel on which the result is announced\. \*\/\n {2}readonly done_channel: string;\n/,
    );
    assert.match(
      tasks,
      / {2}readonly receipts: readonly Receipt\[\];\n/,
      'a shape within a shape has its name',
    );
    assert.match(tasks, / {2}readonly state\?: TaskState;\n/);
  });

  test('the entry points export the pinned names, for the compiler and at run time', async () => {
    for (const [i, entry] of ENTRIES.entries()) {
      const { values, types, 'at run time': atRunTime } = PINNED[entry];
      assert.deepEqual(exportedNames(entries[i]!), { values, types }, entry);
      const specifier = entry.replace('.', 'contextrelay');
      const script = installation.write(
        'names.mjs',
        `console.log(JSON.stringify(Object.keys(await import('${specifier}'))));`,
      );
      const output = await must(process.execPath, [script], { cwd: installation.folder, env: outsideEnv() });
      assert.deepEqual(JSON.parse(output).sort(), atRunTime, entry);
    }
  });

  for (const [i, [name, options]] of CONSUMERS.entries()) {
    test(`a program that uses all exports compiles with ${name}, without skipLibCheck`, async () => {
      const compilerOptions = {
        strict: true,
        skipLibCheck: false,
        noEmit: true,
        target: 'es2022',
        ...options,
      };
      const project = `consumer-${i}.json`;
      installation.write(project, JSON.stringify({ compilerOptions, files: ['relay.ts'] }));
      const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
      const { code, stdout } = await run(process.execPath, [tsc, '-p', project, '--listFiles'], {
        cwd: installation.folder,
      });
      assert.equal(code, 0, stdout);
      const compiledFiles = stdout.split('\n').map((file) => basename(file));
      for (const file of PROGRAM)
        assert.ok(compiledFiles.includes(basename(file, '.txt')), `${file} was not compiled`);
    });
  }
});
