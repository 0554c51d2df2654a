import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { type Import, importsOf } from './imports.ts';
import { LAYERS, type Layer } from './layer-table.ts';
import { type Finding, isCode, isTest, type SourceFile } from './source-file.ts';

const BUILTINS = new Set(builtinModules);

/** Published data files that any layer may read. */
const PUBLISHED_SCHEMA = /^schemas\/[\w.-]+\.json$/;

/** Checks that every import points inward, and that each layer uses only its allowed Node APIs and packages. */
export function checkLayers(
  files: readonly SourceFile[],
  layers: Readonly<Record<string, Layer>> = LAYERS,
): Finding[] {
  const findings: Finding[] = [];
  for (const { path, text } of files) {
    if (!path.startsWith('src/') || !isCode(path) || isTest(path)) continue;
    const place = placeOf(path);
    if (place === undefined || !Object.hasOwn(layers, place.layer)) {
      findings.push({ path, what: 'lies in no layer; src/ holds layers only' });
      continue;
    }
    const from: Origin = { path, place, layer: layers[place.layer]! };
    for (const each of importsOf(text)) {
      const what = each.specifier.startsWith('.')
        ? inside(from, each)
        : isBuiltin(each.specifier)
          ? ofNode(from, each)
          : ofPackage(from, each);
      if (what !== undefined) findings.push({ path: `${path}:${each.line}`, what });
    }
  }
  return findings;
}

interface Place {
  readonly layer: string;
  /** The folder within the layer; undefined for a file directly in the layer. */
  readonly folder: string | undefined;
}

interface Origin {
  readonly path: string;
  readonly place: Place;
  readonly layer: Layer;
}

function inside({ path, place, layer }: Origin, { specifier, kind }: Import): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  if (isTest(target)) return `imports the test ${specifier}`;
  if (PUBLISHED_SCHEMA.test(target)) return undefined;
  const to = placeOf(target);
  if (to === undefined) return `imports ${specifier}, which is outside the layers`;
  if (to.layer === place.layer) return amongFolders(place, layer, to, kind);
  if (layer.values.includes(to.layer)) return undefined;
  if (!layer.types.includes(to.layer)) return `${place.layer} may not import ${to.layer} (${specifier})`;
  return kind === 'type' ? undefined : `${place.layer} may import only types of ${to.layer} (${specifier})`;
}

function amongFolders(from: Place, layer: Layer, to: Place, kind: Import['kind']): string | undefined {
  const apart = from.folder !== undefined && to.folder !== undefined && from.folder !== to.folder;
  if (!apart || layer.folders === 'free') return undefined;
  if (layer.between?.some(([a, b]) => a === from.folder && b === to.folder)) return undefined;
  const names = `${from.layer}/${from.folder} may not import ${to.layer}/${to.folder}`;
  if (layer.folders === 'apart') return names;
  return kind === 'type' ? undefined : `${names}, only its types`;
}

function ofNode({ place, layer }: Origin, { specifier }: Import): string | undefined {
  const may = typeof layer.node === 'boolean' ? layer.node : layer.node.includes(place.folder ?? '');
  return may
    ? undefined
    : `${[place.layer, place.folder].filter(Boolean).join('/')} may not use ${specifier}`;
}

function ofPackage({ place, layer }: Origin, { specifier }: Import): string | undefined {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const { packages } = layer;
  if (packages === 'any') return undefined;
  const may = 'includes' in packages ? packages : (packages[place.folder ?? ''] ?? []);
  if ((may as readonly string[]).includes(name)) return undefined;
  return `${place.layer} may not use the package ${name}`;
}

function placeOf(path: string): Place | undefined {
  const [root, layer, ...rest] = path.split('/');
  if (root !== 'src' || layer === undefined || rest.length === 0) return undefined;
  return { layer, folder: rest.length > 1 ? rest[0] : undefined };
}

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || BUILTINS.has(specifier);
}
