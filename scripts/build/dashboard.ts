/**
 * Builds the pages of `ui` into a folder: scripts and styles with a hash in their names, and the two HTML
 * documents that load them. Runs as part of the build, or alone with the folder as its argument.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, type Metafile } from 'esbuild';

const root = join(import.meta.dirname, '..', '..');
const ui = join(root, 'ui');
const MAIN = 'ui/main.tsx';

export async function buildDashboard(outDir: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [MAIN],
    outdir: outDir,
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    // Replace these packages with a small file. The packages make up half of the Markdown renderer, and the
    // dashboard does not need their features.
    alias: Object.fromEntries(
      ['linkify-it', 'entities', 'uc.micro', 'punycode.js'].map((name) => [
        name,
        join(ui, 'viewers', 'markdown-packages.ts'),
      ]),
    ),
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  writePages(outDir, metafile);
  return metafile;
}

/**
 * Writes the HTML documents and the icon. The documents load the main script, the style sheet, and all scripts that the
 * main script imports statically.
 */
function writePages(outDir: string, { outputs }: Metafile): void {
  const place = (path: string) => `/ui/${relative(outDir, join(root, path)).replaceAll('\\', '/')}`;
  const [main, about] = Object.entries(outputs).find(([, output]) => output.entryPoint === MAIN)!;
  const early = about.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
  const tags = [
    `<script type="module" src="${place(main)}"></script>`,
    ...early.map((path) => `<link rel="modulepreload" href="${place(path)}">`),
    `<link rel="stylesheet" href="${place(about.cssBundle!)}">`,
  ];
  const html = readFileSync(join(ui, 'index.html'), 'utf8').replace(
    '<!-- scripts and styles -->',
    tags.join('\n    '),
  );
  mkdirSync(outDir, { recursive: true });
  for (const page of ['index.html', 'pull.html']) writeFileSync(join(outDir, page), html);
  copyFileSync(join(ui, 'icon.svg'), join(outDir, 'icon.svg'));
}

if (import.meta.main) await buildDashboard(process.argv[2]!);
