import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT } from '../../src/interfaces/cli/commands.ts';
import { runHere } from '../cli/in-process.ts';
import { temporaryHome } from '../cli/program.ts';
import { pinnedText } from './pinned.ts';

/** Compares all help texts, at 80 columns and without colour. UPDATE_PINS=1 rewrites help.txt; see pinned.ts. */

interface Node {
  readonly summary: string;
  readonly commands?: { readonly [name: string]: Node };
}

/** Returns all commands, including hidden ones. A group precedes its commands. */
function paths(node: Node, path: readonly string[] = ['relay']): string[] {
  const below = Object.entries(node.commands ?? {}).flatMap(([name, child]) => paths(child, [...path, name]));
  return [path.join(' '), ...below];
}

/** In the file, each help text follows a line such as `$ relay thread rm --help`. */
const HEADING = /^\$ (relay.*) --help\n/m;

function join(helps: ReadonlyMap<string, string>): string {
  return [...helps].map(([path, text]) => `$ ${path} --help\n${text}`).join('\n');
}

function split(file: string): Map<string, string> {
  const [, ...pieces] = file.split(HEADING);
  const helps = new Map<string, string>();
  for (let i = 0; i < pieces.length; i += 2) {
    const last = i + 2 === pieces.length;
    helps.set(pieces[i]!, last ? pieces[i + 1]! : pieces[i + 1]!.slice(0, -1));
  }
  return helps;
}

test('the help of every command is unchanged', async () => {
  using home = temporaryHome();
  const helpTexts = new Map<string, string>();
  for (const path of paths(ROOT)) {
    const ran = await runHere([...path.split(' ').slice(1), '--help'], { home: home.home });
    assert.deepEqual([ran.code, ran.stderr], [0, ''], `${path} --help`);
    helpTexts.set(path, ran.stdout);
  }
  const pinned = split(pinnedText('help.txt', join(helpTexts)));
  for (const path of pinned.keys()) assert.ok(helpTexts.has(path), `${path} is gone`);
  for (const [path, text] of helpTexts) {
    assert.ok(pinned.has(path), `${path} is new`);
    assert.equal(text, pinned.get(path), `${path} --help`);
  }
  assert.deepEqual([...helpTexts.keys()], [...pinned.keys()], 'the order of the commands');
  assert.ok(helpTexts.size > 90, `only ${helpTexts.size} commands were found`);
});
