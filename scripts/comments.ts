/**
 * Prints random comments of the sources with their locations, so that a reader can judge whether they are
 * clear at the first reading.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const HELP = `npm run comments -- [--seed N] [--count N] [path…]

  --seed N    repeat a sample: the same seed selects the same comments if the sources are the same (default: random)
  --count N   number of comments to print (default: 100)
  path…       only files whose path begins with one of these texts`;

const FOLDERS = ['src/', 'ui/', 'python/', 'scripts/', 'bench/', 'test/', 'bin/'];
const LANGUAGES = [
  { files: /\.(?:tsx?|mjs|js)$/, comment: /^[ \t]*\/\*\*?[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n?)+/gm },
  { files: /\.py$/, comment: /^[ \t]*"""[\s\S]*?"""|(?:^[ \t]*#[^\n]*\n?)+/gm },
];

interface Comment {
  readonly place: string;
  readonly text: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    count: { type: 'string', default: '100' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) console.log(HELP);
else {
  const all = allComments(positionals.length > 0 ? positionals : FOLDERS);
  for (const { place, text } of choose(all, Number(values.count), Number(values.seed)))
    console.log(`${place}\n${text}\n`);
  console.log(`${Math.min(Number(values.count), all.length)} of ${all.length} comments, seed ${values.seed}`);
}

function allComments(folders: readonly string[]): Comment[] {
  const paths = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n');
  return paths
    .filter((path) => folders.some((folder) => path.startsWith(folder)))
    .flatMap((path) => {
      const language = LANGUAGES.find(({ files }) => files.test(path));
      if (!language) return [];
      const source = readFileSync(path, 'utf8');
      return Array.from(source.matchAll(language.comment), (match) => ({
        place: `${path}:${source.slice(0, match.index).split('\n').length}`,
        text: match[0].trim().replace(/^[ \t]+/gm, '  '),
      }));
    })
    .filter(({ text }) => !/^(?:\/\/|\/\*|#) ?(?:biome-ignore|@ts-|noqa|type:|!)/.test(text));
}

/** Sorts the comments by random numbers made from the seed (mulberry32) and returns the first `count`. */
function choose(all: readonly Comment[], count: number, seed: number): Comment[] {
  let state = seed;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  return all
    .map((comment) => ({ comment, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ comment }) => comment);
}
