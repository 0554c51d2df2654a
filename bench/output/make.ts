/**
 * Makes the outputs of the bench: node bench/output/make.ts [name…]. This script ran once, by hand: the outputs are
 * committed, and the questions depend on their lines. Names select the outputs to make again. `--print NAME` prints an
 * output with line numbers.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { brotliCompressSync, constants } from 'node:zlib';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { CORPUS, linesOf, type Output, readOutputs } from './corpus.ts';
import { DATA } from './make/data.ts';
import { LOGS } from './make/logs.ts';
import { PROGRAMS } from './make/programs.ts';
import { make } from './make/recipe.ts';
import { SUITES } from './make/suites.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { print: { type: 'string' }, list: { type: 'boolean' } },
});
const before = new Map((existsSync(CORPUS) ? readOutputs() : []).map((output) => [output.name, output]));
if (values.print) {
  const { text } = before.get(values.print)!;
  for (const [n, line] of linesOf(text).entries()) console.log(`${n + 1}: ${line}`);
} else if (values.list) await list([...before.values()]);
else {
  const outputs: Output[] = [];
  for (const recipe of [...SUITES, ...PROGRAMS, ...LOGS, ...DATA]) {
    const { name } = recipe;
    const old = before.get(name);
    outputs.push(positionals.includes(name) || !old ? make(recipe) : old);
  }
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_LGWIN]: 24,
  };
  const packed = brotliCompressSync(JSON.stringify(outputs), { params });
  writeFileSync(CORPUS, packed);
  await list(outputs);
  console.log(`${outputs.length} outputs, ${packed.length} bytes compressed`);
}

async function list(outputs: readonly Output[]): Promise<void> {
  for (const { name, kind, text } of outputs) {
    const { tokens } = await ownTextWork.count(text);
    console.log(
      `${kind.padEnd(10)} ${name.padEnd(26)} ${text.split('\n').length} lines, ${text.length} chars, ${tokens} tokens`,
    );
  }
}
