import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LAYERS } from '../architecture/layer-table.ts';
import { type Installation, install } from '../package/installation.ts';
import { must, outsideEnv, ROOT, run } from '../package/processes.ts';

const { exports, peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const PINNED = JSON.parse(readFileSync(join(ROOT, 'test/pins/sdk-types.json'), 'utf8'));
const PEERS = LAYERS.integrations!.packages as { readonly [name: string]: readonly string[] };
const FRAMEWORKS = join(ROOT, 'src/integrations/node_modules');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** Program that prints the names that a module exports, and all packages that it loads. */
const LOADED = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    const package_ = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (package_) loaded.add(package_);
    return next(url, context);
  },
});
const names = Object.keys(await import(process.argv[2]));
console.log(JSON.stringify({ names, loaded: [...loaded] }));
`;

/** Returns a program that does not compile if the type of an export is `any`. */
const TYPED = (entry: string) => `
import * as entry from 'contextrelay/${entry}';
type IsAny<T> = 0 extends 1 & T ? true : false;
type Made<T> = T extends abstract new (...args: never[]) => infer I ? I : T extends (...args: never[]) => infer R ? R : T;
type Typed = { [K in keyof typeof entry]: true extends IsAny<(typeof entry)[K]> | IsAny<Made<(typeof entry)[K]>> ? never : unknown };
export const typed: Typed = entry;
`;

test('every integration is an entry point, and its peers are optional', () => {
  const entries = Object.keys(exports).map((entry) => entry.replace('./', ''));
  for (const [name, peers] of Object.entries(PEERS)) {
    assert.ok(entries.includes(name), `there is no contextrelay/${name}`);
    for (const peer of peers) {
      assert.ok(peerDependencies[peer], `${peer} is no peer of the package`);
      assert.deepEqual(peerDependenciesMeta[peer], { optional: true });
    }
  }
  assert.deepEqual(Object.keys(peerDependencies).sort(), [...new Set(Object.values(PEERS).flat())].sort());
});

test('the integrations and their tests compile against the frameworks', async () => {
  const { code, stdout } = await run(process.execPath, [TSC, '-p', join(ROOT, 'src/integrations')]);
  assert.equal(code, 0, stdout);
});

describe('in an empty project with only its peer dependencies', () => {
  let installation: Installation;
  let modules: string;
  before(async () => {
    installation = await install();
    modules = join(installation.folder, 'node_modules');
    installation.write('loaded.mjs', LOADED);
  });
  after(() => installation[Symbol.dispose]());

  for (const [name, peers] of Object.entries(PEERS)) {
    test(`contextrelay/${name} can be imported, has types, and loads no other peer`, async () => {
      using _linked = link(modules, peers);
      const options = { cwd: installation.folder, env: outsideEnv() };
      const output = await must(process.execPath, ['loaded.mjs', `contextrelay/${name}`], options);
      const { names, loaded } = JSON.parse(output) as { names: string[]; loaded: string[] };
      assert.deepEqual(names.sort(), PINNED[`./${name}`].values);
      assert.deepEqual(
        Object.keys(peerDependencies).filter((peer) => loaded.includes(peer) && !mayLoad(name).has(peer)),
        [],
      );
      const compilerOptions = {
        strict: true,
        noEmit: true,
        target: 'es2022',
        module: 'nodenext',
        skipLibCheck: true,
      };
      installation.write('typed.ts', TYPED(name));
      installation.write('typed.json', JSON.stringify({ compilerOptions, files: ['typed.ts'] }));
      const { code, stdout } = await run(process.execPath, [TSC, '-p', 'typed.json'], options);
      assert.equal(code, 0, stdout);
    });
  }

  test('importing an integration without its peers names the missing package', async () => {
    const options = { cwd: installation.folder, env: outsideEnv() };
    const { code, stderr } = await run(process.execPath, ['loaded.mjs', 'contextrelay/langchain'], options);
    assert.notEqual(code, 0);
    assert.match(stderr, /Cannot find package '@langchain\/core'/);
  });
});

/** Returns all packages that an integration may load: its peers and their dependencies. */
function mayLoad(name: string, from: readonly string[] = PEERS[name]!): Set<string> {
  const peers = new Set(from);
  for (const peer of peers) {
    const manifest = JSON.parse(readFileSync(join(FRAMEWORKS, peer, 'package.json'), 'utf8'));
    for (const each of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }))
      if (existsSync(join(FRAMEWORKS, each))) peers.add(each);
  }
  return peers;
}

/** Links the peers into `modules`. Node finds their dependencies next to the targets of the links. */
function link(modules: string, peers: readonly string[]): Disposable {
  for (const peer of peers) {
    mkdirSync(dirname(join(modules, peer)), { recursive: true });
    symlinkSync(join(FRAMEWORKS, peer), join(modules, peer), 'junction');
  }
  return {
    [Symbol.dispose]() {
      for (const peer of peers) rmSync(join(modules, peer), { force: true });
    },
  };
}
